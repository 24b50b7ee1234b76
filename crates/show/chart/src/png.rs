//! A chart as PNG: the same shapes, with its own letters, at twice their size for sharp screens.

use miniz_oxide::deflate::compress_to_vec_zlib;
use plumb_text::clean;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Stroke as Pen,
    StrokeDash, Transform,
};

use crate::chart::Chart;
use crate::draw::picture;
use crate::font::{self, Font};
use crate::picture::{Anchor, DrawnShape, LineStroke, Paint, PathStep, Picture, Rgb};

/// Pixels of a unit.
const SCALE: f32 = 2.0;
/// Taller pictures than this many units have no picture: a screen has none, and memory has an end.
const TALLEST: f64 = 8_000.0;
/// How hard it is packed: further steps take long and win little.
const LEVEL: u8 = 6;

impl Chart {
    /// The chart as a PNG file; None if it is too tall for one, as of hundreds of names below each other.
    #[must_use]
    pub fn png(&self) -> Option<Vec<u8>> {
        let picture = picture(self);
        let pixels = (picture.height <= TALLEST).then(|| drawn(&picture)).flatten()?;
        let mut rows = Vec::with_capacity(pixels.data().len());
        for row in pixels.data().chunks_exact(pixels.width() as usize * 4) {
            // A row begins with its filter: none, as flat colours pack well without one.
            rows.push(0);
            // The background is opaque, so the fourth byte, transparency, says nothing.
            rows.extend(row.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]));
        }
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let size = [pixels.width().to_be_bytes(), pixels.height().to_be_bytes()].concat();
        // 8 bits, colour type 2 (RGB), then the only methods of compression and filters, not interlaced.
        chunk(&mut out, *b"IHDR", &[size.as_slice(), &[8, 2, 0, 0, 0]].concat());
        chunk(&mut out, *b"IDAT", &compress_to_vec_zlib(&rows, LEVEL));
        chunk(&mut out, *b"IEND", &[]);
        Some(out)
    }
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let content = [&kind[..], data].concat();
    out.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(&content);
    out.extend(crc32fast::hash(&content).to_be_bytes());
}

fn drawn(picture: &Picture) -> Option<Pixmap> {
    let mut pixels = Pixmap::new(scaled(picture.width), scaled(picture.height))?;
    pixels.fill(Color::WHITE);
    let font = Font::new();
    for shape in &picture.shapes {
        match shape {
            DrawnShape::Outline { steps, fill, stroke, .. } => {
                if let Some(path) = path(steps) {
                    outline(&mut pixels, &path, *fill, *stroke);
                }
            }
            DrawnShape::Words { .. } => words(&mut pixels, &font, shape),
        }
    }
    Some(pixels)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded sizes")]
fn scaled(length: f64) -> u32 {
    (single(length.ceil()) * SCALE) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "places in a picture")]
fn single(value: f64) -> f32 {
    value as f32
}

fn path(steps: &[PathStep]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for step in steps {
        match *step {
            PathStep::Move(x, y) => builder.move_to(single(x), single(y)),
            PathStep::Line(x, y) => builder.line_to(single(x), single(y)),
            PathStep::Circle(x, y, r) => builder.push_circle(single(x), single(y), single(r)),
            PathStep::Close => builder.close(),
        }
    }
    builder.finish()
}

fn brush([r, g, b]: Rgb, opacity: f64) -> Brush<'static> {
    let mut brush = Brush { anti_alias: true, ..Brush::default() };
    let byte = single(opacity.clamp(0.0, 1.0) * 255.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 255"
    )]
    brush.set_color_rgba8(r, g, b, byte as u8);
    brush
}

fn outline(pixels: &mut Pixmap, path: &Path, fill: Option<Paint>, stroke: Option<LineStroke>) {
    let scale = Transform::from_scale(SCALE, SCALE);
    if let Some(Paint { colour, opacity }) = fill {
        pixels.fill_path(path, &brush(colour, opacity), FillRule::Winding, scale, None);
    }
    if let Some(LineStroke { paint, width, dash }) = stroke {
        let pen = Pen {
            width: single(width),
            dash: StrokeDash::new(even(dash), 0.0),
            line_cap: LineCap::Butt,
            line_join: LineJoin::Round,
            ..Pen::default()
        };
        pixels.stroke_path(path, &brush(paint.colour, paint.opacity), &pen, scale, None);
    }
}

/// Dashes as pairs of a dash and a gap.
fn even(dash: &[f32]) -> Vec<f32> {
    // SVG repeats an odd list once to make it even; tiny-skia refuses one.
    if dash.len().is_multiple_of(2) { dash.to_vec() } else { dash.repeat(2) }
}

fn words(pixels: &mut Pixmap, font: &Font, shape: &DrawnShape) {
    let DrawnShape::Words { x, y, text, size, anchor, colour, bold, upright } = shape else {
        return;
    };
    let text = clean(text);
    let width = font.width(&text, *size);
    let back = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let scale = single(*size / font.units());
    let mut letters = Letters { builder: PathBuilder::new(), x: 0.0, scale };
    let mut at = -back;
    for c in text.chars() {
        letters.x = single(at);
        font.outline(c).iter().for_each(|step| letters.step(*step));
        at += font.advance(c, *size);
    }
    let Some(path) = letters.builder.finish() else { return };
    let turn = if *upright { -90.0 } else { 0.0 };
    let place = Transform::from_scale(SCALE, SCALE)
        .pre_translate(single(*x), single(*y))
        .pre_concat(Transform::from_rotate(turn));
    pixels.fill_path(&path, &brush(*colour, 1.0), FillRule::Winding, place, None);
    // The font has one weight: a bold letter is filled, and drawn along its outline with a pen.
    if *bold {
        let pen = Pen { width: single(*size) * 0.06, ..Pen::default() };
        pixels.stroke_path(&path, &brush(*colour, 1.0), &pen, place, None);
    }
}

/// Letters one after the other, from a font's units, in which up is up.
struct Letters {
    builder: PathBuilder,
    x: f32,
    scale: f32,
}

impl Letters {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        // A font's y points up, a picture's down.
        (self.x + x * self.scale, -y * self.scale)
    }

    fn step(&mut self, step: font::OutlineStep) {
        match step {
            font::OutlineStep::Move(x, y) => {
                let (x, y) = self.at(x, y);
                self.builder.move_to(x, y);
            }
            font::OutlineStep::Line(x, y) => {
                let (x, y) = self.at(x, y);
                self.builder.line_to(x, y);
            }
            font::OutlineStep::Curve(x1, y1, x, y) => {
                let (x1, y1) = self.at(x1, y1);
                let (x, y) = self.at(x, y);
                self.builder.quad_to(x1, y1, x, y);
            }
            font::OutlineStep::Close => self.builder.close(),
        }
    }
}
