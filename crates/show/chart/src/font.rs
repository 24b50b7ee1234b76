//! The letters that pictures are measured and drawn with, so that a server without fonts can do it, too.
//!
//! They are those of the font in `fonts/`, taken out of it once and committed, so that no font has to be
//! understood here. A test takes them out again and compares; with `UPDATE_LETTERS` it writes the file again.
//!
//! The file, in network order: units of a size of 1 and the number of letters, 16 bits each; of each letter,
//! in order, its character (32 bits; 0 is the box for those that are missing), its width, the number of its
//! steps (16 bits each), and the steps: a byte that says what it is, and its points in half units.

use plumb_text::whole_words;

/// DejaVu Sans, of which fonts/LICENSE tells the terms.
static BYTES: &[u8] = include_bytes!("../fonts/letters.bin");
/// The letter of a character that has none.
const BOX: char = '\0';

/// A step of a letter's outline, in units of the font, in which up is up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OutlineStep {
    Move(f32, f32),
    Line(f32, f32),
    /// A curve by its control point and its end.
    Curve(f32, f32, f32, f32),
    Close,
}

/// A letter's outline, with the room that it takes on a line.
#[derive(Debug, Clone, PartialEq)]
struct Letter {
    character: char,
    /// How far the next letter stands from this one, in units of the font.
    width: u16,
    outline: Vec<OutlineStep>,
}

pub(crate) struct Font {
    units: u16,
    /// In the order of their characters.
    letters: Vec<Letter>,
}

impl Font {
    pub(crate) fn new() -> Self {
        // The file is compiled in and tested; without it, texts have no letters.
        read(BYTES).unwrap_or(Self { units: 1, letters: Vec::new() })
    }

    /// How wide a text is at a size.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(c, size)).sum()
    }

    /// How far the next letter stands from this one.
    pub(crate) fn advance(&self, c: char, size: f64) -> f64 {
        self.letter(c).map(|letter| f64::from(letter.width) / self.units()).unwrap_or(0.6) * size
    }

    /// The outline of a character's letter; of the box if the font has none for it.
    pub(crate) fn outline(&self, c: char) -> &[OutlineStep] {
        self.letter(c).map_or(&[], |letter| &letter.outline)
    }

    /// Units of the font in a size of 1.
    pub(crate) fn units(&self) -> f64 {
        f64::from(self.units)
    }

    fn letter(&self, c: char) -> Option<&Letter> {
        self.index_of(c).or_else(|| self.index_of(BOX)).map(|index| &self.letters[index])
    }

    fn index_of(&self, c: char) -> Option<usize> {
        self.letters.binary_search_by_key(&c, |letter| letter.character).ok()
    }

    /// Breaks a text into lines of at most this width, at spaces.
    pub(crate) fn wrap(&self, text: &str, size: f64, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line)
                    if self.width(line, size) + self.width(" ", size) + self.width(word, size)
                        <= width =>
                {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(self.clip(word, size, width)),
            }
        }
        lines
    }

    /// Cuts a text that is wider than this, and says so with `…`.
    pub(crate) fn clip(&self, text: &str, size: f64, width: f64) -> String {
        if self.width(text, size) <= width {
            return text.to_owned();
        }
        let mut room = width - self.width("…", size);
        let head: String = text
            .chars()
            .take_while(|c| {
                room -= self.advance(*c, size);
                room >= 0.0
            })
            .collect();
        format!("{}…", whole_words(text, &head))
    }
}

/// The letters of a file.
fn read(mut bytes: &[u8]) -> Option<Font> {
    let units = short(&mut bytes)?;
    let count = short(&mut bytes)?;
    let letters = (0..count).map(|_| letter(&mut bytes)).collect::<Option<Vec<Letter>>>()?;
    bytes.is_empty().then_some(Font { units, letters })
}

fn letter(bytes: &mut &[u8]) -> Option<Letter> {
    let high = short(bytes)?;
    let low = short(bytes)?;
    let character = char::from_u32(u32::from(high) << 16 | u32::from(low))?;
    let width = short(bytes)?;
    let steps = short(bytes)?;
    let outline = (0..steps).map(|_| stroke(bytes)).collect::<Option<Vec<OutlineStep>>>()?;
    Some(Letter { character, width, outline })
}

fn stroke(bytes: &mut &[u8]) -> Option<OutlineStep> {
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    match kind {
        0 => Some(OutlineStep::Move(half_units(bytes)?, half_units(bytes)?)),
        1 => Some(OutlineStep::Line(half_units(bytes)?, half_units(bytes)?)),
        2 => Some(OutlineStep::Curve(
            half_units(bytes)?,
            half_units(bytes)?,
            half_units(bytes)?,
            half_units(bytes)?,
        )),
        3 => Some(OutlineStep::Close),
        _ => None,
    }
}

// TrueType puts implied points halfway between two units, so places are stored as whole numbers of halves.
fn half_units(bytes: &mut &[u8]) -> Option<f32> {
    Some(f32::from(short(bytes)?.cast_signed()) / 2.0)
}

fn short(bytes: &mut &[u8]) -> Option<u16> {
    let (two, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u16::from_be_bytes(*two))
}

#[cfg(test)]
mod tests {
    use ttf_parser::{Face, GlyphId, OutlineBuilder};

    use super::{BOX, Font};

    /// Writes down an outline.
    #[derive(Default)]
    struct Pen {
        steps: u16,
        bytes: Vec<u8>,
        /// Where the contour began.
        start: [f32; 2],
        /// Where the last line ended, and where it stands in `bytes`.
        last_line: Option<([f32; 2], usize)>,
    }

    /// The bytes of a line: what it is, and two places.
    const LINE_BYTES: usize = 5;

    impl Pen {
        fn step(&mut self, kind: u8, places: &[f32]) {
            self.steps += 1;
            self.bytes.push(kind);
            for place in places {
                let halves = place * 2.0;
                assert!(halves.fract() == 0.0 && halves.abs() < 32_000.0, "{place}");
                self.bytes.extend((halves as i16).to_be_bytes());
            }
        }
    }

    impl OutlineBuilder for Pen {
        fn move_to(&mut self, x: f32, y: f32) {
            self.start = [x, y];
            self.step(0, &[x, y]);
        }

        fn line_to(&mut self, x: f32, y: f32) {
            self.last_line = Some(([x, y], self.bytes.len()));
            self.step(1, &[x, y]);
        }

        fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
            self.step(2, &[cx, cy, x, y]);
        }

        fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
            panic!("TrueType has no cubic curves");
        }

        fn close(&mut self) {
            // Closing draws the line to the start; the parser says it too.
            if let Some((end, at)) = self.last_line.take()
                && end == self.start
                && at + LINE_BYTES == self.bytes.len()
            {
                self.bytes.truncate(at);
                self.steps -= 1;
            }
            self.step(3, &[]);
        }
    }

    fn letter(font: &Face, character: char, glyph: GlyphId) -> Vec<u8> {
        let mut pen = Pen::default();
        // A letter without an outline, such as a space, draws nothing.
        let _ = font.outline_glyph(glyph, &mut pen);
        let width = font.glyph_hor_advance(glyph).unwrap();
        let mut bytes = u32::from(character).to_be_bytes().to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(pen.steps.to_be_bytes());
        bytes.extend(pen.bytes);
        bytes
    }

    /// Every character for which the font has a letter.
    fn characters(font: &Face) -> Vec<char> {
        let mut codes = Vec::new();
        for table in font.tables().cmap.unwrap().subtables {
            if table.is_unicode() {
                table.codepoints(|code| codes.push(code));
            }
        }
        codes.into_iter().map(|code| char::from_u32(code).unwrap()).collect()
    }

    #[test]
    fn the_letters_are_those_of_the_font() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fonts");
        let bytes = std::fs::read(folder.join("DejaVuSans-subset.ttf")).unwrap();
        let font = Face::parse(&bytes, 0).unwrap();
        let units = font.units_per_em();
        let glyphs = |c: char| Some((c, font.glyph_index(c)?));
        let mut letters: Vec<(char, GlyphId)> =
            characters(&font).into_iter().filter_map(glyphs).collect();
        // Glyph 0 is the box.
        letters.push((BOX, GlyphId(0)));
        letters.sort_by_key(|(character, _)| *character);
        letters.dedup_by_key(|(character, _)| *character);
        let count = u16::try_from(letters.len()).unwrap();
        let mut file = [units.to_be_bytes(), count.to_be_bytes()].concat();
        letters.iter().for_each(|(c, glyph)| file.extend(letter(&font, *c, *glyph)));
        if std::env::var_os("UPDATE_LETTERS").is_some() {
            std::fs::write(folder.join("letters.bin"), &file).unwrap();
        }
        let committed = std::fs::read(folder.join("letters.bin")).unwrap();
        assert!(file == committed, "run this with UPDATE_LETTERS=1");
    }

    #[test]
    fn texts_are_measured_cut_and_broken() {
        let font = Font::new();
        assert!(font.letters.len() > 300 && font.units > 1000);
        assert!(font.width("WWW", 12.0) > font.width("iii", 12.0));
        assert!((font.width("ab", 24.0) - 2.0 * font.width("ab", 12.0)).abs() < 1e-9);
        let cut = font.clip("a long name of a point", 12.0, 60.0);
        assert!(cut.ends_with('…') && font.width(&cut, 12.0) <= 60.0, "{cut}");
        assert_eq!(
            font.wrap("one two three", 12.0, font.width("one two", 12.0) + 1.0),
            ["one two", "three"]
        );
        assert!(font.width("\u{4e2d}", 12.0) > 0.0);
    }
}
