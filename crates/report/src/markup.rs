//! Where text becomes markup. Everything that somebody else named passes through here.

/// Text that may stand between tags and inside quoted attributes. What no browser may show is left out.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            // These turn the direction of everything that follows, and so can make a text say something else.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            letter if letter.is_control() => {}
            letter => safe.push(letter),
        }
    }
    safe
}

/// As much of a text as fits into so many letters, with an ellipsis where something is missing.
pub fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.into();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_named_becomes_markup() {
        assert_eq!(
            escape("<script>alert('1' & \"2\")</script>\n\u{0}\u{202e}x"),
            "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt; x"
        );
        assert_eq!(escape("größer ✓"), "größer ✓");
    }

    #[test]
    fn what_is_too_long_is_cut_between_letters() {
        assert_eq!([shortened("añb", 3), shortened("añbc", 3), shortened("abc", 1)], ["añb", "añ…", "…"]);
    }
}
