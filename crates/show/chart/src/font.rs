//! The letters that pictures are measured and drawn with, so that a server without fonts can do it, too.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// DejaVu Sans, of which fonts/LICENSE tells the terms.
static BYTES: &[u8] = include_bytes!("../fonts/DejaVuSans-subset.ttf");

pub(crate) struct Font {
    face: Option<Face<'static>>,
}

impl Font {
    pub(crate) fn new() -> Self {
        Self { face: Face::parse(BYTES, 0).ok() }
    }

    /// How wide a text is at a size.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(c, size)).sum()
    }

    /// How far the next letter stands from this one.
    pub(crate) fn advance(&self, c: char, size: f64) -> f64 {
        let known = self.face.as_ref().and_then(|face| {
            let advance = face.glyph_hor_advance(self.glyph(c)?)?;
            Some(f64::from(advance) / self.units())
        });
        known.unwrap_or(0.6) * size
    }

    /// Hands a letter's outline over, in units of the font.
    pub(crate) fn outline(&self, c: char, builder: &mut dyn OutlineBuilder) {
        if let Some((face, glyph)) = self.face.as_ref().zip(self.glyph(c)) {
            face.outline_glyph(glyph, builder);
        }
    }

    /// Units of the font in a size of 1.
    pub(crate) fn units(&self) -> f64 {
        self.face.as_ref().map_or(1.0, |face| f64::from(face.units_per_em()))
    }

    /// A letter that it does not have is a box.
    fn glyph(&self, c: char) -> Option<GlyphId> {
        Some(self.face.as_ref()?.glyph_index(c).unwrap_or(GlyphId(0)))
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
        let fits = |c: &char| {
            room -= self.advance(*c, size);
            room >= 0.0
        };
        let mut cut: String = text.chars().take_while(fits).collect();
        cut.push('…');
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::Font;

    #[test]
    fn texts_are_measured_cut_and_broken() {
        let font = Font::new();
        assert!(font.face.is_some());
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
