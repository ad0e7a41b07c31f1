//! Where the server is, and what proves to it who we are.
//!
//! The server is `--server`, else `CONSORT_URL`, else the Unix socket that `consort up` wrote into the user's
//! configuration folder, else the address it wrote there. Over the socket no token travels: the kernel tells both sides
//! whose process the other is. Over TCP the token is `CONSORT_TOKEN`, else the file in that folder. The file belongs to
//! the server that wrote it: it is sent to this machine and to the address written there, and only once the process at
//! the other end is known to be ours.

use super::dial::Trust;
use super::http::Client;
use super::peer::{self, Peer};
use super::{ClientError, socket};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The user's configuration folder: `$XDG_CONFIG_HOME`, else `~/.config`. Absent when there is no home either.
pub fn config_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(".config")))
}

/// The file with the address of the local server.
pub fn server_path() -> Option<PathBuf> {
    Some(config_dir()?.join("consort").join("server"))
}

/// The file with its Unix socket, as in `unix:/path`: beside its address.
pub fn socket_path() -> Option<PathBuf> {
    Some(config_dir()?.join("consort").join("socket"))
}

/// The file with its token, which only its owner may read.
pub fn token_path() -> Option<PathBuf> {
    Some(config_dir()?.join("consort").join("token"))
}

impl Client {
    /// The client of the server that is meant: by the caller, by the environment, or by the server itself.
    pub fn find(server: Option<&str>) -> Result<Client, ClientError> {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let named = server.map(String::from).or_else(|| said("CONSORT_URL"));
        let url = match &named {
            Some(named) => address(named)?,
            None => match written(socket_path())?
                .map_or_else(|| written(server_path()), |found| Ok(Some(found)))?
            {
                Some(written) => address(&written)?,
                None => return Err(none_found()),
            },
        };
        if url.starts_with("unix:") {
            return Ok(Client::new(url, None));
        }
        let (token, trust) = match said("CONSORT_TOKEN") {
            Some(token) if named.is_some() => (Some(token), Trust::Named),
            Some(token) => (Some(token), Trust::Proven),
            None if is_this_machine(&url) || is_written(&url)? => (written(token_path())?, Trust::Proven),
            None => (None, Trust::Named),
        };
        Ok(Client::trusting(url, token, trust))
    }
}

/// Whether a process of this user takes connections at an address: `http://127.0.0.1:7467` or `unix:/path`.
pub fn is_taken_by_us(url: &str) -> bool {
    if let Some(path) = url.strip_prefix("unix:") {
        return socket::connect(Path::new(path)).is_ok();
    }
    let address = url.strip_prefix("http://").and_then(|text| text.parse::<SocketAddr>().ok());
    let stream = address.and_then(|to| TcpStream::connect_timeout(&to, Duration::from_millis(300)).ok());
    stream.is_some_and(|stream| peer::of(&stream) == Peer::Ours)
}

/// Whether this is the address that a server of ours wrote down.
fn is_written(url: &str) -> Result<bool, ClientError> {
    Ok(written(server_path())?.is_some_and(|written| address(&written).is_ok_and(|written| written == url)))
}

fn none_found() -> ClientError {
    let words = "no server found; start one with `consort up`, or name one with --server URL or CONSORT_URL";
    ClientError::Unreachable(words.into())
}

/// Longer than anything a server writes.
const LONGEST: u64 = 16 << 10;

/// What a file of the configuration folder says; nothing if it is not there. Files that another user could have written
/// are refused: they decide whom this client talks to.
fn written(path: Option<PathBuf>) -> Result<Option<String>, ClientError> {
    let Some(path) = path else { return Ok(None) };
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let Ok(file) = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&path) else {
        return Ok(None);
    };
    let folder = path.parent().unwrap_or(&path);
    for (part, found) in [(folder, folder.metadata()), (&path, file.metadata())] {
        let Ok(found) = found else { return Ok(None) };
        require_ours(part, found.uid(), found.mode())?;
    }
    let mut text = String::new();
    if file.take(LONGEST).read_to_string(&mut text).is_err() {
        return Ok(None);
    }
    Ok(Some(text.trim().to_string()).filter(|text| !text.is_empty()))
}

/// Root may write everything of ours anyway.
fn require_ours(path: &Path, uid: u32, mode: u32) -> Result<(), ClientError> {
    let own = rustix::process::geteuid().as_raw();
    let why = match (uid == own || uid == 0, mode & 0o022 == 0) {
        (true, true) => return Ok(()),
        (false, _) => {
            format!(
                "belongs to uid {uid}, and this is uid {own}; set XDG_CONFIG_HOME to a folder that you own"
            )
        }
        (true, false) => {
            "can be written by other users; check its contents, then fix it with `chmod go-w`".into()
        }
    };
    Err(ClientError::Unreachable(format!("{} {why}", path.display())))
}

/// `http://host:port`, also when written without the scheme, or `unix:/path`.
fn address(text: &str) -> Result<String, ClientError> {
    let wrong = |why: &str| {
        Err(ClientError::Address(format!(
            "`{text}` is not a server address: {why}; use one like http://127.0.0.1:8080 or unix:/path"
        )))
    };
    let text = text.trim();
    if let Some(path) = text.strip_prefix("unix:") {
        return match path.starts_with('/') && !path.contains('\0') {
            true => Ok(text.to_string()),
            false => wrong("the path of a socket must begin with /"),
        };
    }
    let rest = match text.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", _)) => return wrong("TLS is not supported, use a tunnel or a proxy"),
        Some(_) => return wrong("it must begin with http:// or unix:"),
        None => text,
    };
    let rest = rest.trim_end_matches('/');
    let odd =
        |letter: char| letter.is_whitespace() || letter.is_control() || matches!(letter, '@' | '?' | '#');
    match rest.is_empty() || rest.contains(odd) {
        true => wrong("it has no host"),
        false => Ok(format!("http://{rest}")),
    }
}

/// Whether an address never leaves this machine.
fn is_this_machine(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_or_refused() {
        assert_eq!(address("localhost:1"), Ok("http://localhost:1".into()));
        assert_eq!(address(" http://a.b:80/ "), Ok("http://a.b:80".into()));
        assert_eq!(address(" unix:/run/x \n"), Ok("unix:/run/x".into()));
        for text in ["", "http://", "https://a", "ftp://a", "http://user@host", "a b", "unix:x", "unix:"] {
            assert!(matches!(address(text), Err(ClientError::Address(_))), "{text}");
        }
    }

    #[test]
    fn the_token_of_this_machine_stays_on_it() {
        for (url, here) in [
            ("http://127.0.0.1:7411", true),
            ("http://127.8.0.1", true),
            ("http://localhost:1", true),
            ("http://[::1]:1", true),
            ("http://localhost.example.org:1", false),
            ("http://10.0.0.1:1", false),
            ("http://127.0.0.1.example.org", false),
        ] {
            assert_eq!(is_this_machine(url), here, "{url}");
        }
    }

    #[test]
    fn files_that_another_user_could_write_are_not_believed() {
        let own = rustix::process::geteuid().as_raw();
        let judged = |uid, mode| require_ours(Path::new("/x"), uid, mode);
        assert_eq!((judged(own, 0o100644), judged(0, 0o100600)), (Ok(()), Ok(())));
        assert!(judged(own + 1, 0o100600).unwrap_err().to_string().contains("belongs to uid"));
        assert!(judged(own, 0o100620).unwrap_err().to_string().contains("chmod go-w"));
    }
}
