//! The record of instructions, and what callgrind writes.
//!
//! For: one small file that a person can read and a difference of which says something.
//! Promises: what is written is read back the same; a part without a figure, or a figure without a part, is an error.
//! Never: judges; that is `counts`.

/// Which compiler, on which kind of machine, and what it came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    pub rustc: String,
    pub host: String,
    pub parts: Vec<Part>,
}

/// One part of the benchmark.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// All of them together.
    pub instructions: u64,
    /// How often the part did its work: jobs, pairs, answers, decisions. Never 0.
    pub times: u64,
}

const HEAD: &str = "\
# Instructions that the parts of `plan-scale` take at 1,000 nodes of 8 devices, counted by callgrind. CI says when one grows
# by more than 5 %. Written by `cargo xtask counts --bless`.
#
# queue: submit, fill the cluster, let 5,000 wait (a job)    reason: why a job waits (an answer)
# pairs: a completion and an arrival, with their plans       clone, recover: a copy; a snapshot, written and read
# never: refuse what can never fit (an answer)               cold: one plan that remembers nothing
# fill: one plan for an empty cluster (a decision)
";

impl Part {
    /// Instructions for doing it once, rounded down.
    pub fn each(&self) -> u64 {
        self.instructions / self.times
    }
}

impl Record {
    /// The part of that name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    pub fn read(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let text_of = |table: &toml::Table, name: &str| {
            let value = table.get(name).and_then(toml::Value::as_str);
            value.map(str::to_owned).ok_or(format!("`{name}` is not there, or is no text"))
        };
        let number_of = |table: &toml::Table, name: &str| {
            let value =
                table.get(name).and_then(toml::Value::as_integer).and_then(|value| value.try_into().ok());
            value
                .filter(|&value: &u64| value > 0)
                .ok_or(format!("`{name}` is not there, or is no number above 0"))
        };
        let rows = table.get("parts").and_then(toml::Value::as_array).ok_or("there are no `parts`")?;
        let part = |row: &toml::Value| {
            let row = row.as_table().ok_or("a part is no table")?;
            let (instructions, times) = (number_of(row, "instructions")?, number_of(row, "times")?);
            Ok(Part { name: text_of(row, "name")?, instructions, times })
        };
        let parts = rows.iter().map(part).collect::<Result<_, String>>()?;
        Ok(Record { rustc: text_of(&table, "rustc")?, host: text_of(&table, "host")?, parts })
    }

    pub fn write(&self) -> String {
        let row = |part: &Part| {
            let (name, each) = (format!("\"{}\",", part.name), grouped(part.each()));
            let (instructions, times) = (grouped(part.instructions), grouped(part.times));
            format!(
                "    {{ name = {name:<10} instructions = {instructions:>13}, times = {times:>5} }}, # {each:>11} each\n"
            )
        };
        let rows: String = self.parts.iter().map(row).collect();
        format!("{HEAD}rustc = \"{}\"\nhost = \"{}\"\nparts = [\n{rows}]\n", self.rustc, self.host)
    }
}

/// A number that can be read: 1_234_567, as Rust and TOML write it.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (head, tail) = digits.split_at((digits.len() - 1) % 3 + 1);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group));
    groups.fold(head.to_owned(), |text, group| text + "_" + &group)
}

/// Puts together what the program said (a line for each part) and what callgrind wrote (a dump for each part).
pub fn parts(said: &str, dumps: &str) -> Result<Vec<Part>, String> {
    // The last dump is of the end of the program.
    let dumps =
        dumps.split("\npart: ").skip(1).filter(|dump| dump.contains("\ndesc: Trigger: --dump-before="));
    let total = |dump: &str| dump.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    let totals: Vec<u64> = dumps.filter_map(total).collect();
    let lines: Vec<&str> = said.lines().collect();
    if lines.is_empty() || lines.len() != totals.len() {
        return Err(format!("{} parts were run and {} were counted", lines.len(), totals.len()));
    }
    let part = |(line, &instructions): (&&str, &u64)| {
        let (name, times) = line.split_once(' ')?;
        let times = times.parse().ok().filter(|&times| times > 0)?;
        (instructions > 0).then(|| Part { name: name.into(), instructions, times })
    };
    let found = lines.iter().zip(&totals);
    found.map(|pair| part(pair).ok_or(format!("nothing was counted for `{}`", pair.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, instructions: u64, times: u64) -> Part {
        Part { name: name.into(), instructions, times }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(grouped), ["0", "12", "999", "1_000", "1_234_567"]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let parts = vec![part("pairs", 1_313_027_046, 1000), part("cold", 11_090_819, 1)];
        let record = Record { rustc: "1.95.0".into(), host: "x86_64-unknown-linux-gnu".into(), parts };
        assert_eq!(Record::read(&record.write()), Ok(record));
    }

    #[test]
    fn a_broken_record_is_told() {
        for text in [
            "",
            "parts = 1",
            "rustc = 'a'\nhost = 'b'\nparts = [{ name = 'c', instructions = 0, times = 1 }]",
        ] {
            assert!(Record::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_and_dumps_come_in_the_same_order() {
        let dump = |number: u64, trigger: &str| {
            format!(
                "\npart: {number}\n\ndesc: Trigger: {trigger}\nsummary: 7\n0 3\n\ntotals: {}\n",
                number * 100
            )
        };
        let over = "--dump-before=counts::over";
        let dumps =
            ["version: 1\n", &dump(1, over), &dump(2, over), &dump(3, "Program termination")].concat();
        assert_eq!(
            parts("queue 5\npairs 2\n", &dumps),
            Ok(vec![part("queue", 100, 5), part("pairs", 200, 2)])
        );
        assert!(parts("queue 5\n", &dumps).is_err());
        assert!(parts("queue 5\npairs 0\n", &dumps).is_err());
        assert!(parts("", "").is_err());
    }
}
