//! How the page is put together, from top to bottom.

mod sections;

use crate::Page;
use crate::markup::escape;

/// Colours and shapes first: they are shared with pictures that stand alone.
const STYLE: &str = concat!(include_str!("tones.css"), include_str!("page/style.css"));

/// No script, no network, nothing from elsewhere: a browser holds the page to it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page, whole.
pub fn html(page: &Page<'_>) -> String {
    let title = escape(&page.title);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><p class=\"mark\">Consort</p><h1>{title}</h1>\n{}</header>\n",
        facts(&page.facts, &page.again)
    );
    for section in sections::all(page) {
        text += &section;
    }
    text + "</main>\n</body>\n</html>\n"
}

/// Names and what is to be said of each, and a command below them.
fn facts(facts: &[(String, String)], command: &str) -> String {
    let mut text = String::from("<dl class=\"facts\">\n");
    for (name, what) in facts {
        text += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(what));
    }
    if !command.is_empty() {
        let command = escape(command);
        text += &format!("<div class=\"again\"><dt>repeat with</dt><dd><code>{command}</code></dd></div>\n");
    }
    text + "</dl>\n"
}

#[cfg(test)]
mod tests;
