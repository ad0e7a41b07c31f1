//! A line as a shell would take it apart: blanks between words, quotes around blanks, a comment at the end.

/// Whether a script calls a program, as far as one can see without running it: its name stands where a word of a command
/// does, and not in a comment.
pub(super) fn calls(script: &str, program: &str) -> bool {
    let commands = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    let is_between = |letter: char| letter.is_whitespace() || ";|&(){}`\"'".contains(letter);
    commands
        .flat_map(|line| line.split(is_between).take_while(|word| !word.starts_with('#')))
        .any(|word| word.rsplit('/').next() == Some(program))
}

/// The words of a line, or what is wrong with it.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (mark, Some(open)) if mark == open => quote = None,
            (letter, Some('\'')) => word.get_or_insert_default().push(letter),
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("missing closing quote".into());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let words = split(r#" -J "my job" --comment='a # b' x\ y ""  # the rest"#).unwrap();
        assert_eq!(words, ["-J", "my job", "--comment=a # b", "x y", ""]);
        assert!(split("-J 'open").is_err());
    }

    #[test]
    fn a_call_is_seen_where_a_command_may_stand() {
        for script in ["srun x", "  time srun -n 4 x", "a && srun x", "out=$(srun x)", "/usr/bin/srun x"] {
            assert!(calls(script, "srun"), "{script}");
        }
        for script in ["# srun x", "x # or srun x", "srunner x", "SRUN=1 x", "x --srun"] {
            assert!(!calls(script, "srun"), "{script}");
        }
    }
}
