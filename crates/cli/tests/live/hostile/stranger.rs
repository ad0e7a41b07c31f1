//! A user of the same machine who is not us: a thread of this test with another user id.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// A user that is nobody's friend.
pub const STRANGER: u32 = 65_534;

/// Whether this test may have threads of another user; says so if not.
pub fn may_be_another(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        let _ = std::io::stderr()
            .write_all(format!("skipped: {test}: only root can be another user\n").as_bytes());
    }
    is_root
}

/// From here on this thread belongs to another user, for good.
pub fn become_another() {
    use rustix::process::{Gid, Uid};
    rustix::thread::set_thread_groups(&[]).expect("root may");
    rustix::thread::set_thread_gid(Gid::from_raw(STRANGER)).expect("root may");
    rustix::thread::set_thread_uid(Uid::from_raw(STRANGER)).expect("root may");
}

/// Listens as another user until this is dropped, and keeps what it is sent.
pub struct Trap {
    pub port: u16,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Vec<u8>>>,
}

impl Trap {
    /// Nothing where this machine does not have such addresses.
    pub fn set(address: SocketAddr) -> Option<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let until = over.clone();
        let thread = std::thread::spawn(move || {
            become_another();
            let listener = TcpListener::bind(address);
            let _ = sender.send(listener.as_ref().ok().and_then(|l| l.local_addr().ok()));
            let (Ok(listener), mut caught) = (listener, vec![]) else { return vec![] };
            listener.set_nonblocking(true).expect("a socket");
            let mut caller = None;
            while !until.load(Relaxed) {
                if let Ok((stream, _)) = listener.accept() {
                    stream.set_read_timeout(Some(Duration::from_millis(5))).expect("a timeout");
                    caller = Some(stream);
                }
                let mut bytes = [0; 4096];
                match caller.as_mut().map(|stream: &mut TcpStream| stream.read(&mut bytes)) {
                    Some(Ok(read)) if read > 0 => caught.extend_from_slice(&bytes[..read]),
                    _ => std::thread::sleep(Duration::from_millis(1)),
                }
            }
            caught
        });
        let port = receiver.recv().ok()??.port();
        Some(Self { port, over, thread: Some(thread) })
    }

    /// What was sent to it.
    pub fn caught(mut self) -> String {
        self.over.store(true, Relaxed);
        let caught = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&caught).into_owned()
    }
}
