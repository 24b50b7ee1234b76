//! A chart as SVG: standalone, readable without it, light on any background.

use std::fmt::Write;

use plumb_text::xml;

use crate::chart::Chart;
use crate::draw::picture;
use crate::picture::{Anchor, DrawnShape, LineStroke, Paint, PathStep, Rgb};

impl Chart {
    /// The chart as a standalone SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        let picture = picture(self);
        let width = picture.width;
        let height = picture.height;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title says\" \
             font-family=\"system-ui, 'DejaVu Sans', Verdana, sans-serif\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"says\">{}</desc>\n",
            xml(&self.title),
            xml(&self.says)
        );
        for shape in &picture.shapes {
            out.push_str(&element(shape));
            out.push('\n');
        }
        out.push_str("</svg>\n");
        out
    }
}

fn element(shape: &DrawnShape) -> String {
    match shape {
        DrawnShape::Outline { steps, fill, stroke, tip } => {
            let mut out = format!("<path d=\"{}\"{}{}", path(steps), filled(*fill), drawn(*stroke));
            match tip.as_str() {
                "" => out.push_str("/>"),
                tip => {
                    let _ = write!(out, "><title>{}</title></path>", xml(tip));
                }
            }
            out
        }
        DrawnShape::Words { x, y, text, size, anchor, colour, bold, upright } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let bold = if *bold { " font-weight=\"bold\"" } else { "" };
            let x = number(*x);
            let y = number(*y);
            let turned = if *upright {
                format!(" transform=\"rotate(-90 {x} {y})\"")
            } else {
                String::new()
            };
            let colour = hex(*colour);
            let text = xml(text);
            format!(
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{anchor}{bold}{turned}>{text}</text>"
            )
        }
    }
}

fn path(steps: &[PathStep]) -> String {
    let mut out = String::new();
    for step in steps {
        let _ = match *step {
            PathStep::Move(x, y) => write!(out, "M{} {}", number(x), number(y)),
            PathStep::Line(x, y) => write!(out, "L{} {}", number(x), number(y)),
            PathStep::Circle(x, y, r) => {
                // SVG paths have no circle: two half arcs, from the left end and back.
                let left = number(x - r);
                let y = number(y);
                let diameter = number(2.0 * r);
                let r = number(r);
                write!(out, "M{left} {y}a{r} {r} 0 1 0 {diameter} 0a{r} {r} 0 1 0-{diameter} 0")
            }
            PathStep::Close => write!(out, "Z"),
        };
    }
    out
}

fn filled(fill: Option<Paint>) -> String {
    match fill {
        None => " fill=\"none\"".to_owned(),
        Some(Paint { colour, opacity }) => {
            let opacity = if opacity < 1.0 {
                format!(" fill-opacity=\"{}\"", number(opacity))
            } else {
                String::new()
            };
            format!(" fill=\"{}\"{opacity}", hex(colour))
        }
    }
}

fn drawn(stroke: Option<LineStroke>) -> String {
    let Some(LineStroke { paint, width, dash }) = stroke else { return String::new() };
    let mut out = format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(paint.colour), number(width));
    if !dash.is_empty() {
        let dash: Vec<String> = dash.iter().map(f32::to_string).collect();
        let _ = write!(out, " stroke-dasharray=\"{}\"", dash.join(" "));
    }
    out
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A hundredth of a pixel is fine enough.
fn number(value: f64) -> String {
    let digits = format!("{value:.2}");
    let text = digits.trim_end_matches('0').trim_end_matches('.');
    // A value that rounds to 0 from below would else carry its sign.
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
