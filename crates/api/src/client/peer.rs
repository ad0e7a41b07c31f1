//! Which user holds the other end of a TCP connection to this machine.
//!
//! A port of this machine says nothing about who listens on it: once a server is gone, any user may take its place, on
//! the loopback address or on all addresses at once. So the connection itself is looked up, not the listener: whatever
//! accepted it is in the kernel's tables with its owner, by whichever address it listens, and nothing has been sent yet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// This user, or root, who can read everything of ours anyway.
    Ours,
    /// Another user.
    Stranger(u32),
    /// A process on another machine, or in another network namespace; or the kernel does not tell.
    Unknown,
    /// A listener that did not accept the connection in time.
    Silent,
}

/// How long a server may take to accept.
const ACCEPT: Duration = Duration::from_secs(5);
/// How long the tables are searched for a connection that is not in them: a line may be missed while others change.
const SEARCH: Duration = Duration::from_millis(200);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The owner of the socket that accepted this connection.
pub(super) fn of(stream: &TcpStream) -> Peer {
    let (Ok(there), Ok(here)) = (stream.peer_addr(), stream.local_addr()) else { return Peer::Unknown };
    let (there, here) = (canonical(there), canonical(here));
    if !there.ip().is_loopback() && there.ip() != here.ip() {
        return Peer::Unknown;
    }
    let own = rustix::process::geteuid().as_raw();
    let began = Instant::now();
    loop {
        match look(there, here) {
            Found::Accepted(uid) if uid == own || uid == 0 => return Peer::Ours,
            Found::Accepted(uid) => return Peer::Stranger(uid),
            Found::Waiting if began.elapsed() > ACCEPT => return Peer::Silent,
            Found::Nothing if began.elapsed() > SEARCH => return Peer::Unknown,
            Found::Waiting | Found::Nothing => std::thread::sleep(PAUSE),
        }
    }
}

/// What the tables say about one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// A process of this user has it.
    Accepted(u32),
    /// It waits for a process to accept it. Its owner is not known before that: the kernel then shows root.
    Waiting,
    Nothing,
}

/// Connections over IPv4 to a socket that listens on all addresses of IPv6 are in the second table.
fn look(local: SocketAddr, remote: SocketAddr) -> Found {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let found = tables.map(|table| search(&table, local, remote));
    found.into_iter().find(|found| *found != Found::Nothing).unwrap_or(Found::Nothing)
}

fn search(table: &str, local: SocketAddr, remote: SocketAddr) -> Found {
    let is_it = |words: &[&str]| {
        words.get(1).and_then(|word| address(word)) == Some(local)
            && words.get(2).and_then(|word| address(word)) == Some(remote)
    };
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
        if !is_it(&words) {
            continue;
        }
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        return match (number(7), number(9)) {
            (Some(uid), Some(inode)) if inode > 0 => {
                u32::try_from(uid).map_or(Found::Nothing, Found::Accepted)
            }
            _ => Found::Waiting,
        };
    }
    Found::Nothing
}

/// `0100007F:1D2B`, or the same with 32 digits: words of four bytes in the order of this machine.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            Ipv6Addr::from(octets).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

/// An IPv4 address as such, also where it is written as one of IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn line(local: &str, remote: &str, uid: u32, inode: u64) -> String {
        format!("head\n  0: {local} {remote} 01 0:0 00:0 0 {uid} 0 {inode} 1 0 20 4 30 10 -1\n")
    }

    #[test]
    fn the_owner_of_the_other_end_is_found() {
        for listen in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(listen) else {
                eprintln!("skipped: this machine cannot listen on {listen}");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let accepted = listener.accept().unwrap();
            assert_eq!(of(&stream), Peer::Ours, "{listen}");
            drop(accepted);
        }
    }

    #[test]
    fn both_tables_are_understood() {
        let (here, there) = ("127.0.0.1:7467".parse().unwrap(), "127.0.0.1:40000".parse().unwrap());
        let plain = line("0100007F:1D2B", "0100007F:9C40", 1234, 7);
        assert_eq!(search(&plain, here, there), Found::Accepted(1234));
        assert_eq!(search(&plain, there, here), Found::Nothing);
        let mapped = "0000000000000000FFFF00000100007F";
        let mapped = line(&format!("{mapped}:1D2B"), &format!("{mapped}:9C40"), 99, 7);
        assert_eq!(search(&mapped, here, there), Found::Accepted(99));
        let (here, there) = ("[::1]:7467".parse().unwrap(), "[::1]:40000".parse().unwrap());
        let one = "00000000000000000000000001000000";
        assert_eq!(
            search(&line(&format!("{one}:1D2B"), &format!("{one}:9C40"), 5, 7), here, there),
            Found::Accepted(5)
        );
    }

    #[test]
    fn the_owner_is_not_believed_before_the_connection_was_accepted() {
        let (here, there) = ("127.0.0.1:7467".parse().unwrap(), "127.0.0.1:40000".parse().unwrap());
        assert_eq!(search(&line("0100007F:1D2B", "0100007F:9C40", 0, 0), here, there), Found::Waiting);
    }
}
