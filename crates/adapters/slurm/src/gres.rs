//! Generic resources as Slurm writes them: `gpu:a100:4(S:0-1),gpu:v100:2(IDX:0,1)`.
//!
//! For: one line of text becomes counts by name and type.
//! Promises: what follows in parentheses is left out; an entry without a type keeps none; counts with K or M are read.
//! Never: takes an entry for a device that has no count it can read.

/// So many of one name and type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gres {
    /// `gpu`
    pub name: String,
    /// `a100`; empty when the site did not say.
    pub kind: String,
    /// How many.
    pub count: u32,
}

impl Gres {
    /// What the scheduler calls it: its type, or its name where it has none.
    pub fn kind(&self) -> &str {
        if self.kind.is_empty() { &self.name } else { &self.kind }
    }

    /// As it is asked for.
    pub fn request(&self) -> String {
        match self.kind.is_empty() {
            true => format!("{}:{}", self.name, self.count),
            false => format!("{}:{}:{}", self.name, self.kind, self.count),
        }
    }
}

/// All entries of a line, in its order.
pub fn parse(line: &str) -> Vec<Gres> {
    entries(line).into_iter().filter_map(entry).collect()
}

/// Commas inside parentheses do not part entries.
fn entries(line: &str) -> Vec<&str> {
    let (mut all, mut from, mut deep) = (vec![], 0, 0i32);
    for (at, letter) in line.char_indices() {
        match letter {
            '(' | '[' => deep += 1,
            ')' | ']' => deep -= 1,
            ',' if deep == 0 => {
                all.push(&line[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&line[from..]);
    all
}

fn entry(text: &str) -> Option<Gres> {
    let text = text.split('(').next()?.trim();
    let text = text.strip_prefix("gres/").or_else(|| text.strip_prefix("gres:")).unwrap_or(text);
    let mut words = text.split(':').filter(|word| *word != "no_consume");
    let (name, second, third) = (words.next()?, words.next(), words.next());
    if name.is_empty() || name == "null" {
        return None;
    }
    let (kind, count) = match (second, third) {
        (Some(kind), Some(count)) => (kind, number(count)?),
        (Some(count), None) => match number(count) {
            Some(count) => ("", count),
            None => (count, 1), // a type without a number
        },
        (None, _) => ("", 1),
    };
    Some(Gres { name: name.into(), kind: kind.into(), count })
}

fn number(text: &str) -> Option<u32> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 1 << 10),
        b'M' | b'm' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u32>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        parse(line).iter().map(Gres::request).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_form() {
        assert_eq!(read("gpu:a100:4"), "gpu:a100:4");
        assert_eq!(read("gpu:a100:4(S:0-1),gpu:v100:2(S:0,1)"), "gpu:a100:4 gpu:v100:2");
        assert_eq!(read("gpu:a100:1(IDX:1,3),fpga:0(IDX:N/A)"), "gpu:a100:1 fpga:0");
        assert_eq!(read("gpu:4"), "gpu:4");
        assert_eq!(read("gpu"), "gpu:1");
        assert_eq!(read("gres/gpu:mi300:2"), "gpu:mi300:2");
        assert_eq!(read("gpu:no_consume:2,bandwidth:lustre:4K"), "gpu:2 bandwidth:lustre:4096");
        assert_eq!(read(""), "");
        assert_eq!(read("(null)"), "");
        assert_eq!(read("gpu:a100"), "gpu:a100:1");
        assert_eq!(read("gpu:a100:many"), "");
    }

    #[test]
    fn the_type_names_the_kind() {
        assert_eq!(parse("gpu:a100:4")[0].kind(), "a100");
        assert_eq!(parse("gpu:4")[0].kind(), "gpu");
    }
}
