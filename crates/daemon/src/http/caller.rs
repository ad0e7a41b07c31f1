//! Which user of this machine is at the other end of a TCP connection, by the word of the kernel.
//!
//! Asked for every connection, so it must cost the same however many there are: the kernel is asked for one socket by its
//! addresses (`sock_diag`), and its tables are not read. Where it does not tell, the user is unknown, which is no error.

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

/// `SOCK_DIAG_BY_FAMILY`: one socket, by its addresses. The answer has the same type.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// Bytes of the head of a message, and where in an answer the user and the inode are.
const HEAD: usize = 16;
const USER: usize = HEAD + 64;
const INODE: usize = USER + 4;

/// Asks the kernel.
pub(super) struct Callers {
    socket: Option<OwnedFd>,
    asked: Cell<u32>,
}

impl Callers {
    pub fn new() -> Self {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG));
        Self { socket: socket.ok(), asked: Cell::new(0) }
    }

    /// The user whose process has the socket at `there` that is connected to `here`.
    pub fn user(&self, there: SocketAddr, here: SocketAddr) -> Option<u32> {
        let socket = self.socket.as_ref()?;
        self.asked.set(self.asked.get().wrapping_add(1));
        send(socket, &question(self.asked.get(), there, here)?, SendFlags::empty()).ok()?;
        let mut answer = [0; 512];
        loop {
            let (read, _) = recv(socket, &mut answer[..], RecvFlags::empty()).ok()?;
            // An answer to an earlier question that came too late is passed over.
            if word(&answer[..read], 8)? == self.asked.get() {
                return understood(&answer[..read]);
            }
        }
    }
}

/// A request for one socket: the head, then `inet_diag_req_v2`.
fn question(number: u32, from: SocketAddr, to: SocketAddr) -> Option<Vec<u8>> {
    let (from_ip, to_ip) = (from.ip().to_canonical(), to.ip().to_canonical());
    let family: u8 = match (from_ip, to_ip) {
        (IpAddr::V4(_), IpAddr::V4(_)) => 2,
        (IpAddr::V6(_), IpAddr::V6(_)) => 10,
        _ => return None,
    };
    const TCP: u8 = 6;
    let mut bytes = vec![];
    bytes.extend([0; 4]); // the length, known at the end
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    bytes.extend(number.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend([family, TCP, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes()); // in any state
    bytes.extend(from.port().to_be_bytes());
    bytes.extend(to.port().to_be_bytes());
    for ip in [from_ip, to_ip] {
        let mut octets = [0; 16];
        match ip {
            IpAddr::V4(ip) => octets[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => octets = ip.octets(),
        }
        bytes.extend(octets);
    }
    bytes.extend([0; 4]); // through any interface
    bytes.extend([0xff; 8]); // whichever cookie
    let length = u32::try_from(bytes.len()).ok()?.to_ne_bytes();
    bytes[..4].copy_from_slice(&length);
    Some(bytes)
}

/// The user in an answer. A socket that no process has any more (inode 0) may be told as root's.
fn understood(answer: &[u8]) -> Option<u32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let (user, inode) = (word(answer, USER)?, word(answer, INODE)?);
    (kind == BY_FAMILY && inode != 0).then_some(user)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernel_names_the_user_of_a_connection() {
        let callers = Callers::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        for _ in 0..3 {
            let stream = TcpStream::connect(here).unwrap();
            let there = stream.local_addr().unwrap();
            match callers.user(there, here) {
                Some(user) => assert_eq!(user, rustix::process::geteuid().as_raw()),
                None => eprintln!("skipped: the kernel does not tell whose sockets there are"),
            }
            assert_eq!(callers.user("127.0.0.1:1".parse().unwrap(), here), None);
        }
    }

    #[test]
    fn answers_that_say_nothing_name_nobody() {
        let mut answer = vec![0; 124];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[USER..USER + 4].copy_from_slice(&1000u32.to_ne_bytes());
        assert_eq!(understood(&answer), None);
        answer[INODE] = 1;
        assert_eq!(understood(&answer), Some(1000));
        assert_eq!(understood(&answer[..60]), None);
        answer[4] = 2;
        assert_eq!(understood(&answer), None);
    }
}
