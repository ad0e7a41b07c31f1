//! Slurm through slurmrestd.
//!
//! For: one long-lived daemon that answers in JSON, on a socket of this machine or elsewhere with a token.
//! Promises: finds out itself which version of the interface there is, newest first; old and new shapes are one here.
//! Never: sends a token in the clear to another machine.

mod body;
mod socket;

use super::{About, Engine, Skipped, Trouble, is_unknown, unusable};
use crate::shapes::{Answer, Job, Node};
use crate::submission::Submission;
use consort_types::file::hosts;
use socket::Socket;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// A submission whose sender died is under way no longer than this: slurmrestd gives up on the controller after
/// `MessageTimeout`, ten seconds unless somebody raised it.
const STRAGGLES: Duration = Duration::from_secs(12);
/// Bytes of an answer.
const LIMIT: u64 = 1 << 30;
/// Versions of the interface that we speak, newest first.
const VERSIONS: std::ops::RangeInclusive<u32> = 36..=45;
/// So many jobs are looked at one by one; for more, all are listed.
const FEW: usize = 8;

/// What is said of a token that is none.
const NO_TOKEN: &str =
    "slurmrestd rejects the token: get one with `scontrol token` and put it into SLURM_JWT or a file";

/// Where slurmrestd is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A socket of this machine.
    Unix(PathBuf),
    /// `https://host:6820`
    Web(String),
}

impl Place {
    /// Reads `unix:/path` or an address.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path.starts_with('/') {
                true => Ok(Place::Unix(path.into())),
                false => {
                    Err(format!("{text} is not an absolute path: write unix:/run/slurmrestd/slurmrestd.sock"))
                }
            };
        }
        let address = text.trim_end_matches('/');
        if let Some(host) = address.strip_prefix("http://") {
            let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
            let is_here = ["127.0.0.1", "localhost", "[::1]"].contains(&host);
            return match is_here {
                true => Ok(Place::Web(address.into())),
                false => Err(format!(
                    "{text} would send the token unencrypted: use https://, or a socket: unix:/..."
                )),
            };
        }
        match address.starts_with("https://") {
            true if cfg!(feature = "tls") => Ok(Place::Web(address.into())),
            true => {
                Err(format!("{text} needs a build of Consort with the feature tls: use a socket: unix:/..."))
            }
            false => Err(format!("{text} is neither unix:/path nor https://host:port")),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
            Place::Web(address) => f.write_str(address),
        }
    }
}

/// Who we are, where a socket does not say it.
#[derive(Clone, Default)]
pub struct Token {
    /// The user's name.
    pub user: String,
    /// A file with the token, read anew for each request, because tokens run out.
    pub file: Option<PathBuf>,
    /// The token itself.
    pub text: Option<String>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token of {:?}", self.user)
    }
}

impl Token {
    fn read(&self) -> Result<Option<String>, Trouble> {
        let Some(path) = &self.file else { return Ok(self.text.clone()) };
        let read = std::fs::read_to_string(path);
        let text =
            read.map_err(|error| Trouble::Refused(format!("the token in {}: {error}", path.display())))?;
        // `scontrol token` writes a name before it.
        let text = text.trim();
        Ok(Some(text.strip_prefix("SLURM_JWT=").unwrap_or(text).to_owned()))
    }
}

/// slurmrestd.
pub struct Rest {
    agent: Agent,
    base: String,
    version: u32,
    token: Token,
    about: About,
    skipped: Skipped,
    unread: Vec<String>,
}

impl Rest {
    /// Looks who is there and which version of the interface it speaks.
    pub fn probe(place: &Place, token: Token) -> Result<Self, Trouble> {
        let config = Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("consort/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(PATIENCE));
        #[cfg(feature = "tls")]
        let config = {
            use ureq::tls::{RootCerts, TlsConfig};
            config.tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        };
        let config = config.build();
        let (agent, base, uid) = match place {
            Place::Unix(path) => {
                let uid = socket::owner(path).map_err(|error| {
                    Trouble::Away(format!("slurmrestd at {place} does not answer: {error}"))
                })?;
                let agent = Agent::with_parts(config, Socket(path.clone()), DefaultResolver::default());
                (agent, "http://127.0.0.1".to_owned(), Some(uid))
            }
            Place::Web(address) => (Agent::new_with_config(config), address.clone(), None),
        };
        let user = uid.map_or_else(|| format!("user {}", token.user), |uid| format!("uid {uid}"));
        let about = About { user, uid, ..About::default() };
        let mut rest =
            Self { agent, base, version: 0, token, about, skipped: Skipped::default(), unread: vec![] };
        for version in VERSIONS.rev() {
            rest.version = version;
            let Some(answer) = rest.ping()? else { continue };
            let release = answer.meta.slurm.release;
            if let Some(words) = unusable(&release) {
                return Err(Trouble::Refused(words));
            }
            rest.about.how = format!("REST v0.0.{version} at {place}");
            rest.about.release = release;
            return Ok(rest);
        }
        let (first, last) = VERSIONS.into_inner();
        Err(Trouble::Refused(format!(
            "slurmrestd at {place} speaks none of v0.0.{first} to v0.0.{last}: start it with `-s openapi/...` or update Consort"
        )))
    }

    /// Nothing if this version is not spoken.
    fn ping(&self) -> Result<Option<Answer>, Trouble> {
        let (status, bytes) = self.call("GET", "ping", None)?;
        match status {
            404 => Ok(None),
            401 | 403 => Err(Trouble::Refused(NO_TOKEN.into())),
            // A version that is not loaded is answered with a complaint about the path.
            400..=499 => Ok(None),
            _ => match Answer::read(&bytes) {
                Ok(answer) if (200..300).contains(&status) && !answer.meta.slurm.release.is_empty() => {
                    Ok(Some(answer))
                }
                Ok(answer) => match answer.errors.first() {
                    // What it says when the controller does not take the token.
                    Some(first) if self.token.read()?.is_some() && first.error == "Unspecified error" => {
                        Err(Trouble::Refused(NO_TOKEN.into()))
                    }
                    Some(first) => Err(Trouble::Away(first.words())),
                    None => Ok(None),
                },
                Err(words) if status >= 500 => {
                    Err(Trouble::Away(format!("slurmrestd answers {status}: {words}")))
                }
                Err(_) => Ok(None),
            },
        }
    }

    /// slurmrestd tells of everybody's jobs, and a comment can be written by anyone. Where neither the number nor the name
    /// of our user is known, the secret in the tag decides alone.
    fn is_ours(&self, job: &Job) -> bool {
        match (self.about.uid, self.token.user.as_str()) {
            (Some(uid), _) => job.user == Some(uid.into()),
            (None, name) => name.is_empty() || job.user_name.is_empty() || job.user_name == name,
        }
    }

    /// What an answer says that cannot be read and may be about jobs of ours. Others are left out, so that nobody else's
    /// rows are waited for: a row that cannot be read names its user all the same.
    fn unread_in<'a>(&'a self, answer: &'a Answer) -> impl Iterator<Item = String> + 'a {
        let may_be_ours = |row: &&String| match self.about.uid {
            Some(uid) => row.contains(&uid.to_string()),
            None => !row.contains("\"user_name\"") || row.contains(&format!("\"{}\"", self.token.user)),
        };
        let is_damaged = |job: &&Job| match job.user {
            Some(_) => job.id == 0 && self.is_ours(job),
            None => job.id == 0 || self.about.uid.is_some(),
        };
        let damaged = answer.jobs.iter().flatten().filter(is_damaged).map(|job| job.comment.clone());
        answer.skipped.iter().filter(may_be_ours).cloned().chain(damaged)
    }

    fn call(&self, method: &str, path: &str, body: Option<String>) -> Result<(u16, Vec<u8>), Trouble> {
        let url = format!("{}/slurm/v0.0.{}/{path}", self.base, self.version);
        let mut request =
            ureq::http::Request::builder().method(method).uri(url).header("accept", "application/json");
        if let Some(token) = self.token.read()? {
            request = request.header("X-SLURM-USER-TOKEN", token);
            if !self.token.user.is_empty() {
                request = request.header("X-SLURM-USER-NAME", &self.token.user);
            }
        }
        let bad = |error: ureq::http::Error| Trouble::Refused(format!("the request to slurmrestd: {error}"));
        let answered = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body).map_err(bad)?;
                self.agent.run(request)
            }
            None => self.agent.run(request.body(()).map_err(bad)?),
        };
        let mut response = answered.map_err(|error| away(&error))?;
        let status = response.status().as_u16();
        let bytes =
            response.body_mut().with_config().limit(LIMIT).read_to_vec().map_err(|error| away(&error))?;
        Ok((status, bytes))
    }

    /// An answer without a complaint.
    fn ask(&self, method: &str, path: &str, body: Option<String>) -> Result<Answer, Trouble> {
        let (status, bytes) = self.call(method, path, body)?;
        let answer = match Answer::read(&bytes) {
            Ok(answer) => answer,
            Err(_) if status == 401 => {
                return Err(Trouble::Refused("slurmrestd rejects the token; it may have expired".into()));
            }
            // Deleting answers with nothing, in some versions.
            Err(_) if (200..300).contains(&status) && bytes.is_empty() => Answer::default(),
            Err(words) => return Err(Trouble::Away(format!("slurmrestd answers {status}: {words}"))),
        };
        // A job that has a number was made, whatever else there is to say about it.
        if answer.job_id > 0 {
            return Ok(answer);
        }
        match answer.errors.iter().find(|error| error.number() != 0 || !error.error.is_empty()) {
            Some(error) => Err(trouble(error.number(), answer.errors.iter().map(|error| error.words()))),
            None if status >= 400 => Err(Trouble::Away(format!("slurmrestd answers {status}"))),
            None => match answer.status.iter().map(|one| &one.error).find(|error| error.code != 0) {
                Some(error) => Err(trouble(error.code, [error.string.clone()].into_iter())),
                None => Ok(answer),
            },
        }
    }
}

/// Whether anything was done can only be told for connections that never came about.
fn away(error: &ureq::Error) -> Trouble {
    use std::io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    match error {
        ureq::Error::Io(io) if matches!(io.kind(), ConnectionRefused | NotFound | PermissionDenied) => {
            Trouble::Away(format!("slurmrestd does not answer: {io}"))
        }
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => {
            Trouble::Away(format!("slurmrestd does not answer: {error}"))
        }
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Trouble::Away("slurmrestd does not answer".into())
        }
        other => Trouble::Unclear(format!("the answer of slurmrestd was cut off: {other}")),
    }
}

/// Slurm's own numbers say whether it was about what was asked.
fn trouble(number: u64, words: impl Iterator<Item = String>) -> Trouble {
    let mut all: Vec<String> = words.collect();
    all.dedup();
    let words = all.join("; ");
    match number {
        // Timeouts on the way.
        1800..=1803 | 5004 | 1007 => Trouble::Unclear(words),
        // No controller, or one that has no time.
        1001..=1006 | 1804..=1999 | 5000..=5003 | 5005..=5999 | 2033 => Trouble::Away(words),
        _ if words.contains("Unable to contact slurm controller") || words.contains("Connection refused") => {
            Trouble::Away(words)
        }
        _ => Trouble::Refused(words),
    }
}

impl Engine for Rest {
    fn about(&self) -> &About {
        &self.about
    }

    fn nodes(&mut self) -> Result<Vec<Node>, Trouble> {
        let (mut nodes, mut skipped) =
            self.ask("GET", "nodes/", None)?.named_nodes().map_err(Trouble::Away)?;
        if self.version == 36 {
            // The oldest version tells of partitions what the others tell of nodes.
            for partition in self.ask("GET", "partitions/", None)?.partitions.unwrap_or_default() {
                let Ok(members) = hosts::expand(&partition.nodes) else {
                    skipped += 1;
                    continue;
                };
                let members: BTreeSet<String> = members.into_iter().collect();
                for node in nodes.iter_mut().filter(|node| members.contains(&node.name)) {
                    node.partitions.push(partition.name.clone());
                }
            }
            // Nor does it tell that a node is drained; but whoever drains one has to say why.
            for node in nodes.iter_mut().filter(|node| !node.reason.trim().is_empty()) {
                node.state_flags.push("DRAIN".into());
            }
        }
        self.skipped.nodes = skipped;
        Ok(nodes)
    }

    fn jobs(&mut self) -> Result<Vec<Job>, Trouble> {
        let answer = self.ask("GET", "jobs/", None)?;
        self.unread = self.unread_in(&answer).collect();
        let (mut jobs, skipped) = answer.numbered_jobs().map_err(Trouble::Away)?;
        self.skipped.jobs = skipped;
        jobs.retain(|job| self.is_ours(job));
        Ok(jobs)
    }

    fn look(&mut self, ids: &[u64]) -> Result<Vec<Job>, Trouble> {
        if ids.len() > FEW {
            return self.jobs();
        }
        let (mut all, mut unread) = (vec![], vec![]);
        self.skipped.jobs = 0;
        for id in ids {
            match self.ask("GET", &format!("job/{id}"), None) {
                Ok(answer) => {
                    unread.extend(self.unread_in(&answer));
                    let (jobs, skipped) = answer.numbered_jobs().map_err(Trouble::Away)?;
                    self.skipped.jobs += skipped;
                    all.extend(jobs.into_iter().filter(|job| self.is_ours(job)));
                }
                // Slurm does not know it any more; anything else is no answer about it.
                Err(Trouble::Refused(words)) if is_unknown(&words) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        self.unread = unread;
        Ok(all)
    }

    fn skipped(&self) -> Skipped {
        self.skipped
    }

    fn unread(&self) -> &[String] {
        &self.unread
    }

    fn partitions(&mut self) -> Result<Vec<String>, Trouble> {
        self.ask("GET", "partitions/", None)?.partitions().map_err(Trouble::Away)
    }

    fn topology(&mut self) -> Result<Option<String>, Trouble> {
        Ok(None) // the interface does not tell
    }

    fn submit(&mut self, submission: &Submission) -> Result<u64, Trouble> {
        let answer = self.ask("POST", "job/submit", Some(body::of(submission, self.version)))?;
        match answer.job_id {
            0 => Err(Trouble::Unclear("slurmrestd returned no id for the new job".into())),
            id => Ok(id),
        }
    }

    fn signal(&mut self, id: u64, signal: i32) -> Result<(), Trouble> {
        self.ask("DELETE", &format!("job/{id}?signal={signal}&flags=FULL_STEPS_ONLY"), None).map(drop)
    }

    fn cancel(&mut self, id: u64) -> Result<(), Trouble> {
        self.ask("DELETE", &format!("job/{id}"), None).map(drop)
    }

    fn straggles(&self) -> Duration {
        STRAGGLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(Place::parse("unix:/run/x.sock"), Ok(Place::Unix("/run/x.sock".into())));
        assert_eq!(Place::parse("unix:///run/x.sock"), Ok(Place::Unix("/run/x.sock".into())));
        assert_eq!(Place::parse("http://127.0.0.1:6820/"), Ok(Place::Web("http://127.0.0.1:6820".into())));
        for bad in ["unix:x.sock", "http://slurm:6820", "slurm:6820", "http://127.0.0.1.evil.org:80", ""] {
            let told = Place::parse(bad).unwrap_err();
            assert!(told.starts_with(bad) && told.len() > bad.len() + 10, "{told}");
        }
    }

    #[test]
    fn numbers_tell_what_kind_of_trouble() {
        let kind = |number| trouble(number, ["x".to_owned()].into_iter());
        assert!(matches!(kind(2017), Trouble::Refused(_)));
        assert!(matches!(kind(1802), Trouble::Unclear(_)));
        assert!(matches!(kind(9001), Trouble::Refused(_)));
    }

    #[test]
    fn no_socket_is_one_sentence() {
        let Err(trouble) = Rest::probe(&Place::Unix("/nowhere/x.sock".into()), Token::default()) else {
            panic!()
        };
        assert!(
            trouble.to_string().starts_with("slurmrestd at unix:/nowhere/x.sock does not answer: "),
            "{trouble}"
        );
        assert!(matches!(trouble, Trouble::Away(_)));
    }
}
