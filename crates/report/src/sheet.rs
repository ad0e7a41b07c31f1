//! Tables of the page.

use crate::markup::escape;

/// A table: titles, then rows. The first column names the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// What the columns are called.
    pub titles: Vec<String>,
    /// Their cells.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// A number stands to the right.
    pub number: bool,
    /// The best of its column.
    pub best: bool,
}

impl Cell {
    /// Some words.
    pub fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number, already written.
    pub fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: true, best: false }
    }
}

impl Sheet {
    /// Titles and no rows yet.
    pub fn titled<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        Self { titles: titles.into_iter().map(Into::into).collect(), rows: vec![] }
    }

    /// As markup, in a box of its own that scrolls when it is too wide.
    pub(crate) fn html(&self, caption: &str) -> String {
        let mut text = format!(
            "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table><caption>{caption}</caption>",
            caption = escape(caption)
        );
        if self.titles.iter().any(|title| !title.is_empty()) {
            text += "<thead><tr>";
            let numbers =
                |column: usize| self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.number));
            for (column, title) in self.titles.iter().enumerate() {
                let class = if numbers(column) { " class=\"n\"" } else { "" };
                text += &format!("<th scope=\"col\"{class}>{}</th>", escape(title));
            }
            text += "</tr></thead>";
        }
        text += "<tbody>";
        for row in &self.rows {
            text += "<tr>";
            for (column, cell) in row.iter().enumerate() {
                text += &cell.html(column == 0);
            }
            text += "</tr>\n";
        }
        text + "</tbody></table></div>\n"
    }
}

impl Cell {
    fn html(&self, names_the_row: bool) -> String {
        let text = escape(&self.text);
        match (names_the_row, self.number, self.best) {
            (true, ..) => format!("<th scope=\"row\">{text}</th>"),
            (_, _, true) => format!("<td class=\"n best\"><b>{text}</b></td>"),
            (_, true, _) => format!("<td class=\"n\">{text}</td>"),
            _ => format!("<td>{text}</td>"),
        }
    }
}
