//! The same for Slurm hands: `sbatch`, `squeue`, `scancel` and `sinfo` with the options people type most.
//!
//! A partition is a queue, an account or a user is a tenant. Columns and codes are Slurm's, so that scripts that read
//! them go on working; what has no counterpart is refused, never ignored.

pub mod sbatch;
pub mod scancel;
pub mod sinfo;
pub mod squeue;

/// Lines as Slurm prints them: columns of fixed width, cut when too long.
fn row(cells: &[(&str, i32)]) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().enumerate() {
        let cell: String = cell.chars().filter(|letter| !letter.is_control()).collect();
        let size = width.unsigned_abs() as usize;
        let cut: String = if *width == 0 { cell } else { cell.chars().take(size).collect() };
        line += &if *width < 0 { format!("{cut:<size$}") } else { format!("{cut:>size$}") };
        if index + 1 < cells.len() {
            line.push(' ');
        }
    }
    line.trim_end().to_string() + "\n"
}
