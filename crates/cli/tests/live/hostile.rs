//! Another user of the same machine who means harm: takes ports, fills seats, plants folders, files and links.
//!
//! Such a user is a thread of this test with another user id, which only root can have. Without root these tests say that
//! they were skipped.

mod stranger;

use super::daemon::{House, until};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use stranger::{STRANGER, Trap, become_another, may_be_another};

#[test]
fn the_token_is_not_sent_to_another_user_who_took_the_port() {
    if !may_be_another("the_token_is_not_sent_to_another_user_who_took_the_port") {
        return;
    }
    let house = House::new(1);
    let config = house.config_folder().join("consort");
    fs::create_dir_all(&config).expect("a folder");
    let token = "0123456789abcdef".repeat(4);
    fs::write(config.join("token"), &token).expect("a file");
    for address in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0", "[::1]:0"] {
        let address: SocketAddr = address.parse().expect("an address");
        let host = if address.to_string().starts_with("[::1]") { "[::1]" } else { "127.0.0.1" };
        for (in_file, with_token) in [(true, false), (false, false), (false, true)] {
            let Some(trap) = Trap::set(address) else {
                let _ = std::io::stderr()
                    .write_all(format!("skipped: nobody can listen on {address}\n").as_bytes());
                continue;
            };
            let url = format!("http://{host}:{}", trap.port);
            let mut command = house.command(&["status"]);
            match in_file {
                true => fs::write(config.join("server"), &url).expect("a file"),
                false => drop(command.env("CONSORT_URL", &url)),
            }
            if with_token {
                command.env("CONSORT_TOKEN", &token);
            }
            // Whoever sent a question would wait for an answer that never comes.
            let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("the binary runs");
            let began = Instant::now();
            while child.try_wait().expect("it is ours").is_none() && began.elapsed() < Duration::from_secs(5)
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let output = child.wait_with_output().expect("it ended");
            let (caught, said) = (trap.caught(), String::from_utf8_lossy(&output.stderr).into_owned());
            assert!(!caught.contains(&token), "{address}: the stranger was sent {caught}");
            assert_eq!(caught, "", "{address}");
            assert_eq!(output.status.code(), Some(3), "{address}: {said}");
            assert!(said.contains("another user") && said.contains("consort up"), "{address}: {said}");
        }
    }
}

#[test]
fn the_owner_needs_no_token_over_the_socket() {
    let mut house = House::up(1);
    let socket = house.json(&["status", "--json"])["socket"].as_str().expect("a socket").to_string();
    assert_eq!(socket, format!("unix:{}", house.data().join("api/socket").display()));
    fs::remove_file(house.config_folder().join("consort/token")).expect("it is there");
    assert!(house.said(&["status"]).contains("Consort at"));
    fs::remove_file(house.config_folder().join("consort/socket")).expect("it is there");
    assert_eq!(house.run(&["status"]).status.code(), Some(3), "without both it is refused");
    assert!(house.said(&["status", "--server", &socket]).contains("Consort at"));
    house.kill();
    let gone = house.run(&["status", "--server", &socket]);
    let said = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert_eq!(gone.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot reach the server at unix:") && said.contains("consort up"), "{said}");
    house.start(); // the socket that was left behind is replaced
    assert!(house.said(&["status", "--server", &socket]).contains("Consort at"));
    let path = PathBuf::from(socket.trim_start_matches("unix:"));
    let mode = |path: &Path| fs::symlink_metadata(path).expect("it is there").mode() & 0o7777;
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
}

#[test]
fn a_data_directory_with_a_long_name_has_a_socket_too() {
    let mut house = House::empty("up");
    let long = house.path(&"long".repeat(40));
    let words = ["up", "--listen", "127.0.0.1:0", "--on-exit", "keep", "--data-dir"];
    let mut command = house.command(&words);
    command.arg(&long);
    house.adopt(command);
    until("the daemon", || house.client()?.status().ok());
    fs::remove_file(house.config_folder().join("consort/token")).expect("it is there");
    let status = house.json(&["status", "--json"]);
    assert!(status["socket"].as_str().is_some_and(|socket| socket.len() > 160), "{status}");
    // Without a token, only the socket ends it.
    let socket = status["socket"].as_str().expect("a socket").to_string();
    let client = consort_api::client::Client::new(socket, None);
    client.shutdown(consort_api::shapes::Workers::Stop).expect("it listens");
    house.wait();
}

/// Starts a daemon that should refuse; what it said.
fn refused(house: &mut House) -> String {
    house.spawn();
    let began = Instant::now();
    while house.is_alive() && house.client().and_then(|client| client.status().ok()).is_none() {
        assert!(began.elapsed() < super::daemon::PATIENCE, "neither up nor gone");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!house.is_alive(), "a daemon came up: {}", house.log());
    assert_eq!(house.wait().code(), Some(3), "{}", house.log());
    house.log()
}

#[test]
fn folders_and_files_of_another_user_are_not_used() {
    if !may_be_another("folders_and_files_of_another_user_are_not_used") {
        return;
    }
    type Plant = fn(&House);
    let plants: [(&str, Plant, &str); 8] = [
        (
            "a data directory",
            |house| chown(house.data(), Some(STRANGER), None).expect("root may"),
            "uid 65534",
        ),
        (
            "an open data directory",
            |house| fs::set_permissions(house.data(), fs::Permissions::from_mode(0o777)).expect("root may"),
            "chmod go-w",
        ),
        (
            "a journal",
            |house| {
                fs::write(house.data().join("journal.db"), "").expect("a file");
                chown(house.data().join("journal.db"), Some(STRANGER), None).expect("root may");
            },
            "uid 65534",
        ),
        (
            "a link for a journal",
            |house| symlink(house.path("elsewhere"), house.data().join("journal.db")).expect("a link"),
            "is a link",
        ),
        (
            "a link for the lock",
            |house| {
                symlink(house.path("elsewhere"), house.data().join("lock")).expect("a link");
                lchown(house.data().join("lock"), Some(STRANGER), None).expect("root may");
            },
            "uid 65534",
        ),
        (
            "a configuration folder",
            |house| {
                fs::create_dir_all(house.config_folder().join("consort")).expect("a folder");
                chown(house.config_folder().join("consort"), Some(STRANGER), None).expect("root may");
            },
            "uid 65534",
        ),
        (
            "a link for the token",
            |house| {
                fs::create_dir_all(house.config_folder().join("consort")).expect("a folder");
                fs::write(house.path("elsewhere"), "x".repeat(64)).expect("a file");
                symlink(house.path("elsewhere"), house.config_folder().join("consort/token"))
                    .expect("a link");
            },
            "is a link",
        ),
        (
            "a folder for the socket",
            |house| {
                fs::create_dir_all(house.data().join("api")).expect("a folder");
                chown(house.data().join("api"), Some(STRANGER), None).expect("root may");
            },
            "uid 65534",
        ),
    ];
    for (what, plant, says) in plants {
        let mut house = House::new(1);
        plant(&house);
        let said = refused(&mut house);
        assert!(said.contains(says), "{what}: {said}");
    }
}

#[test]
fn nobody_without_a_token_keeps_the_owner_out() {
    let mut house = House::new(1);
    let mut command = std::process::Command::new("bash");
    command.args([
        "-c",
        "ulimit -n 256; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_consort"),
        "up",
        "--listen",
    ]);
    command.args(["127.0.0.1:0", "--on-exit", "keep", "--data-dir"]).arg(house.data());
    command.env("XDG_CONFIG_HOME", house.config_folder()).env("CONSORT_LOG", "warn");
    house.adopt(command);
    until("the daemon", || house.client()?.status().ok());
    let address = house.client().expect("it is up").url().trim_start_matches("http://").to_string();
    // More answers than the buffers of a connection hold, and nobody who reads them.
    let questions = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    let crowd: Vec<TcpStream> = (0..230).map(|_| TcpStream::connect(&address).expect("it listens")).collect();
    for mut stream in &crowd {
        stream.set_nonblocking(true).expect("a socket");
        let _ = stream.write(questions.as_bytes());
    }
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..5 {
        let answer = house.client().expect("it is up").status();
        assert!(answer.is_ok(), "over TCP: {answer:?}");
        assert!(house.run(&["status"]).status.success(), "over the socket");
    }
    drop(crowd);
}

/// How long the hostile user is at it: a few seconds in the ordinary suite.
fn length() -> Duration {
    let said = std::env::var("CONSORT_HOSTILE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(said.unwrap_or(4))
}

/// Opens connections that say nothing, half of something, or much and never read; closed ones are opened again.
fn crowd_in(address: SocketAddr, over: &AtomicBool, opened: &AtomicU64) {
    become_another();
    let much = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let words: [&[u8]; 4] = [b"", b"GET /v1/status HTTP/1.1\r\nHo", much.as_bytes(), b"\x00\xff\r\n\r\n"];
    let mut held: Vec<Option<TcpStream>> = (0..200).map(|_| None).collect();
    while !over.load(Relaxed) {
        for (number, place) in held.iter_mut().enumerate() {
            // Those who send much never read: whether they are gone shows when they send more.
            let is_gone = place.as_mut().is_none_or(|stream| {
                let tried = if number % 4 == 2 { stream.write(b"G") } else { stream.read(&mut [0; 64]) };
                tried.map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |bytes| bytes == 0)
            });
            if is_gone {
                *place = TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
                opened.fetch_add(1, Relaxed);
                if let Some(stream) = place {
                    stream.set_nonblocking(true).expect("a socket");
                    let _ = stream.write(words[number % 4]);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Tries every way into the folders, and counts those that led somewhere.
fn break_in(house: &Path, address: SocketAddr, over: &AtomicBool) -> u64 {
    become_another();
    let mut led = 0;
    while !over.load(Relaxed) {
        for name in ["config/consort/token", "config/consort/server", "data/journal.db", "data/lock"] {
            led += u64::from(fs::read(house.join(name)).is_ok());
            led += u64::from(fs::write(house.join(name), "x").is_ok());
            led += u64::from(symlink("/etc/passwd", house.join(name).with_extension("new")).is_ok());
        }
        for name in ["data/api", "data/run", "data/logs", "config/consort"] {
            led += u64::from(fs::create_dir(house.join(name).join("planted")).is_ok());
        }
        led += u64::from(UnixStream::connect(house.join("data/api/socket")).is_ok());
        // The port of the daemon, on all addresses: where that works, nobody who is careful may be fooled.
        let _ = TcpListener::bind(("0.0.0.0", address.port()));
        std::thread::sleep(Duration::from_millis(20));
    }
    led
}

#[test]
fn a_hostile_user_for_a_while() {
    if !may_be_another("a_hostile_user_for_a_while") {
        return;
    }
    let house = House::up(2);
    let url = house.client().expect("it is up").url().to_string();
    let address: SocketAddr = url.trim_start_matches("http://").parse().expect("an address");
    // The folder is one that everybody may pass through: what lies in it must hold by itself.
    let root = house.path("");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("ours");
    let (over, opened) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut socket, mut tcp, mut failed, mut led) = (vec![], vec![], vec![], 0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| crowd_in(address, &over, &opened));
        }
        let thief = scope.spawn(|| break_in(&root, address, &over));
        let began = Instant::now();
        while began.elapsed() < length() && failed.is_empty() {
            let asked = Instant::now();
            let output = house.run(&["status"]);
            socket.push(asked.elapsed());
            if !output.status.success() {
                failed.push(String::from_utf8_lossy(&output.stderr).into_owned());
            }
            let asked = Instant::now();
            let answer = house.client().expect("it is up").status();
            tcp.push(asked.elapsed());
            failed.extend(answer.err().map(|error| format!("over TCP: {error}")));
        }
        over.store(true, Relaxed); // before anything can fail, or the others would never end
        led = thief.join().expect("it ends");
    });
    assert_eq!(failed, Vec::<String>::new());
    for (way, times) in [("socket", &mut socket), ("TCP", &mut tcp)] {
        times.sort();
        let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e3;
        let text = format!(
            "hostile user: {} connections; {} times status over {way}: median {:.1} ms, p99 {:.1} ms, most {:.1} ms\n",
            opened.load(Relaxed),
            times.len(),
            at(50),
            at(99),
            at(100)
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
        assert!(at(100) < 10_000.0, "{text}");
    }
    assert!(opened.load(Relaxed) > 100, "the hostile user did nothing");
    assert_eq!(led, 0, "the hostile user got in");
    assert_eq!(planted(&root), Vec::<PathBuf>::new());
}

/// Everything in a folder that belongs to another user.
fn planted(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(data) = entry.metadata() else { continue };
        if data.uid() == STRANGER {
            found.push(entry.path());
        }
        if data.is_dir() {
            found.extend(planted(&entry.path()));
        }
    }
    found
}
