//! Connections to a server, made and judged before the first byte is sent.

use super::peer::{self, Peer};
use super::socket;
use std::fmt;
use std::io::{Error as IoError, ErrorKind, Read, Result as IoResult, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// Whom a client believes to speak to, over TCP. Another user of this machine is never believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Only a process that is known to be ours: the token was not named together with the server.
    Proven,
    /// Also one whose user is not known: the caller named the server and its token.
    Named,
}

/// Makes connections to one server.
#[derive(Debug)]
pub(super) struct Dialer {
    /// The socket; absent for TCP, where the address of the request counts.
    pub socket: Option<PathBuf>,
    pub trust: Trust,
}

impl Connector for Dialer {
    type Out = Line;

    fn connect(&self, details: &ConnectionDetails<'_>, _chained: Option<()>) -> Result<Option<Line>, Error> {
        let stream = match &self.socket {
            Some(path) => Stream::Unix(socket::connect(path)?),
            None => Stream::Tcp(self.connect_tcp(details)?),
        };
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Line { stream, buffers }))
    }
}

impl Dialer {
    fn connect_tcp(&self, details: &ConnectionDetails<'_>) -> Result<TcpStream, Error> {
        let mut failed = IoError::from(ErrorKind::ConnectionRefused);
        for address in &details.addrs {
            match TcpStream::connect_timeout(address, CONNECT) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    self.judge(&stream)?;
                    return Ok(stream);
                }
                Err(error) => failed = error,
            }
        }
        Err(failed.into())
    }

    fn judge(&self, stream: &TcpStream) -> IoResult<()> {
        match (peer::of(stream), self.trust) {
            (Peer::Ours, _) | (Peer::Unknown, Trust::Named) => Ok(()),
            (Peer::Stranger(uid), _) => Err(Distrust::Stranger(uid).into()),
            (Peer::Unknown, Trust::Proven) => Err(Distrust::Unknown.into()),
            (Peer::Silent, _) => Err(ErrorKind::TimedOut.into()),
        }
    }
}

/// Why nothing is sent to a process that does accept connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distrust {
    /// It belongs to this user.
    Stranger(u32),
    /// Nobody knows to whom it belongs.
    Unknown,
}

impl From<Distrust> for IoError {
    fn from(distrust: Distrust) -> Self {
        IoError::new(ErrorKind::PermissionDenied, distrust)
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distrust::Stranger(uid) => write!(f, "another user (uid {uid}) listens there"),
            Distrust::Unknown => f.write_str("the system does not tell whose process listens there"),
        }
    }
}

impl std::error::Error for Distrust {}

/// One connection.
pub(super) struct Line {
    stream: Stream,
    buffers: LazyBuffers,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn read(&mut self, bytes: &mut [u8], limit: Option<Duration>) -> IoResult<usize> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(limit).and_then(|()| stream.read(bytes)),
            Stream::Unix(stream) => stream.set_read_timeout(limit).and_then(|()| stream.read(bytes)),
        }
    }

    fn write_all(&mut self, bytes: &[u8], limit: Option<Duration>) -> IoResult<()> {
        match self {
            Stream::Tcp(stream) => stream.set_write_timeout(limit).and_then(|()| stream.write_all(bytes)),
            Stream::Unix(stream) => stream.set_write_timeout(limit).and_then(|()| stream.write_all(bytes)),
        }
    }

    fn set_nonblocking(&self, to: bool) -> IoResult<()> {
        match self {
            Stream::Tcp(stream) => stream.set_nonblocking(to),
            Stream::Unix(stream) => stream.set_nonblocking(to),
        }
    }
}

/// An error of a read or a write under this limit.
fn named(error: IoError, timeout: NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

impl Transport for Line {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        let limit = timeout.not_zero().map(|limit| *limit);
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output, limit).map_err(|error| named(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let limit = timeout.not_zero().map(|limit| *limit);
        let input = self.buffers.input_append_buf();
        let read = loop {
            match self.stream.read(input, limit) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other.map_err(|error| named(error, timeout))?,
            }
        };
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    /// A connection that is kept has nothing to say: bytes without a question are a mistake, and so is an end.
    fn is_open(&mut self) -> bool {
        let is_quiet = self.stream.set_nonblocking(true).is_ok()
            && self.stream.read(&mut [0], None).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        is_quiet && self.stream.set_nonblocking(false).is_ok()
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if matches!(self.stream, Stream::Tcp(_)) { "tcp" } else { "unix" };
        f.debug_struct("Line").field("kind", &kind).finish()
    }
}
