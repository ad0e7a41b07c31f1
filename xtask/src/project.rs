//! Where the project is, and what is in it.
//!
//! For: the root folder, the list of files that belong to the project, and the answers of `cargo metadata`.
//! Promises: files come in a fixed order, with paths relative to the root; what git ignores is not among them.
//! Never: judges a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::outside;

/// The project, found once at the start.
pub struct Project {
    /// The folder of the workspace.
    pub root: PathBuf,
}

/// The outside broke: what we were doing, and what it said.
#[derive(Debug)]
pub struct Fault {
    doing: String,
    why: String,
}

impl Fault {
    /// `doing` reads after "while", as in "reading deny.toml".
    pub fn new(doing: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { doing: doing.into(), why: why.to_string() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Something outside failed while {}: {}", self.doing, self.why)
    }
}

/// Folders that hold what tools made. Only asked for when git is not there to say what is ignored.
const MADE_BY_TOOLS: &[&str] =
    &[".git", "target", "node_modules", ".venv", "mutants.out", "corpus", "artifacts"];

impl Project {
    /// Asks cargo's environment first, then looks upward from here for the folder that holds `xtask`.
    pub fn find() -> Result<Self, Fault> {
        if let Some(root) =
            std::env::var_os("CARGO_MANIFEST_DIR").and_then(|own| Some(Path::new(&own).parent()?.into()))
        {
            return Ok(Self { root });
        }
        let here =
            std::env::current_dir().map_err(|error| Fault::new("asking for the current folder", error))?;
        let found = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
        let nowhere =
            || Fault::new("looking for the project", "no folder above this one holds xtask/Cargo.toml");
        Ok(Self { root: found.ok_or_else(nowhere)?.to_owned() })
    }

    /// Every file that git tracks or would track, sorted, relative to the root.
    ///
    /// Files not yet added count too: a rule that speaks up only after `git add` speaks up too late.
    pub fn files(&self) -> Result<Vec<String>, Fault> {
        let listing = &["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        // An unpacked archive has no git; there the folders are walked instead.
        let mut files = match outside::answer(outside::program(self, "git").args(listing)) {
            Ok(bytes) if !bytes.is_empty() => {
                String::from_utf8_lossy(&bytes).split_terminator('\0').map(str::to_owned).collect()
            }
            _ => self.walk()?,
        };
        // Links are left out: their target is judged where it lies. So are files deleted but not yet committed.
        files.retain(|file| self.root.join(file).symlink_metadata().is_ok_and(|found| found.is_file()));
        files.sort();
        files.dedup();
        Ok(files)
    }

    fn walk(&self) -> Result<Vec<String>, Fault> {
        let mut files = Vec::new();
        let mut waiting = vec![self.root.clone()];
        while let Some(folder) = waiting.pop() {
            let doing = || format!("listing {}", folder.display());
            for entry in std::fs::read_dir(&folder).map_err(|error| Fault::new(doing(), error))? {
                let entry = entry.map_err(|error| Fault::new(doing(), error))?;
                let kind = entry.file_type().map_err(|error| Fault::new(doing(), error))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if kind.is_dir() && !MADE_BY_TOOLS.contains(&name.as_str()) {
                    waiting.push(entry.path());
                } else if kind.is_file() {
                    files.push(self.relative(&entry.path()));
                }
            }
        }
        Ok(files)
    }

    /// The path as seen from the root, with `/` between its parts.
    pub fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }

    /// The text of a file, or none when it is not text.
    pub fn text(&self, file: &str) -> Result<Option<String>, Fault> {
        let bytes = std::fs::read(self.root.join(file))
            .map_err(|error| Fault::new(format!("reading {file}"), error))?;
        Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
    }

    /// A TOML file as a table; none when it is not there.
    pub fn toml(&self, file: &str) -> Result<Option<toml::Table>, Fault> {
        if !self.root.join(file).is_file() {
            return Ok(None);
        }
        let text = self.text(file)?.unwrap_or_default();
        text.parse().map(Some).map_err(|error: toml::de::Error| Fault::new(format!("reading {file}"), error))
    }

    /// The packages of `cargo metadata` with these arguments.
    pub fn packages(&self, arguments: &[&str]) -> Result<Vec<Value>, Fault> {
        let bytes = outside::answer(
            outside::cargo(self).args(["metadata", "--format-version", "1"]).args(arguments),
        )?;
        let mut whole: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Fault::new("reading the answer of cargo metadata", error))?;
        match whole["packages"].take() {
            Value::Array(packages) => Ok(packages),
            _ => Err(Fault::new("reading the answer of cargo metadata", "it lists no packages")),
        }
    }
}

/// A project made of the given files in a fresh folder, for the tests of the rules.
#[cfg(test)]
pub fn made_of(name: &str, files: &[(&str, &str)]) -> Project {
    let root = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).expect("a fresh folder");
    for (file, text) in files {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    Project { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_and_tools_left_out() {
        let project =
            made_of("files", &[("b.md", ""), ("a/c.rs", ""), ("target/debug/x", ""), ("fuzz/corpus/y", "")]);
        assert_eq!(project.files().unwrap(), ["a/c.rs", "b.md"]);
        std::fs::remove_dir_all(&project.root).unwrap();
    }

    #[test]
    fn what_is_not_text_has_no_text() {
        let project = made_of("text", &[("nul", "a\0b"), ("plain", "a")]);
        assert_eq!(project.text("nul").unwrap(), None);
        assert_eq!(project.text("plain").unwrap(), Some("a".into()));
        assert!(project.text("absent").unwrap_err().to_string().contains("reading absent"));
        std::fs::remove_dir_all(&project.root).unwrap();
    }

    #[test]
    fn toml_is_absent_present_or_broken() {
        let project = made_of("toml", &[("good.toml", "a = 1"), ("bad.toml", "a =")]);
        assert!(project.toml("none.toml").unwrap().is_none());
        assert_eq!(project.toml("good.toml").unwrap().unwrap()["a"].as_integer(), Some(1));
        assert!(project.toml("bad.toml").is_err());
        std::fs::remove_dir_all(&project.root).unwrap();
    }
}
