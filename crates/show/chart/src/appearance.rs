//! How a group looks: a colour, and a symbol, dash and its own hatching, so that colour is never alone.
//! The page looks the same (`web/src/groups.ts`).

use crate::chart::{Chart, Tone};
use crate::picture::Rgb;

/// How a group looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Appearance {
    pub(crate) colour: Rgb,
    pub(crate) symbol: Symbol,
    pub(crate) hollow: bool,
    pub(crate) dash: &'static [f32],
    /// Which hatching fills have; 0 is none.
    pub(crate) hatch: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    Circle,
    Square,
    Triangle,
    Diamond,
    Plus,
    Star,
    Wye,
    Times,
}

// Every one keeps a contrast of 4.5 : 1 on white: thin lines and small symbols must be as readable as text.
const COLOURS: [Rgb; 8] = [
    [0x1f, 0x66, 0xb0],
    [0xb8, 0x51, 0x0d],
    [0x11, 0x7a, 0x5d],
    [0x97, 0x34, 0x8f],
    [0x80, 0x62, 0x00],
    [0xb3, 0x28, 0x3f],
    [0x4b, 0x51, 0xb8],
    [0x55, 0x5d, 0x66],
];
const SYMBOLS: [Symbol; 8] = [
    Symbol::Circle,
    Symbol::Square,
    Symbol::Triangle,
    Symbol::Diamond,
    Symbol::Plus,
    Symbol::Star,
    Symbol::Wye,
    Symbol::Times,
];
const DASHES: [&[f32]; 8] = [
    &[],
    &[7.0, 3.0],
    &[2.0, 3.0],
    &[10.0, 3.0, 2.0, 3.0],
    &[5.0, 5.0],
    &[1.0, 4.0],
    &[12.0, 4.0],
    &[8.0, 2.0, 2.0, 2.0, 2.0, 2.0],
];

/// The appearance of every group; those of equal rank take the next one.
pub(crate) fn appearances(chart: &Chart) -> Vec<Appearance> {
    let mut rank = 0;
    chart
        .groups
        .iter()
        .map(|group| group.tone)
        .map(|tone| {
            if tone != Tone::Plain {
                return of_tone(tone);
            }
            let place = rank % COLOURS.len();
            // A colour that comes again comes with another dash.
            let dash = DASHES[(place + rank / COLOURS.len()) % DASHES.len()];
            rank += 1;
            Appearance {
                colour: COLOURS[place],
                symbol: SYMBOLS[place],
                hollow: rank > COLOURS.len(),
                dash,
                hatch: place,
            }
        })
        .collect()
}

/// Marks of no group.
pub(crate) const NONE: Appearance = Appearance {
    colour: crate::picture::SOFT,
    symbol: Symbol::Circle,
    hollow: false,
    dash: &[],
    hatch: 0,
};

const fn with(
    colour: Rgb,
    symbol: Symbol,
    hollow: bool,
    dash: &'static [f32],
    hatch: usize,
) -> Appearance {
    Appearance { colour, symbol, hollow, dash, hatch }
}

// A tone means the same on every chart, so its look is fixed and does not depend on the other groups.
fn of_tone(tone: Tone) -> Appearance {
    match tone {
        Tone::Plain => NONE,
        Tone::Steady => with([0x1f, 0x66, 0xb0], Symbol::Circle, false, &[], 0),
        Tone::Warmup => with([0xb8, 0x51, 0x0d], Symbol::Circle, true, DASHES[2], 1),
        Tone::Excluded => with([0x8a, 0x3c, 0xa0], Symbol::Times, true, DASHES[5], 2),
        Tone::Faster => with([0x17, 0x70, 0x3a], Symbol::Triangle, false, &[], 0),
        Tone::Slower => with([0xb3, 0x26, 0x1e], Symbol::Wye, false, DASHES[1], 1),
        Tone::Equivalent => with([0x53, 0x5c, 0x67], Symbol::Square, false, &[], 0),
        Tone::Inconclusive => with([0x7d, 0x5a, 0x00], Symbol::Circle, true, DASHES[2], 2),
        Tone::Baseline => with([0x6b, 0x3f, 0xa0], Symbol::Diamond, true, &[6.0, 4.0], 3),
        Tone::Interference => with([0xb3, 0x45, 0x1e], Symbol::Plus, true, DASHES[2], 2),
    }
}
