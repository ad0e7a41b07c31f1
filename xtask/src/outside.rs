//! Starts other programs.
//!
//! For: one way to run cargo and its helpers, either listened to or streamed.
//! Promises: nothing that is started can wait for input, and it starts in the root of the project.
//! Never: interprets what the program says.

use std::process::{Command, Stdio};

use crate::project::{Fault, Project};

/// What a program said, and whether it was content.
pub struct Heard {
    /// The program ended with status 0.
    pub success: bool,
    /// Standard output, then standard error.
    pub text: String,
}

/// A program to be started in the root of the project.
pub fn program(project: &Project, name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(&project.root).stdin(Stdio::null());
    command
}

/// A program of the project that was built into the same folder as this one.
pub fn neighbour(project: &Project, name: &str) -> Result<Command, Fault> {
    let own = std::env::current_exe().map_err(|error| Fault::new("asking where this program is", error))?;
    Ok(program(project, &own.with_file_name(name).to_string_lossy()))
}

/// The cargo that started us, so that one toolchain does everything.
pub fn cargo(project: &Project) -> Command {
    program(project, &std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
}

/// Runs to the end and keeps the output.
pub fn listen(command: &mut Command) -> Result<Heard, Fault> {
    let output = command.output().map_err(|error| could_not_start(command, &error))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(Heard { success: output.status.success(), text })
}

/// Runs to the end and keeps standard output only: for programs that answer in JSON or lists.
pub fn answer(command: &mut Command) -> Result<Vec<u8>, Fault> {
    let output = command.output().map_err(|error| could_not_start(command, &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Fault::new(format!("running {command:?}"), why))
}

/// Runs to the end and lets the output through; true when the program was content.
pub fn stream(command: &mut Command) -> Result<bool, Fault> {
    let status = command.status().map_err(|error| could_not_start(command, &error))?;
    Ok(status.success())
}

/// Whether the program is there and works: it ends with status 0.
pub fn is_at_hand(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn could_not_start(command: &Command, error: &std::io::Error) -> Fault {
    Fault::new(format!("starting {}", command.get_program().to_string_lossy()), error)
}
