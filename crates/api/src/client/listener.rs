//! Whose port it is: a token must not be sent to whoever took the place of a server that is gone.

use std::net::{IpAddr, SocketAddr};

/// Whether somebody else than this user, or root, listens on this address of this machine. Where the kernel does not tell,
/// nobody does.
pub(super) fn is_a_strangers(url: &str) -> bool {
    let Some(address) = url.strip_prefix("http://").map(|text| text.replace("localhost", "127.0.0.1")) else {
        return false;
    };
    let Ok(address) = address.parse::<SocketAddr>() else { return false };
    let Some(own) = own_user() else { return false };
    let table = if address.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let Ok(text) = std::fs::read_to_string(table) else { return false };
    owners(&text, address).any(|owner| owner != own && owner != 0)
}

fn own_user() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The users that listen on an address, by the kernel's table.
fn owners(table: &str, address: SocketAddr) -> impl Iterator<Item = u32> + '_ {
    let here = match address.ip() {
        IpAddr::V4(ip) => format!("{:08X}:{:04X}", u32::from_le_bytes(ip.octets()), address.port()),
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let words = octets.chunks(4).map(|word| {
                let bytes: [u8; 4] = word.try_into().unwrap_or_default();
                format!("{:08X}", u32::from_le_bytes(bytes))
            });
            format!("{}:{:04X}", words.collect::<String>(), address.port())
        }
    };
    table.lines().skip(1).filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&here.as_str()) && words.get(3) == Some(&"0A");
        words.get(7).filter(|_| is_it)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_whose_port_it_is() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        assert_eq!(owners(&table, address).collect::<Vec<u32>>(), [own_user().unwrap()]);
        assert!(!is_a_strangers(&format!("http://{address}")));
        let line =
            "  0: 0100007F:1D2B 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1234        0 1 1";
        let table = format!("head\n{line}\n");
        assert_eq!(owners(&table, "127.0.0.1:7467".parse().unwrap()).collect::<Vec<u32>>(), [1234]);
    }
}
