//! How every plan is shown: text, JSON or a picture, always with its bound and what was assumed.

use crate::failure::Failure;
use crate::files;
use crate::screen::{Screen, print, print_json};
use consort_parallel::Answer;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What every plan can be asked for.
#[derive(clap::Args)]
pub struct Shown {
    /// Also draw the plan to this SVG file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What scripts get of every plan.
#[derive(Serialize)]
struct Told<'a, P> {
    planner: &'a str,
    #[serde(flatten)]
    answer: &'a Answer<P>,
    gap_pct: f64,
}

impl Shown {
    /// Before the work: whether there is a place for the picture.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(path) = &self.picture else { return Ok(()) };
        // Whoever names the wrong file by a slip of the pen would lose it.
        if path.extension().is_none_or(|end| !end.eq_ignore_ascii_case("svg")) {
            return Err(Failure::request(
                format_args!("{}: pictures are SVG", path.display()),
                "name a file that ends in .svg",
            ));
        }
        files::folder_of(path)
    }

    /// Shows an answer: `text` is the plan for people, `picture` draws it.
    pub fn show<P: Serialize>(
        &self,
        planner: &str,
        answer: &Answer<P>,
        text: impl FnOnce(&Screen) -> String,
        picture: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.picture {
            files::replace(path, picture().as_bytes())?;
        }
        if self.json {
            return print_json(&Told { planner, answer, gap_pct: 100.0 * answer.gap() });
        }
        let screen = Screen::here();
        let mut shown = text(&screen);
        for sentence in &answer.assumed {
            shown += &format!("assumed   {sentence}\n");
        }
        if let Some(path) = &self.picture {
            shown += &format!("picture   {}\n", path.display());
        }
        print(&shown)
    }
}

/// A file as text, whatever it is; what is wrong with the path is said in words of our own.
pub fn read(path: &Path) -> Result<String, Failure> {
    crate::inputs::readable(path)?;
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => {
            Failure::request(format_args!("{}: is not text", path.display()), "name a text file")
        }
        _ => Failure::file(path, "read", &error),
    })
}
