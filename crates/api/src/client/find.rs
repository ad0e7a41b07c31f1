//! Where the server is, and which token opens it.
//!
//! The address is `--server`, else `CONSORT_URL`, else what `consort up` wrote into the user's configuration folder.
//! The token is `CONSORT_TOKEN`, else the file beside it. That file belongs to the server that wrote it: it is sent to
//! the address written there or to this machine, and to nobody else, since it travels unencrypted; nor to a port of
//! this machine on which another user listens.

use super::http::Client;
use super::{ClientError, listener};
use std::path::PathBuf;

/// The user's configuration folder: `$XDG_CONFIG_HOME`, else `~/.config`. Absent when there is no home either.
pub fn config_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(".config")))
}

/// The file with the address of the local server.
pub fn server_path() -> Option<PathBuf> {
    Some(config_dir()?.join("consort").join("server"))
}

/// The file with its token, which only its owner may read.
pub fn token_path() -> Option<PathBuf> {
    Some(config_dir()?.join("consort").join("token"))
}

impl Client {
    /// The client of the server that is meant, by whoever says so first.
    pub fn find(server: Option<&str>) -> Result<Client, ClientError> {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let written = |path: Option<PathBuf>| {
            let text = std::fs::read_to_string(path?).ok()?;
            Some(text.trim().to_string()).filter(|text| !text.is_empty())
        };
        let local = written(server_path());
        let url = server.map(String::from).or_else(|| said("CONSORT_URL")).or_else(|| local.clone());
        let Some(url) = url else {
            return Err(ClientError::Unreachable(
                "no server is known here; start one with `consort up`, or name one with --server URL or CONSORT_URL"
                    .into(),
            ));
        };
        let url = address(&url)?;
        let is_ours =
            || is_this_machine(&url) || local.is_some_and(|local| address(&local).as_ref() == Ok(&url));
        let file = || is_ours().then(|| written(token_path()))?;
        let token = match said("CONSORT_TOKEN") {
            Some(token) => Some(token),
            None => file(),
        };
        if token.is_some() && listener::is_a_strangers(&url) {
            return Err(ClientError::Unreachable(format!(
                "another user listens at {url}, and the token is not sent there; start your own server with `consort up`"
            )));
        }
        Ok(Client::new(url, token))
    }
}

/// `http://host:port`, also when written without the scheme.
fn address(text: &str) -> Result<String, ClientError> {
    let wrong = |why: &str| {
        Err(ClientError::Address(format!(
            "`{text}` is no address of a server: {why}; use one like http://127.0.0.1:8080"
        )))
    };
    let text = text.trim();
    let rest = match text.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", _)) => return wrong("there is no TLS here, a tunnel or a proxy can add it"),
        Some(_) => return wrong("it does not begin with http://"),
        None => text,
    };
    let rest = rest.trim_end_matches('/');
    let odd =
        |letter: char| letter.is_whitespace() || letter.is_control() || matches!(letter, '@' | '?' | '#');
    match rest.is_empty() || rest.contains(odd) {
        true => wrong("it names no host"),
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
        for text in ["", "http://", "https://a", "ftp://a", "http://user@host", "a b"] {
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
}
