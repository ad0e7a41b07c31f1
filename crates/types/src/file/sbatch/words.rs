//! A line as a shell would take it apart: blanks between words, quotes around blanks, a comment at the end.

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
        return Err("a quote is opened and not closed, expected the other one".into());
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
}
