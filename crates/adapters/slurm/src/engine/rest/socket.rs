//! Requests over a socket of this machine, for a client that knows only networks.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

/// Connects to one path, whatever the address says.
#[derive(Debug)]
pub struct Socket(pub PathBuf);

/// Whose program listens there: requests act as that user.
pub fn owner(path: &Path) -> io::Result<u32> {
    let stream = UnixStream::connect(path)?;
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    Ok(peer.uid.as_raw())
}

impl<In: Transport> Connector<In> for Socket {
    type Out = Stream;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<In>) -> Result<Option<Stream>, Error> {
        let stream = UnixStream::connect(&self.0)?;
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Stream { stream, buffers: LazyBuffers::new(input, output) }))
    }
}

/// One connection.
#[derive(Debug)]
pub struct Stream {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl Transport for Stream {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.set_write_timeout(timeout.not_zero().map(|after| *after))?;
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output).map_err(|error| told(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.set_read_timeout(timeout.not_zero().map(|after| *after))?;
        let amount = loop {
            match self.stream.read(self.buffers.input_append_buf()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| told(error, &timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // slurmrestd closes when it likes; a new connection costs nothing here.
        false
    }
}

fn told(error: io::Error, timeout: &NextTimeout) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Timeout(reason(timeout)),
        _ => Error::Io(error),
    }
}

fn reason(timeout: &NextTimeout) -> Timeout {
    timeout.reason
}
