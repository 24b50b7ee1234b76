//! How a group looks: a colour, and a symbol, dash and hatching of its own, so that colour is never alone.
//! The page looks the same (`web/src/groups.ts`).

use crate::chart::{Chart, Tone};
use crate::picture::Colour;

/// How a group looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Look {
    pub(crate) colour: Colour,
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

const COLOURS: [Colour; 8] = [
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

/// The look of every group; those of equal rank take the next one.
pub(crate) fn looks(chart: &Chart) -> Vec<Look> {
    let mut rank = 0;
    let look = |tone: Tone| {
        if tone != Tone::Plain {
            return of_tone(tone);
        }
        let place = rank % COLOURS.len();
        // A colour that comes again comes with another dash.
        let dash = DASHES[(place + rank / COLOURS.len()) % DASHES.len()];
        rank += 1;
        Look {
            colour: COLOURS[place],
            symbol: SYMBOLS[place],
            hollow: rank > COLOURS.len(),
            dash,
            hatch: place,
        }
    };
    chart.groups.iter().map(|group| group.tone).map(look).collect()
}

/// Marks of no group.
pub(crate) const NONE: Look = Look {
    colour: crate::picture::SOFT,
    symbol: Symbol::Circle,
    hollow: false,
    dash: &[],
    hatch: 0,
};

fn of_tone(tone: Tone) -> Look {
    let look = |colour, symbol, hollow, dash, hatch| Look { colour, symbol, hollow, dash, hatch };
    match tone {
        Tone::Plain => NONE,
        Tone::Steady => look([0x1f, 0x66, 0xb0], Symbol::Circle, false, &[], 0),
        Tone::Warmup => look([0xb8, 0x51, 0x0d], Symbol::Circle, true, DASHES[2], 1),
        Tone::Excluded => look([0x8a, 0x3c, 0xa0], Symbol::Times, true, DASHES[5], 2),
        Tone::Faster => look([0x17, 0x70, 0x3a], Symbol::Triangle, false, &[], 0),
        Tone::Slower => look([0xb3, 0x26, 0x1e], Symbol::Wye, false, DASHES[1], 1),
        Tone::Equivalent => look([0x53, 0x5c, 0x67], Symbol::Square, false, &[], 0),
        Tone::Inconclusive => look([0x7d, 0x5a, 0x00], Symbol::Circle, true, DASHES[2], 2),
        Tone::Baseline => look([0x6b, 0x3f, 0xa0], Symbol::Diamond, true, &[6.0, 4.0], 3),
        Tone::Interference => look([0xb3, 0x45, 0x1e], Symbol::Plus, true, DASHES[2], 2),
    }
}
