//! What the plotting crate draws on: SVG whose shapes have class names instead of colours.
//!
//! For: a picture whose colours belong to the style sheet of the page, which knows whether it is dark, or paper. The
//! crate's own SVG writer puts fixed colours on every shape. Here a colour is only a name: [`tone`] and the few
//! constants beside it are turned back into classes.
//! Promises: text is escaped; points that change nothing in a line are left out.
//! Never: says how anything looks.

use crate::markup::escape;
use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write;
use std::rc::Rc;

/// Lines of axes.
pub const AXIS: RGBColor = RGBColor(0, 0, 1);
/// Lines behind the data.
pub const GRID: RGBColor = RGBColor(0, 0, 2);
/// What is written beside the data.
pub const SOFT: RGBColor = RGBColor(0, 0, 3);
/// What is written on the data.
pub const INK: RGBColor = RGBColor(0, 0, 4);

/// What the classes look like.
const TONES_CSS: &str = include_str!("tones.css");

/// So many colours there are; further ones begin again with another pattern of dashes.
pub const TONES: usize = 8;
/// So many patterns of dashes. No divisor in common with the colours: forty lines differ from each other.
const DASHES: usize = 5;

/// The name of a colour of the data.
pub fn tone(index: usize) -> RGBColor {
    RGBColor(1, (index % (TONES * DASHES)) as u8, 0)
}

/// The classes of a colour.
pub fn classes(index: usize) -> String {
    format!("c{} d{}", index % TONES, index % DASHES)
}

/// A sheet of paper. Clones are the same sheet.
#[derive(Clone)]
pub struct Paper {
    size: (u32, u32),
    ink: Rc<RefCell<Ink>>,
}

#[derive(Default)]
struct Ink {
    shapes: String,
    /// Shown when somebody points at the next shape.
    about: Option<String>,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Paper {
    /// Blank.
    pub fn new(width: u32, height: u32) -> Self {
        Self { size: (width, height), ink: Rc::default() }
    }

    /// What is shown when somebody points at the shape that is drawn next.
    pub fn about(&self, text: String) {
        self.ink.borrow_mut().about = Some(text);
    }

    /// The picture, with what it shows in words for those who cannot see it. The id is unique in its page.
    pub fn svg(&self, class: &str, id: &str, title: &str, description: &str) -> String {
        let ((width, height), title, description) = (self.size, escape(title), escape(description));
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>\n{}</svg>\n",
            self.ink.borrow().shapes
        )
    }

    /// The picture as a file of its own, colours included.
    pub fn alone(&self, title: &str, description: &str) -> String {
        let ((width, height), title, description) = (self.size, escape(title), escape(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"system-ui, sans-serif\">\n<title>{title}</title><desc>{description}</desc>\n\
             <style>\n{TONES_CSS}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" style=\"fill: var(--paper)\"/>\n{}</svg>\n",
            self.ink.borrow().shapes
        )
    }

    fn shape(&self, name: &str, attributes: std::fmt::Arguments<'_>) -> Drawn {
        let ink = &mut *self.ink.borrow_mut();
        let about = ink.about.take().map(|about| format!("<title>{}</title>", escape(&about)));
        let written = match about {
            Some(about) => writeln!(ink.shapes, "<{name} {attributes}>{about}</{name}>"),
            None => writeln!(ink.shapes, "<{name} {attributes}/>"),
        };
        written.expect("memory takes text");
        Ok(())
    }
}

/// What a colour is called in the style sheet.
fn class(color: BackendColor) -> String {
    match color.rgb {
        (1, index, _) => classes(usize::from(index)),
        (0, 0, 1) => "axis".into(),
        (0, 0, 2) => "rule".into(),
        (0, 0, 3) => "soft".into(),
        _ => "ink".into(),
    }
}

impl DrawingBackend for Paper {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        let class = class(color);
        self.shape("rect", format_args!("class=\"f {class}\" x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\""))
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let (left, right, top, bottom) = (left.min(right), left.max(right), top.min(bottom), top.max(bottom));
        let form = if fill { "f" } else { "l" };
        let (class, width, height) = (class(style.color()), (right - left).max(1), (bottom - top).max(1));
        self.shape(
            "rect",
            format_args!(
                "class=\"{form} {class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\""
            ),
        )
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let way = way(path);
        if way.is_empty() {
            return Ok(());
        }
        let class = class(style.color());
        self.shape("path", format_args!("class=\"l {class}\" d=\"{way}\""))
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let way = way(path);
        if way.is_empty() {
            return Ok(());
        }
        let class = class(style.color());
        self.shape("path", format_args!("class=\"f {class}\" d=\"{way}Z\""))
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, (x, y): BackendCoord) -> Drawn {
        let (anchor, size) = (style.anchor(), style.size());
        let across = match anchor.h_pos {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        let down = match anchor.v_pos {
            VPos::Top => 0.8,
            VPos::Center => 0.35,
            VPos::Bottom => -0.2,
        } * size;
        let turn = match style.transform() {
            FontTransform::None => String::new(),
            FontTransform::Rotate90 => format!(" transform=\"rotate(90 {x} {y})\""),
            FontTransform::Rotate180 => format!(" transform=\"rotate(180 {x} {y})\""),
            FontTransform::Rotate270 => format!(" transform=\"rotate(270 {x} {y})\""),
        };
        let baseline = f64::from(y) + down;
        writeln!(
            self.ink.borrow_mut().shapes,
            "<text class=\"{}\" x=\"{x}\" y=\"{baseline:.0}\" font-size=\"{size}\"{across}{turn}>{}</text>",
            class(style.color()),
            escape(text)
        )
        .expect("memory takes text");
        Ok(())
    }
}

/// The commands of a path. A point on the straight between its neighbours is left out when that straight is level or
/// upright: steps have many of those.
fn way(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut kept: Vec<BackendCoord> = vec![];
    for point in points {
        if let [.., before, last] = kept[..]
            && ((before.0 == last.0 && last.0 == point.0 && between(before.1, last.1, point.1))
                || (before.1 == last.1 && last.1 == point.1 && between(before.0, last.0, point.0)))
        {
            kept.pop();
        }
        if kept.last() != Some(&point) {
            kept.push(point);
        }
    }
    if kept.len() < 2 {
        return String::new();
    }
    let mut text = String::with_capacity(kept.len() * 8);
    let mut last: Option<BackendCoord> = None;
    for (x, y) in kept {
        let written = match last {
            None => write!(text, "M{x} {y}"),
            Some((_, before)) if before == y => write!(text, "H{x}"),
            Some((before, _)) if before == x => write!(text, "V{y}"),
            Some(_) => write!(text, "L{x} {y}"),
        };
        written.expect("memory takes text");
        last = Some((x, y));
    }
    text
}

fn between(a: i32, middle: i32, b: i32) -> bool {
    (a <= middle && middle <= b) || (a >= middle && middle >= b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::prelude::*;

    #[test]
    fn steps_are_written_short() {
        assert_eq!(way([(0, 5), (1, 5), (2, 5), (2, 3), (2, 4), (6, 9)]), "M0 5H2V3V4L6 9");
        assert_eq!(way([(1, 1), (1, 1)]), "");
        assert_eq!(way([]), "");
    }

    #[test]
    fn forty_lines_differ() {
        let names: std::collections::BTreeSet<String> = (0..40).map(classes).collect();
        assert_eq!(names.len(), 40);
    }

    #[test]
    fn colours_become_classes_and_names_stay_text() {
        let paper = Paper::new(100, 50);
        let area = paper.clone().into_drawing_area();
        paper.about("<b>".into());
        area.draw(&Rectangle::new([(1, 1), (9, 9)], tone(11).filled())).unwrap();
        area.draw(&Text::new("</svg><script>", (3, 3), ("sans-serif", 11).into_font().color(&SOFT))).unwrap();
        let svg = paper.svg("wide", "a", "one & two", "");
        assert!(svg.contains("class=\"f c3 d1\"") && svg.contains("<title>&lt;b&gt;</title>"), "{svg}");
        assert!(svg.contains("class=\"soft\"") && svg.contains("&lt;/svg&gt;&lt;script&gt;"), "{svg}");
        assert!(svg.contains("<title id=\"a-t\">one &amp; two</title>") && !svg.contains('#'), "{svg}");
    }
}
