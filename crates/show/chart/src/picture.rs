//! A chart as shapes: what SVG and PNG have in common.

/// A picture in units that are pixels at its natural size, with the origin at the top left.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<DrawnShape>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DrawnShape {
    /// An outline, filled, drawn along, or both.
    Outline { steps: Vec<PathStep>, fill: Option<Paint>, stroke: Option<LineStroke>, tip: String },
    /// Words on one line.
    Words {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        anchor: Anchor,
        colour: Rgb,
        bold: bool,
        upright: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PathStep {
    Move(f64, f64),
    Line(f64, f64),
    /// A whole circle by its centre and radius.
    Circle(f64, f64, f64),
    Close,
}

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paint {
    pub(crate) colour: Rgb,
    pub(crate) opacity: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineStroke {
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

pub(crate) const INK: Rgb = [0x1a, 0x1f, 0x25];
pub(crate) const SOFT: Rgb = [0x53, 0x5c, 0x67];
pub(crate) const GRID: Rgb = [0xe2, 0xe6, 0xea];
pub(crate) const PAPER: Rgb = [0xff, 0xff, 0xff];

pub(crate) fn paint(colour: Rgb, opacity: f64) -> Option<Paint> {
    Some(Paint { colour, opacity })
}

pub(crate) fn stroke(colour: Rgb, width: f64, dash: &'static [f32]) -> Option<LineStroke> {
    Some(LineStroke { paint: Paint { colour, opacity: 1.0 }, width, dash })
}

impl Picture {
    pub(crate) fn rectangle(
        &mut self,
        [x0, y0, x1, y1]: [f64; 4],
        fill: Option<Paint>,
        stroke: Option<LineStroke>,
        tip: &str,
    ) {
        let steps = vec![
            PathStep::Move(x0, y0),
            PathStep::Line(x1, y0),
            PathStep::Line(x1, y1),
            PathStep::Line(x0, y1),
            PathStep::Close,
        ];
        self.shapes.push(DrawnShape::Outline { steps, fill, stroke, tip: tip.to_owned() });
    }

    pub(crate) fn lines(&mut self, steps: Vec<PathStep>, stroke: Option<LineStroke>) {
        if steps.len() > 1 {
            self.shapes.push(DrawnShape::Outline { steps, fill: None, stroke, tip: String::new() });
        }
    }

    pub(crate) fn line(&mut self, [x0, y0, x1, y1]: [f64; 4], stroke: Option<LineStroke>) {
        self.lines(vec![PathStep::Move(x0, y0), PathStep::Line(x1, y1)], stroke);
    }

    pub(crate) fn words(
        &mut self,
        x: f64,
        y: f64,
        text: &str,
        size: f64,
        anchor: Anchor,
        colour: Rgb,
    ) {
        self.shapes.push(DrawnShape::Words {
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
        self.shapes.push(DrawnShape::Words {
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
    pub(crate) fn upright(&mut self, x: f64, y: f64, text: &str, size: f64, colour: Rgb) {
        self.shapes.push(DrawnShape::Words {
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
