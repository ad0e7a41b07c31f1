//! Random words that nobody can guess: the secret in the tag of an attempt, and marks in answers of tools.

use std::fs::File;
use std::io::{self, Read};

/// Bytes of a secret.
const LENGTH: usize = 16;

/// A new secret, in hexadecimal.
pub fn new() -> io::Result<String> {
    let mut bytes = [0; LENGTH];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether this could be a secret of ours.
pub fn is_one(text: &str) -> bool {
    text.len() == 2 * LENGTH
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ() {
        let (one, other) = (new().unwrap(), new().unwrap());
        assert!(one != other && is_one(&one) && is_one(&other));
        assert!(!is_one("") && !is_one(&one[1..]) && !is_one(&one.replace(|_| true, "G")));
    }
}
