//! Symbols, fillings and shades: what a group's marks and its entry in the legend share.

use crate::appearance::{Appearance, Symbol};
use crate::picture::{DrawnShape, LineStroke, PAPER, Paint, PathStep, Picture, Rgb, paint, stroke};

/// The lightest and the darkest shade of a heat map.
const SHADES: [[f64; 3]; 2] = [[241.0, 246.0, 252.0], [13.0, 63.0, 122.0]];

/// How a group's symbols are filled and outlined.
pub(super) fn drawn(appearance: &Appearance, opacity: f64) -> (Option<Paint>, Option<LineStroke>) {
    let is_open =
        matches!(appearance.symbol, Symbol::Plus | Symbol::Times | Symbol::Star | Symbol::Wye);
    // An open symbol has no area to fill: it is all stroke.
    if is_open {
        return (None, stroke(appearance.colour, 1.6, &[]));
    }
    let fill =
        if appearance.hollow { paint(PAPER, 0.8) } else { paint(appearance.colour, opacity) };
    (fill, appearance.hollow.then(|| stroke(appearance.colour, 1.4, &[])).flatten())
}

/// Draws one symbol around a point, with what is shown when it is pointed at.
pub(super) fn symbol(
    picture: &mut Picture,
    x: f64,
    y: f64,
    radius: f64,
    appearance: &Appearance,
    tip: &str,
) {
    let (fill, stroke) = drawn(appearance, 1.0);
    let steps = outline(x, y, radius, appearance);
    picture.shapes.push(DrawnShape::Outline { steps, fill, stroke, tip: tip.to_owned() });
}

pub(super) fn outline(x: f64, y: f64, r: f64, appearance: &Appearance) -> Vec<PathStep> {
    // The corners reach between 0.9 and 1.3 radii, so that symbols of one radius look equally large.
    let centre = (x, y);
    match appearance.symbol {
        Symbol::Circle => vec![PathStep::Circle(x, y, r)],
        Symbol::Square => polygon(centre, r, &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Symbol::Triangle => polygon(centre, r, &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]),
        Symbol::Diamond => polygon(centre, r, &[(0.0, -1.3), (1.0, 0.0), (0.0, 1.3), (-1.0, 0.0)]),
        Symbol::Plus => rays(centre, r, &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        Symbol::Times => rays(centre, r, &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Symbol::Star => {
            rays(centre, r, &[(0.0, -1.3), (1.2, -0.4), (0.75, 1.05), (-0.75, 1.05), (-1.2, -0.4)])
        }
        Symbol::Wye => rays(centre, r, &[(0.0, 1.3), (1.1, -0.7), (-1.1, -0.7)]),
    }
}

/// A closed outline through points that are given in radii from a centre.
fn polygon((x, y): (f64, f64), r: f64, corners: &[(f64, f64)]) -> Vec<PathStep> {
    let mut steps: Vec<PathStep> =
        corners.iter().map(|(dx, dy)| PathStep::Line(x + r * dx, y + r * dy)).collect();
    if let Some(PathStep::Line(x, y)) = steps.first().copied() {
        steps[0] = PathStep::Move(x, y);
    }
    steps.push(PathStep::Close);
    steps
}

/// Lines from a centre to points that are given in radii from it.
fn rays((x, y): (f64, f64), r: f64, ends: &[(f64, f64)]) -> Vec<PathStep> {
    ends.iter()
        .flat_map(|(dx, dy)| [PathStep::Move(x, y), PathStep::Line(x + r * dx, y + r * dy)])
        .collect()
}

/// A rectangle with its group's hatching.
pub(super) fn filled(
    picture: &mut Picture,
    area: [f64; 4],
    appearance: &Appearance,
    opacity: f64,
    tip: &str,
) {
    picture.rectangle(
        area,
        paint(appearance.colour, opacity),
        stroke(appearance.colour, 1.0, &[]),
        tip,
    );
    let [x0, y0, x1, y1] = area;
    let width = x1 - x0;
    let height = y1 - y0;
    // Lines from the lower to the upper edge, or the other way round, cut at the sides.
    let rising = match appearance.hatch % 3 {
        0 => return,
        1 => true,
        _ => false,
    };
    let mut steps: Vec<PathStep> = Vec::new();
    let mut begin = -height;
    while begin < width {
        let from = begin.max(0.0);
        let to = (begin + height).min(width);
        // At 45°, a line that is so far along has come as far up or down.
        let [(x_from, y_from), (x_to, y_to)] = [from, to].map(|along| {
            let cut = (along - begin).clamp(0.0, height);
            (x0 + along, if rising { y1 - cut } else { y0 + cut })
        });
        if to > from {
            steps.push(PathStep::Move(x_from, y_from));
            steps.push(PathStep::Line(x_to, y_to));
        }
        begin += 7.0;
    }
    picture.lines(steps, stroke(PAPER, 1.4, &[]));
}

/// From light to dark.
pub(super) fn shade(share: f64) -> Rgb {
    let [light, dark] = SHADES;
    [0, 1, 2].map(|index: usize| {
        let value = light[index] + (dark[index] - light[index]) * share.clamp(0.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 255"
        )]
        let value = value.round() as u8;
        value
    })
}
