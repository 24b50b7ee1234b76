//! A chart as shapes: what SVG and PNG have in common.

/// A picture in units that are pixels at its natural size, with the origin at the top left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// An outline, filled, drawn along, or both.
    Outline { steps: Vec<Step>, fill: Option<Paint>, stroke: Option<Stroke>, tip: String },
    /// Words on one line.
    Words {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        anchor: Anchor,
        colour: Colour,
        bold: bool,
        upright: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Move(f64, f64),
    Line(f64, f64),
    /// A whole circle by its centre and radius.
    Circle(f64, f64, f64),
    Close,
}

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Paint {
    pub(super) colour: Colour,
    pub(super) opacity: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stroke {
    pub(super) paint: Paint,
    pub(super) width: f64,
    /// Lengths of dashes and of the gaps between; empty for none.
    pub(super) dash: &'static [f32],
}

/// Where a text's point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) const INK: Colour = [0x1a, 0x1f, 0x25];
pub(super) const SOFT: Colour = [0x53, 0x5c, 0x67];
pub(super) const GRID: Colour = [0xe2, 0xe6, 0xea];
pub(super) const PAPER: Colour = [0xff, 0xff, 0xff];

pub(super) fn paint(colour: Colour, opacity: f64) -> Option<Paint> {
    Some(Paint { colour, opacity })
}

pub(super) fn stroke(colour: Colour, width: f64, dash: &'static [f32]) -> Option<Stroke> {
    Some(Stroke { paint: Paint { colour, opacity: 1.0 }, width, dash })
}

impl Picture {
    pub(super) fn rectangle(
        &mut self,
        [x0, y0, x1, y1]: [f64; 4],
        fill: Option<Paint>,
        stroke: Option<Stroke>,
        tip: &str,
    ) {
        let steps = vec![
            Step::Move(x0, y0),
            Step::Line(x1, y0),
            Step::Line(x1, y1),
            Step::Line(x0, y1),
            Step::Close,
        ];
        self.shapes.push(Shape::Outline { steps, fill, stroke, tip: tip.to_owned() });
    }

    pub(super) fn lines(&mut self, steps: Vec<Step>, stroke: Option<Stroke>) {
        if steps.len() > 1 {
            self.shapes.push(Shape::Outline { steps, fill: None, stroke, tip: String::new() });
        }
    }

    pub(super) fn line(&mut self, [x0, y0, x1, y1]: [f64; 4], stroke: Option<Stroke>) {
        self.lines(vec![Step::Move(x0, y0), Step::Line(x1, y1)], stroke);
    }

    pub(super) fn words(
        &mut self,
        x: f64,
        y: f64,
        text: &str,
        size: f64,
        anchor: Anchor,
        colour: Colour,
    ) {
        let (text, bold, upright) = (text.to_owned(), false, false);
        self.shapes.push(Shape::Words { x, y, text, size, anchor, colour, bold, upright });
    }

    pub(super) fn heading(&mut self, x: f64, y: f64, text: &str) {
        let (text, anchor, bold, upright) = (text.to_owned(), Anchor::Start, true, false);
        self.shapes.push(Shape::Words {
            x,
            y,
            text,
            size: 16.0,
            anchor,
            colour: INK,
            bold,
            upright,
        });
    }

    /// Words from below upwards, around their middle.
    pub(super) fn upright(&mut self, x: f64, y: f64, text: &str, size: f64, colour: Colour) {
        let (text, anchor, bold, upright) = (text.to_owned(), Anchor::Middle, false, true);
        self.shapes.push(Shape::Words { x, y, text, size, anchor, colour, bold, upright });
    }
}
