//! Licence expressions as SPDX writes them.
//!
//! For: telling whether `(MIT OR Apache-2.0) AND Unicode-3.0` is covered by a list of licences.
//! Promises: `WITH` binds tighter than `AND`, and `AND` tighter than `OR`; the old `MIT/Apache-2.0` of early crates
//! reads as `OR`; identifiers compare without regard to case.
//! Never: knows which licences exist: an unknown identifier is simply one that no list allows.

use std::fmt;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// One licence.
    Licence(Licence),
    /// Either side will do.
    Either(Box<Expression>, Box<Expression>),
    /// Both sides hold.
    Both(Box<Expression>, Box<Expression>),
}

/// One licence, as stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Licence {
    id: String,
    /// Written with a `+`: this version or a later one, at our choice.
    or_later: bool,
    exception: Option<String>,
}

impl fmt::Display for Licence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.id, if self.or_later { "+" } else { "" })?;
        self.exception.iter().try_for_each(|exception| write!(f, " WITH {exception}"))
    }
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text stops where a licence should follow.
    EndsEarly,
    /// This word stands where something else should.
    Unexpected(String),
    /// A parenthesis stays open.
    NotClosed,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndsEarly => write!(f, "it ends where a licence should follow"),
            Self::Unexpected(word) => write!(f, "`{word}` is not expected there"),
            Self::NotClosed => write!(f, "a parenthesis is not closed"),
        }
    }
}

impl Expression {
    /// Reads the whole text.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let words = words(text);
        let mut reader = Reader { words: &words };
        let expression = reader.either()?;
        match reader.words.first() {
            None => Ok(expression),
            Some(word) => Err(Problem::Unexpected(word.clone())),
        }
    }

    /// Whether the licences in the list are enough.
    pub fn is_allowed(&self, list: &[String]) -> bool {
        match self {
            Self::Licence(licence) => licence.is_in(list),
            Self::Either(left, right) => left.is_allowed(list) || right.is_allowed(list),
            Self::Both(left, right) => left.is_allowed(list) && right.is_allowed(list),
        }
    }

    /// The licences that stand in the way; empty when the expression is allowed.
    pub fn refused(&self, list: &[String]) -> Vec<String> {
        match self {
            _ if self.is_allowed(list) => Vec::new(),
            Self::Licence(licence) => vec![licence.to_string()],
            Self::Either(left, right) | Self::Both(left, right) => {
                [left.refused(list), right.refused(list)].concat()
            }
        }
    }
}

impl Licence {
    /// "Or later" is a choice that includes the version named, so the plain entry of the list covers it.
    fn is_in(&self, list: &[String]) -> bool {
        let plain = Self { or_later: false, ..self.clone() }.to_string();
        list.iter()
            .any(|entry| entry.eq_ignore_ascii_case(&plain) || entry.eq_ignore_ascii_case(&self.to_string()))
    }
}

/// Parentheses and slashes are words of their own.
fn words(text: &str) -> Vec<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Reads from the front; one function for each level of binding, the loosest first.
struct Reader<'a> {
    words: &'a [String],
}

impl Reader<'_> {
    fn either(&mut self) -> Result<Expression, Problem> {
        let mut left = self.both()?;
        while self.take("OR") {
            left = Expression::Either(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, Problem> {
        let mut left = self.one()?;
        while self.take("AND") {
            left = Expression::Both(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Expression, Problem> {
        if self.take("(") {
            let inside = self.either()?;
            return if self.take(")") { Ok(inside) } else { Err(Problem::NotClosed) };
        }
        let word = self.identifier()?;
        let (id, or_later) = word.strip_suffix('+').map_or((word.as_str(), false), |id| (id, true));
        let id = id.to_owned();
        let exception = if self.take("WITH") { Some(self.identifier()?) } else { None };
        Ok(Expression::Licence(Licence { id, or_later, exception }))
    }

    fn take(&mut self, expected: &str) -> bool {
        match self.words.split_first() {
            Some((word, rest)) if word.eq_ignore_ascii_case(expected) => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }

    fn identifier(&mut self) -> Result<String, Problem> {
        let (word, rest) = self.words.split_first().ok_or(Problem::EndsEarly)?;
        if ["AND", "OR", "WITH", "(", ")", "+"].iter().any(|own| word.eq_ignore_ascii_case(own)) {
            return Err(Problem::Unexpected(word.clone()));
        }
        self.words = rest;
        Ok(word.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str, list: &[&str]) -> bool {
        let list: Vec<String> = list.iter().map(|&entry| entry.to_owned()).collect();
        Expression::parse(text).expect(text).is_allowed(&list)
    }

    #[test]
    fn one_licence_is_in_the_list_or_not() {
        assert!(allowed("MIT", &["MIT"]));
        assert!(allowed("mit", &["MIT"]));
        assert!(!allowed("MIT", &["MIT-0"]));
        assert!(!allowed("MIT", &[]));
    }

    #[test]
    fn or_needs_one_and_needs_both() {
        assert!(allowed("MIT OR GPL-3.0-only", &["MIT"]));
        assert!(allowed("GPL-3.0-only OR MIT", &["MIT"]));
        assert!(!allowed("MIT AND GPL-3.0-only", &["MIT"]));
        assert!(allowed("MIT AND ISC", &["MIT", "ISC"]));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        // (GPL and MIT) or ISC, and not GPL and (MIT or ISC).
        assert!(allowed("GPL-3.0-only AND MIT OR ISC", &["ISC"]));
        assert!(allowed("ISC OR MIT AND GPL-3.0-only", &["ISC"]));
        assert!(!allowed("GPL-3.0-only AND (MIT OR ISC)", &["ISC"]));
        assert!(!allowed("(ISC OR MIT) AND GPL-3.0-only", &["ISC"]));
    }

    #[test]
    fn parentheses_nest() {
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &["Apache-2.0", "Unicode-3.0"]));
        assert!(!allowed("((MIT) OR (Apache-2.0)) AND Unicode-3.0", &["Apache-2.0"]));
    }

    #[test]
    fn an_exception_must_be_listed_with_its_licence() {
        assert!(!allowed("Apache-2.0 WITH LLVM-exception", &["Apache-2.0"]));
        assert!(allowed("Apache-2.0 WITH LLVM-exception", &["Apache-2.0 WITH LLVM-exception"]));
        assert!(!allowed("Apache-2.0", &["Apache-2.0 WITH LLVM-exception"]));
        assert!(allowed("Apache-2.0 WITH LLVM-exception OR MIT", &["MIT"]));
        assert!(!allowed("Apache-2.0 WITH LLVM-exception AND MIT", &["MIT", "Apache-2.0"]));
    }

    #[test]
    fn a_slash_reads_as_or() {
        assert!(allowed("MIT/Apache-2.0", &["Apache-2.0"]));
        assert!(allowed("Unlicense / GPL-3.0-only", &["Unlicense"]));
    }

    #[test]
    fn or_later_includes_the_version_named() {
        assert!(allowed("Apache-2.0+", &["Apache-2.0"]));
        assert!(allowed("Apache-2.0+", &["Apache-2.0+"]));
        assert!(!allowed("Apache-2.0", &["Apache-2.0+"]));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let problem = |text| Expression::parse(text).expect_err(text);
        assert_eq!(problem(""), Problem::EndsEarly);
        assert_eq!(problem("MIT OR"), Problem::EndsEarly);
        assert_eq!(problem("MIT ISC"), Problem::Unexpected("ISC".into()));
        assert_eq!(problem("AND MIT"), Problem::Unexpected("AND".into()));
        assert_eq!(problem("(MIT OR ISC"), Problem::NotClosed);
        assert_eq!(problem("MIT)"), Problem::Unexpected(")".into()));
        assert_eq!(problem("MIT WITH"), Problem::EndsEarly);
    }

    #[test]
    fn refused_names_what_stands_in_the_way() {
        let list = ["MIT".to_owned()];
        let refused = |text| Expression::parse(text).expect(text).refused(&list);
        assert_eq!(
            refused("MIT AND GPL-3.0-only WITH Classpath-exception-2.0"),
            ["GPL-3.0-only WITH Classpath-exception-2.0"]
        );
        assert_eq!(refused("GPL-2.0+ OR ISC"), ["GPL-2.0+", "ISC"]);
        assert!(refused("GPL-2.0+ OR MIT").is_empty());
    }
}
