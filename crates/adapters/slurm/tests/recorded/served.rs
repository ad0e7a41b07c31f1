//! Answers over a socket of this machine, as slurmrestd gives them: one request for each connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Serves until the process ends. `answer` is given the method and the path, and gives a status and a body.
pub fn serve<B: AsRef<[u8]>>(path: &Path, answer: impl Fn(&str, &str) -> (u16, B) + Send + 'static) {
    let listener = UnixListener::bind(path).expect("a free path");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // Whoever only looks who is there says nothing.
            let _ = stream.and_then(|stream| one(stream, &answer));
        }
    });
}

fn one<B: AsRef<[u8]>>(stream: UnixStream, answer: &impl Fn(&str, &str) -> (u16, B)) -> std::io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first)?;
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    reader.by_ref().take(length).read_to_end(&mut vec![])?;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
    let (status, body) = answer(method, path);
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} .\r\nConnection: Close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    (&stream).write_all(head.as_bytes())?;
    (&stream).write_all(body)
}
