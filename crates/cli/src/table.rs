//! A table that fits where it is shown.
//!
//! Columns have an importance; when the screen is too narrow, long text is shortened as far as it may be, then the
//! least important columns are left out and named below the table. If even the most important ones do not fit, all text
//! is shortened. Numbers stand to the right. The best value of a column is bold where styles are shown and carries a `*` elsewhere.

use crate::screen::{Screen, length, wrapped};
use anstyle::{AnsiColor, Style};
use consort_report::{Cell, Sheet};
use unicode_width::UnicodeWidthChar;

/// Between two columns.
const GAP: usize = 2;

/// A table.
#[derive(Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// A column and how to show it.
pub struct Column {
    title: &'static str,
    numbers: bool,
    /// 0 stays always; the higher, the sooner it is left out.
    spare: u8,
    /// To so few letters it is shortened before anything is left out; never when absent.
    least: Option<usize>,
    /// By row: whether it holds the best value.
    best: Vec<bool>,
}

/// Which value of a column is best.
#[derive(Clone, Copy)]
pub enum Best {
    Least,
    Most,
}

impl Table {
    /// Names and what is to be said about each, in as many lines as it takes on a screen of this width.
    pub fn pairs(titles: [&'static str; 2], width: usize, pairs: &[(&str, String)]) -> Self {
        let names = pairs.iter().map(|(name, _)| length(name)).max().unwrap_or(0);
        let (mut left, mut right) = (vec![], vec![]);
        for (name, about) in pairs {
            for (index, line) in
                wrapped(about, width.saturating_sub(names + GAP).max(16)).into_iter().enumerate()
            {
                left.push(if index == 0 { name.to_string() } else { String::new() });
                right.push(line);
            }
        }
        let mut table = Self::default();
        table.text(titles[0], 0, left);
        table.text(titles[1], 0, right);
        table
    }

    /// A column of text. `spare` 0 stays always; the higher, the sooner it is left out.
    pub fn text(&mut self, title: &'static str, spare: u8, cells: impl IntoIterator<Item = String>) {
        self.column(title, spare, false, cells);
    }

    /// A column of text that stays, and is shortened to so few letters before anything is left out.
    pub fn long_text(&mut self, title: &'static str, least: usize, cells: impl IntoIterator<Item = String>) {
        self.column(title, 0, false, cells);
        if let Some(column) = self.columns.last_mut() {
            column.least = Some(least);
        }
    }

    /// A column of numbers, already written.
    pub fn numbers(&mut self, title: &'static str, spare: u8, cells: impl IntoIterator<Item = String>) {
        self.column(title, spare, true, cells);
    }

    /// A column of numbers of which the best is marked. A column in which all are equal has no best.
    pub fn contest(
        &mut self,
        title: &'static str,
        spare: u8,
        best: Best,
        values: &[f64],
        show: impl Fn(f64) -> String,
    ) {
        let cells: Vec<String> = values.iter().map(|value| show(*value)).collect();
        let winner = match best {
            Best::Least => values.iter().copied().min_by(f64::total_cmp),
            Best::Most => values.iter().copied().max_by(f64::total_cmp),
        };
        let winner = winner.map(show).unwrap_or_default();
        self.numbers(title, spare, cells.iter().cloned());
        if let Some(column) = self.columns.last_mut()
            && cells.iter().any(|cell| *cell != winner)
        {
            // What looks equal is marked alike: a reader cannot see the difference.
            column.best = cells.iter().map(|cell| *cell == winner).collect();
        }
    }

    /// Whether any value is marked as the best.
    pub fn has_best(&self) -> bool {
        self.columns.iter().any(|column| !column.best.is_empty())
    }

    fn column(
        &mut self,
        title: &'static str,
        spare: u8,
        numbers: bool,
        cells: impl IntoIterator<Item = String>,
    ) {
        for (index, cell) in cells.into_iter().enumerate() {
            if self.rows.len() <= index {
                self.rows.push(vec![String::new(); self.columns.len()]);
            }
            self.rows[index].push(cell);
        }
        self.columns.push(Column { title, numbers, spare, least: None, best: vec![] });
        self.rows.iter_mut().for_each(|row| row.resize(self.columns.len(), String::new()));
    }

    /// For a screen.
    pub fn show(&self, screen: &Screen) -> String {
        let mut widths = self.widths(screen);
        let (shown, mut hidden) = self.choice(&widths, screen);
        // What may be shortened is, as far as it must be.
        let least = |column: usize| self.columns[column].least.unwrap_or(usize::MAX);
        while total(&shown, &widths) > screen.width {
            let longer = shown.iter().copied().filter(|&column| widths[column] > least(column));
            let Some(widest) = longer.max_by_key(|&column| widths[column]) else { break };
            widths[widest] -= 1;
        }
        // Still too wide: the widest text gives way, down to a few letters.
        let texts: Vec<usize> =
            shown.iter().copied().filter(|&column| !self.columns[column].numbers).collect();
        while total(&shown, &widths) > screen.width {
            let Some(&widest) = texts.iter().max_by_key(|&&column| widths[column]) else { break };
            if widths[widest] <= 8 {
                break;
            }
            widths[widest] -= 1;
        }
        let mut text = String::new();
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.to_string()).collect();
        if titles.iter().any(|title| !title.is_empty()) {
            text += &self.line(&shown, &widths, &titles, None, screen);
            text += &screen.dim(&"─".repeat(total(&shown, &widths).min(screen.width)));
            text.push('\n');
        }
        for (index, row) in self.rows.iter().enumerate() {
            text += &self.line(&shown, &widths, row, Some(index), screen);
        }
        if !hidden.is_empty() {
            hidden.sort_unstable();
            let names: Vec<&str> = hidden.iter().map(|&column| self.columns[column].title).collect();
            let remedy = if screen.is_terminal { "a wider window or --json shows" } else { "--json has" };
            let them = if names.len() == 1 { "it" } else { "them" };
            text += &screen.dim(&screen.prose(&format!("Left out: {}; {remedy} {them}.", names.join(", "))));
        }
        text
    }

    /// Whether there is a column of this title, and the screen has room for it.
    pub fn shows(&self, title: &str, screen: &Screen) -> bool {
        let (shown, _) = self.choice(&self.widths(screen), screen);
        shown.iter().any(|&column| self.columns[column].title == title)
    }

    fn widths(&self, screen: &Screen) -> Vec<usize> {
        (0..self.columns.len()).map(|column| self.width(column, !screen.colours)).collect()
    }

    /// The columns that a screen has room for, and those that are left out.
    fn choice(&self, widths: &[usize], screen: &Screen) -> (Vec<usize>, Vec<usize>) {
        let (mut shown, mut hidden): (Vec<usize>, Vec<usize>) = ((0..self.columns.len()).collect(), vec![]);
        let shortest =
            |(width, column): (&usize, &Column)| column.least.map_or(*width, |least| least.min(*width));
        let widths: Vec<usize> = widths.iter().zip(&self.columns).map(shortest).collect();
        while total(&shown, &widths) > screen.width {
            // The last of the least important: neighbours to the left usually carry more.
            let spare = |position: &usize| self.columns[shown[*position]].spare;
            let Some(position) = (0..shown.len()).max_by_key(|position| (spare(position), *position)) else {
                break;
            };
            if spare(&position) == 0 {
                break;
            }
            hidden.push(shown.remove(position));
        }
        (shown, hidden)
    }

    /// With every column, for a file.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.columns.iter().map(|column| column.title.to_string()).collect());
        text += &line(
            self.columns.iter().map(|column| if column.numbers { "---:" } else { "---" }.into()).collect(),
        );
        for (index, row) in self.rows.iter().enumerate() {
            let cell = |(column, cell): (&Column, &String)| {
                let cell = cell.replace('|', "\\|");
                if column.is_best(index) { format!("**{cell}**") } else { cell }
            };
            text += &line(self.columns.iter().zip(row).map(cell).collect());
        }
        text
    }

    /// With every column, for a page.
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::titled(self.columns.iter().map(|column| column.title));
        for (index, row) in self.rows.iter().enumerate() {
            let cell = |(column, text): (&Column, &String)| Cell {
                text: text.clone(),
                number: column.numbers,
                best: column.is_best(index),
            };
            sheet.rows.push(self.columns.iter().zip(row).map(cell).collect());
        }
        sheet
    }

    fn width(&self, column: usize, stars: bool) -> usize {
        let cells = self.rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
        // Digits stay below each other, so every cell of a column with stars has room for one.
        let star = usize::from(stars && !self.columns[column].best.is_empty());
        length(self.columns[column].title).max(cells + star)
    }

    fn line(
        &self,
        shown: &[usize],
        widths: &[usize],
        cells: &[String],
        row: Option<usize>,
        screen: &Screen,
    ) -> String {
        let mut text = String::new();
        for (position, &index) in shown.iter().enumerate() {
            let column = &self.columns[index];
            let mut cell = shortened(&cells[index], widths[index]);
            let best = row.is_some_and(|row| column.is_best(row));
            if !screen.colours && !column.best.is_empty() && row.is_some() {
                cell.push(if best { '*' } else { ' ' });
            }
            let padding = " ".repeat(widths[index].saturating_sub(length(&cell)));
            if best && screen.colours {
                cell = screen.styled(AnsiColor::Green.on_default().bold(), &cell);
            } else if row.is_none() {
                cell = screen.styled(Style::new().bold(), &cell);
            }
            text += &" ".repeat(if position == 0 { 0 } else { GAP });
            text += &if column.numbers { padding + &cell } else { cell + &padding };
        }
        text.truncate(text.trim_end_matches(' ').len());
        text + "\n"
    }
}

impl Column {
    fn is_best(&self, row: usize) -> bool {
        self.best.get(row).copied().unwrap_or(false)
    }
}

/// How wide these columns are together.
fn total(shown: &[usize], widths: &[usize]) -> usize {
    shown.iter().map(|&column| widths[column]).sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

fn shortened(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.into();
    }
    let mut room = width.saturating_sub(1);
    let fits = |letter: &char| {
        let left = room.checked_sub(letter.width().unwrap_or(0));
        room = left.unwrap_or(room);
        left.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        table.text("policy", 0, ["fifo".into(), "shortest".into()]);
        table.contest("avg JCT", 1, Best::Least, &[20.0, 9.0], |value| format!("{value}s"));
        table.contest("alike", 3, Best::Most, &[1.0, 1.0], |value| value.to_string());
        table.numbers("plans", 2, ["1".into(), "1,000".into()]);
        table
    }

    fn piped(width: usize) -> Screen {
        Screen { width, colours: false, is_terminal: false }
    }

    #[test]
    fn numbers_stand_to_the_right_and_the_best_has_a_star() {
        let shown = table().show(&piped(120));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "policy    avg JCT  alike  plans");
        assert_eq!(lines[2], "fifo         20s       1      1");
        assert_eq!(lines[3], "shortest      9s*      1  1,000");
    }

    #[test]
    fn a_narrow_screen_loses_the_least_important_column_first_and_says_so() {
        let shown = table().show(&piped(26));
        assert!(shown.starts_with("policy    avg JCT  plans\n"), "{shown}");
        assert!(shown.replace('\n', " ").contains("Left out: alike; --json has it."), "{shown}");
        let shown = table().show(&piped(12));
        assert!(shown.starts_with("policy\n"), "{shown}");
        assert!(shown.replace('\n', " ").contains("alike, plans; --json has them."), "{shown}");
    }

    #[test]
    fn long_text_is_shortened_when_nothing_else_can_go() {
        let mut table = Table::default();
        table.text("about", 0, ["a long sentence about something".into()]);
        assert_eq!(table.show(&piped(10)).lines().last(), Some("a long se…"));
    }

    #[test]
    fn long_text_is_shortened_before_a_column_is_left_out() {
        let mut table = Table::default();
        table.long_text("name", 8, ["a name that somebody made long".into()]);
        table.numbers("exit", 5, ["137".into()]);
        table.long_text("reason", 8, ["a long sentence about something".into()]);
        let shown = table.show(&piped(40));
        assert_eq!(shown.lines().last(), Some("a name that som…   137  a long sentence…"));
        assert!(table.show(&piped(20)).contains("Left out: exit"));
        assert!(table.show(&piped(usize::MAX)).contains("a long sentence about something"));
    }

    #[test]
    fn wide_letters_take_two_places() {
        let mut table = Table::default();
        table.text("name", 0, ["日本語".into(), "abc".into()]);
        table.text("state", 0, ["runs".into(), "waits".into()]);
        let shown = table.show(&piped(80));
        assert!(shown.ends_with("日本語  runs\nabc     waits\n"), "{shown}");
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(shortened("日本語", 6), "日本語");
    }

    #[test]
    fn styles_replace_stars() {
        let screen = Screen { width: 80, colours: true, is_terminal: true };
        let shown = table().show(&screen);
        assert!(shown.contains("\u{1b}[1m") && !shown.contains('*'), "{shown:?}");
    }

    #[test]
    fn markdown_has_every_column() {
        let text = table().markdown();
        assert!(text.starts_with("| policy | avg JCT | alike | plans |\n| --- | ---: | ---: | ---: |\n"));
        assert!(text.contains("| shortest | **9s** | 1 | 1,000 |"), "{text}");
    }
}
