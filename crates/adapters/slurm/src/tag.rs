//! The tag by which a job of ours is found again in Slurm: `consort:1f3a:12.0.0#1:SECRET`, in its comment.
//!
//! Anyone can write any comment. So a tag counts only in a job of our own user (the engines see to that), and only with
//! the secret that was written into the intent of the attempt before Slurm was asked. Jobs of daemons that knew no
//! secrets have none in their intents, and none in their tags.

use crate::secret;
use consort_agent::launch::{allocation_name, allocation_of};
use consort_types::AllocationId;

/// The tag of an attempt. `prefix` is that of the data directory.
pub fn write(prefix: &str, id: AllocationId, secret: &str) -> String {
    format!("{prefix}:{}:{secret}", allocation_name(id))
}

/// The attempt and the secret in a comment, if it is a tag under this prefix.
pub fn read<'a>(prefix: &str, comment: &'a str) -> Option<(AllocationId, Option<&'a str>)> {
    let rest = comment.strip_prefix(prefix)?.strip_prefix(':')?;
    match rest.split_once(':') {
        Some((name, word)) => {
            Some((allocation_of(name)?, Some(word).filter(|word| secret::is_one(word))?.into()))
        }
        None => Some((allocation_of(rest)?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::{AskId, JobId};

    #[test]
    fn tags_with_and_without_a_secret() {
        let id = AllocationId { ask: AskId::whole(JobId(12)), attempt: 1 };
        let secret = secret::new().unwrap();
        let tag = write("consort:1f", id, &secret);
        assert_eq!(read("consort:1f", &tag), Some((id, Some(&*secret))));
        assert_eq!(read("consort:1f", "consort:1f:12.0.0#1"), Some((id, None)));
        for odd in [
            "",
            "consort:1f",
            "consort:1f:",
            "consort:1f:12.0.0#1:",
            "consort:1f:12.0.0#1:x",
            "consort:2f:12.0.0#1",
        ] {
            assert_eq!(read("consort:1f", odd), None, "{odd}");
        }
    }
}
