//! Finding a way to Slurm: slurmrestd where it was named and answers, the command-line tools otherwise.

use super::{Slurm, unanswered};
use crate::fault::Fault;
use crate::folder::Folder;
use consort_slurm::engine::rest::Rest;
use consort_slurm::engine::tools::{self, Tools};
use consort_slurm::engine::{About, Engine, Trouble};
use consort_slurm::topology::Topology;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The first way that leads there, and what is worth knowing about it.
pub fn reach(slurm: &Slurm, folder: &Folder) -> Result<(Box<dyn Engine>, Vec<String>), Fault> {
    let lock = folder.path().join("submitting");
    let Some(place) = &slurm.rest else {
        let tools = Tools::probe(&slurm.tools, &lock).map_err(|trouble| unanswered(&trouble))?;
        return Ok((Box::new(tools), vec![]));
    };
    match Rest::probe(place, slurm.token.clone()) {
        Ok(rest) => {
            // A submission of a daemon before us, by the tools, may still be under way.
            tools::await_submissions(&lock).map_err(|trouble| unanswered(&trouble))?;
            Ok((Box::new(rest), vec![]))
        }
        // What was refused was understood: another way would only hide it.
        Err(Trouble::Refused(words)) => Err(Fault::new(words, "fix it, or leave out --slurm-rest")),
        Err(trouble) => match Tools::probe(&slurm.tools, &lock) {
            Ok(tools) => {
                let note = format!("{trouble}; using the command-line tools until the next start");
                Ok((Box::new(tools), vec![note]))
            }
            Err(_) => Err(unanswered(&trouble)),
        },
    }
}

/// The partition must be there.
pub fn partition(slurm: &Slurm, engine: &mut dyn Engine) -> Result<(), Fault> {
    let all = engine.partitions().map_err(|trouble| unanswered(&trouble))?;
    match all.contains(&slurm.partition) {
        true => Ok(()),
        false if all.is_empty() => Err(Fault::new("Slurm has no partition", "add one to slurm.conf")),
        false => Err(Fault::request(
            format!("Slurm has no partition {}", slurm.partition),
            format!("it has {}", all.join(", ")),
        )),
    }
}

/// The topology: from a file that was named, or from Slurm, which only its tools can be asked for.
pub fn topology(
    slurm: &Slurm,
    engine: &mut dyn Engine,
    folder: &Folder,
    notes: &mut Vec<String>,
) -> Result<Topology, Fault> {
    if let Some(path) = &slurm.topology {
        let text = std::fs::read_to_string(path).map_err(|error| Fault::at(path, &error))?;
        let read = Topology::parse(&text);
        return read.map_err(|words| Fault::request(format!("{}: {words}", path.display()), "fix that file"));
    }
    let told = match engine.topology() {
        Ok(Some(told)) => Some(told),
        Ok(None) if slurm.rest.is_some() => {
            let tools = Tools::probe(&slurm.tools, &folder.path().join("asking"));
            tools.ok().and_then(|mut tools| tools.topology().ok().flatten())
        }
        Ok(None) => None,
        Err(trouble) => return Err(unanswered(&trouble)),
    };
    Topology::parse(&told.unwrap_or_default()).or_else(|words| {
        notes.push(format!("{words}; placement ignores switches"));
        Ok(Topology::default())
    })
}

/// Whoever runs the jobs must be able to come to the shared folder.
pub fn readable(shared: &Path, is_ours: bool, about: &About) -> Result<(), Fault> {
    let us = rustix::process::geteuid().as_raw();
    let Some(uid) = about.uid.filter(|&uid| uid != us) else { return Ok(()) };
    if us != 0 {
        return Err(Fault::new(
            format!("slurmrestd acts as uid {uid}, and this daemon is uid {us}"),
            "run both as the same user, or leave out --slurm-rest",
        ));
    }
    if is_ours {
        return Err(Fault::request(
            format!("jobs run as uid {uid}, which cannot access {}", shared.display()),
            "give a folder that all nodes and that user see with --slurm-shared",
        ));
    }
    std::fs::create_dir_all(shared).map_err(|error| Fault::at(shared, &error))?;
    let closed = shared
        .ancestors()
        .find(|path| std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o001 == 0));
    match closed {
        Some(path) => Err(Fault::request(
            format!("jobs run as uid {uid}, which cannot pass {} to reach the shared folder", path.display()),
            "open it for others (chmod o+x), or give another --slurm-shared",
        )),
        None => Ok(()),
    }
}
