//! Links between the pages of the project.
//!
//! For: a reader who follows a link arrives somewhere.
//! Promises: every relative link in a Markdown file points to a file or folder of the project; links inside code are
//! left alone, since they are examples.
//! Never: asks the network, and never judges the part after `#`.

use crate::project::{Fault, Project};
use crate::run::Verdict;

/// A link as it stands in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

/// Follows the links of every Markdown file.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let mut findings = Vec::new();
    for page in project.files()?.into_iter().filter(|file| file.ends_with(".md")) {
        let text = project.text(&page)?.unwrap_or_default();
        for link in find(&text) {
            findings.extend(judge(project, &page, &link));
        }
    }
    Ok(Verdict::of(findings, Vec::new()))
}

fn judge(project: &Project, page: &str, link: &Link) -> Option<String> {
    let path = path_of(&link.target)?;
    let place = format!("{page}:{}: {}", link.line, link.target);
    match resolve(page, &path) {
        None => Some(format!("{place} points outside the project")),
        Some(file) if project.root.join(&file).exists() => None,
        Some(_) => Some(format!("{place} points to a file that does not exist")),
    }
}

/// The path in a link to a file of the project; none for a web address or a place on the same page.
fn path_of(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    // A scheme is letters before a colon: https, mailto and their kin.
    let scheme = path.split_once(':').is_some_and(|(word, _)| {
        word.len() > 1 && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    });
    let elsewhere = scheme || path.starts_with("//");
    (!elsewhere && !path.is_empty()).then(|| without_percent(path))
}

/// The path from the root; none when it climbs out of the project. A leading slash means the root.
fn resolve(page: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => page.split('/').collect(),
    };
    // The page itself is not a folder.
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Turns `%20` and the like back into what they stand for.
fn without_percent(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'%').then(|| after.get(..2)).flatten();
        let number = digits.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(number.unwrap_or(first));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Every link of a page: `[text](target)`, pictures, and `[name]: target`.
fn find(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    // The fence that is open, if one is: its letter and its length.
    let mut fence: Option<(char, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let here = fence_at(line);
        match (fence, here) {
            (Some((open, length)), Some((letter, count))) if letter == open && count >= length => {
                fence = None
            }
            (None, Some(opened)) => fence = Some(opened),
            (Some(_), _) => {}
            (None, None) => {
                let plain = without_code(line);
                let targets = inline_targets(&plain).into_iter().chain(definition(&plain));
                links.extend(targets.map(|target| Link { line: index + 1, target }));
            }
        }
    }
    links
}

fn fence_at(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let letter = line.chars().next().filter(|letter| ['`', '~'].contains(letter))?;
    let count = line.chars().take_while(|&other| other == letter).count();
    (count >= 3).then_some((letter, count))
}

/// The line without what stands between backticks. A backtick without a partner is text.
fn without_code(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let (before, from) = rest.split_at(start);
        plain.push_str(before);
        let ticks = from.len() - from.trim_start_matches('`').len();
        let (mark, after) = from.split_at(ticks);
        match after.find(mark) {
            Some(end) => rest = &after[end + ticks..],
            None => {
                plain.push_str(mark);
                rest = after;
            }
        }
    }
    plain + rest
}

fn inline_targets(line: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("](") {
        rest = &rest[start + 2..];
        let inside = match closing(rest) {
            Some(end) => &rest[..end],
            None => break,
        };
        targets.push(bare(inside));
    }
    targets
}

/// Where the parenthesis closes that was opened just before; those inside come in pairs.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (index, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' if open == 0 => return Some(index),
            ')' => open -= 1,
            _ => {}
        }
    }
    None
}

/// `[name]: target`, but not a footnote.
fn definition(line: &str) -> Option<String> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    (!name.starts_with('^') && !name.contains('[') && !target.trim().is_empty()).then(|| bare(target))
}

/// The target without its title and its angle brackets.
fn bare(inside: &str) -> String {
    let inside = inside.trim();
    match inside.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((target, _)) => target.to_owned(),
        None => inside.split_whitespace().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::made_of;

    fn targets(text: &str) -> Vec<String> {
        find(text).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn all_forms_are_found() {
        assert_eq!(targets("see [a](a.md) and ![b](img/b.png \"title\")"), ["a.md", "img/b.png"]);
        assert_eq!(targets("[c](<with space.md>) [d](x_(y).md)"), ["with space.md", "x_(y).md"]);
        assert_eq!(targets("[e]: docs/e.md\n[^1]: a note"), ["docs/e.md"]);
        assert_eq!(targets("[![badge](b.svg)](page.md)"), ["b.svg", "page.md"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(find("\n\n[a](b)"), [Link { line: 3, target: "b".into() }]);
    }

    #[test]
    fn code_is_left_alone() {
        assert!(targets("```\n[a](b)\n```").is_empty());
        assert!(targets("~~~~\n```\n[a](b)\n~~~~").is_empty());
        assert!(targets("an index `a[i](b)` and ``[c`](d)``").is_empty());
        assert_eq!(targets("```\n[a](b)\n```\n[c](d)"), ["d"]);
        assert_eq!(targets("one ` tick [a](b)"), ["b"]);
    }

    #[test]
    fn only_paths_are_followed() {
        for target in ["https://example.org/a", "mailto:a@example.org", "#below", "//example.org", ""] {
            assert_eq!(path_of(target), None, "{target}");
        }
        assert_eq!(path_of("a.md#part"), Some("a.md".into()));
        assert_eq!(path_of("a%20b.md"), Some("a b.md".into()));
        assert_eq!(path_of("100%.md"), Some("100%.md".into()));
    }

    #[test]
    fn paths_start_at_the_page_or_at_the_root() {
        assert_eq!(resolve("docs/book/a.md", "../b.md"), Some("docs/b.md".into()));
        assert_eq!(resolve("docs/a.md", "./b/c.md"), Some("docs/b/c.md".into()));
        assert_eq!(resolve("docs/a.md", "/b.md"), Some("b.md".into()));
        assert_eq!(resolve("README.md", "../b.md"), None);
    }

    #[test]
    fn broken_links_are_reported_and_whole_ones_are_not() {
        let page = "[a](docs/a.md)\n[b](docs/b.md)\n[c](docs)\n[d](../d.md)\n";
        let project = made_of("links", &[("README.md", page), ("docs/a.md", "[up](../README.md#top)")]);
        let expected = [
            "README.md:2: docs/b.md points to a file that does not exist",
            "README.md:4: ../d.md points outside the project",
        ];
        assert_eq!(look(&project).unwrap(), Verdict::Fail(expected.map(str::to_owned).to_vec()));
        std::fs::remove_dir_all(&project.root).unwrap();
    }
}
