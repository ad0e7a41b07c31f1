//! Phrases that users must not read again.
//!
//! For: messages, help and documents in the terms of the field, which people search for.
//! Promises: none of [`PHRASES`] stands in a page for users, in a text of a program or in its help.
//! Never: looks at tests, at assertions (`expect`, `assert!`, `panic!`) or at comments that are not help.

/// What must not come back, and what says it better.
const PHRASES: &[(&str, &str)] = &[
    ("whoever", "name who: the user, the client, the job"),
    ("somebody", "name who: the user, the client, the job"),
    ("nobody", "say what is missing, or `no job`, `no user`"),
    ("everybody", "name who: all jobs, all tenants"),
    ("anybody", "name who: any user, any process"),
    ("whom", "name who"),
    ("so many", "`N`, `this number of`"),
    ("the same again", "say what is repeated"),
    ("means nothing here", "`unexpected argument`"),
    ("is no field of", "`unknown field`"),
    ("unless told otherwise", "`by default`"),
    ("take back", "`preempt`"),
    ("takes back", "`preempts`"),
    ("taken back", "`preempted`"),
    ("fell ill", "`became unhealthy`"),
    ("falls ill", "`becomes unhealthy`"),
    ("gets well", "`becomes healthy`"),
    ("there is no such", "`no such` or `unknown`"),
];

/// Pages that users read. Decisions are about the past, and the changelog tells it.
pub fn is_page(file: &str) -> bool {
    file == "README.md"
        || file.starts_with("docs/") && file.ends_with(".md") && !file.starts_with("docs/decisions/")
}

/// Sources whose texts users read.
pub fn is_source(file: &str) -> bool {
    const PARTS: &[&str] = &["/tests", "/examples/", "/benches/", "/swarm", "/fixture/", "/fake-nvml/"];
    const ROOMS: &[&str] = &["contract", "xtask"];
    file.ends_with(".rs")
        && file.contains("/src/")
        && !PARTS.iter().any(|part| file.contains(part))
        && file.strip_prefix("crates/").is_some_and(|rest| !ROOMS.iter().any(|room| rest.starts_with(room)))
}

/// Findings in a page: line and sentence.
pub fn in_page(text: &str) -> Vec<(usize, String)> {
    text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, found(line)?))).collect()
}

/// Findings in a source. `has_help`: comments before fields are the help of a command.
pub fn in_source(text: &str, has_help: bool) -> Vec<(usize, String)> {
    // Tests stand at the end.
    let text = &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())];
    let help = text.lines().enumerate().filter(|(_, line)| has_help && line.trim_start().starts_with("///"));
    let mut findings: Vec<(usize, String)> =
        help.filter_map(|(index, line)| Some((index + 1, found(line)?))).collect();
    findings.extend(literals(text).into_iter().filter_map(|(line, text)| Some((line, found(text)?))));
    findings
}

/// The first of the phrases, as whole words in any case.
fn found(text: &str) -> Option<String> {
    let low = text.to_lowercase();
    let is_whole = |start: usize, end: usize| {
        let before = low[..start].chars().next_back();
        let after = low[end..].chars().next();
        ![before, after].into_iter().flatten().any(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let (phrase, better) = PHRASES.iter().find(|(phrase, _)| {
        low.match_indices(phrase).any(|(start, phrase)| is_whole(start, start + phrase.len()))
    })?;
    Some(format!("`{phrase}` in a text for users; {better}"))
}

/// The string literals of a source with the lines where they begin, less those of assertions.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (vec![], 0);
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
            }
            // A character; a lifetime has no second quote so near.
            b'\'' => {
                let rest = &text[at + 1..];
                let first = rest.chars().next().map_or(0, char::len_utf8);
                let length = if rest.starts_with('\\') {
                    rest.get(2..).and_then(|rest| rest.find('\'')).map(|length| length + 2)
                } else {
                    rest[first..].starts_with('\'').then_some(first)
                };
                at += length.map_or(1, |length| length + 2);
            }
            b'"' => {
                let hashes = bytes[..at].iter().rev().take_while(|&&byte| byte == b'#').count();
                let is_raw = bytes[..at - hashes].ends_with(b"r");
                let start = at + 1;
                let end = if is_raw { raw_end(text, start, hashes) } else { end(bytes, start) };
                if !is_asserted(&text[..at]) {
                    found.push((text[..at].matches('\n').count() + 1, &text[start..end]));
                }
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    found
}

fn raw_end(text: &str, start: usize, hashes: usize) -> usize {
    let close = format!("\"{}", "#".repeat(hashes));
    text[start..].find(&close).map_or(text.len(), |length| start + length)
}

fn end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Whether the text before a literal ends in the call of an assertion: what it says is for developers.
fn is_asserted(before: &str) -> bool {
    let statement = before.rfind([';', '{', '}']).map_or(before, |start| &before[start..]);
    ["expect(", "assert!(", "assert_eq!(", "panic!(", "unreachable!("]
        .iter()
        .any(|call| statement.contains(call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_phrases_are_found_in_any_case() {
        for text in ["Whoever waits", "for so many jobs", "a device falls ill.", "`x` means nothing here"] {
            assert!(found(text).is_some(), "{text}");
        }
        for text in ["whomever", "no job waits", "also many", "nobody_known"] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn texts_of_a_program_are_looked_at_and_nothing_else() {
        let source = concat!(
            "// somebody\n/// somebody\nfn f<'a>(x: &'a str) -> char {\n",
            "    let first = '\"'; // whoever\n    say(\"fine\");\n",
            "    found.expect(\"somebody is there\");\n    say(\"nobody is there\");\n",
            "    say(r#\"and \"so many\" more\"#);\n    '\\''\n}\n",
            "#[cfg(test)]\nmod tests {\n    const A: &str = \"nobody\";\n}\n"
        );
        let lines = |has_help| in_source(source, has_help).iter().map(|(line, _)| *line).collect::<Vec<_>>();
        assert_eq!(lines(false), [7, 8]);
        assert_eq!(lines(true), [2, 7, 8]);
    }

    #[test]
    fn pages_and_sources_are_told_from_the_rest() {
        assert!(is_page("README.md") && is_page("docs/book/slurm.md"));
        assert!(!is_page("docs/decisions/0001-a.md") && !is_page("CHANGELOG.md"));
        assert!(is_source("crates/cli/src/main.rs") && is_source("crates/adapters/slurm/src/ended.rs"));
        for other in [
            "crates/cli/tests/a.rs",
            "crates/sim/src/swarm.rs",
            "xtask/src/main.rs",
            "crates/a/src/b/tests.rs",
        ] {
            assert!(!is_source(other), "{other}");
        }
    }
}
