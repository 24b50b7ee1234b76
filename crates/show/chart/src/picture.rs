//! A chart as shapes: what SVG and PNG have in common.

/// A picture in units that are pixels at its natural size, with the origin at the top left.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
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
pub(crate) enum Step {
    Move(f64, f64),
    Line(f64, f64),
    /// A whole circle by its centre and radius.
    Circle(f64, f64, f64),
    Close,
}

/// Red, green and blue.
pub(crate) type Colour = [u8; 3];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paint {
    pub(crate) colour: Colour,
    pub(crate) opacity: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) paint: Paint,
    pub(crate) width: f64,
    /// Lengths of dashes and of the gaps between; empty for none.
    pub(crate) dash: &'static [f32],
}

/// Where a text's point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

pub(crate) const INK: Colour = [0x1a, 0x1f, 0x25];
pub(crate) const SOFT: Colour = [0x53, 0x5c, 0x67];
pub(crate) const GRID: Colour = [0xe2, 0xe6, 0xea];
pub(crate) const PAPER: Colour = [0xff, 0xff, 0xff];

pub(crate) fn paint(colour: Colour, opacity: f64) -> Option<Paint> {
    Some(Paint { colour, opacity })
}

pub(crate) fn stroke(colour: Colour, width: f64, dash: &'static [f32]) -> Option<Stroke> {
    Some(Stroke { paint: Paint { colour, opacity: 1.0 }, width, dash })
}

impl Picture {
    pub(crate) fn rectangle(
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

    pub(crate) fn lines(&mut self, steps: Vec<Step>, stroke: Option<Stroke>) {
        if steps.len() > 1 {
            self.shapes.push(Shape::Outline { steps, fill: None, stroke, tip: String::new() });
        }
    }

    pub(crate) fn line(&mut self, [x0, y0, x1, y1]: [f64; 4], stroke: Option<Stroke>) {
        self.lines(vec![Step::Move(x0, y0), Step::Line(x1, y1)], stroke);
    }

    pub(crate) fn words(
        &mut self,
        x: f64,
        y: f64,
        text: &str,
        size: f64,
        anchor: Anchor,
        colour: Colour,
    ) {
        self.shapes.push(Shape::Words {
            x,
            y,
            text: text.to_owned(),
            size,
            anchor,
            colour,
            bold: false,
            upright: false,
        });
    }

    pub(crate) fn heading(&mut self, x: f64, y: f64, text: &str) {
        self.shapes.push(Shape::Words {
            x,
            y,
            text: text.to_owned(),
            size: 16.0,
            anchor: Anchor::Start,
            colour: INK,
            bold: true,
            upright: false,
        });
    }

    /// Words from below upwards, around their middle.
    pub(crate) fn upright(&mut self, x: f64, y: f64, text: &str, size: f64, colour: Colour) {
        self.shapes.push(Shape::Words {
            x,
            y,
            text: text.to_owned(),
            size,
            anchor: Anchor::Middle,
            colour,
            bold: false,
            upright: true,
        });
    }
}
