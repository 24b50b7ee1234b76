//! Markup, and the only ways for text to get into it.
//!
//! Names of elements and attributes are literals of this program. Everything else is text, cleaned of
//! characters that act ([`clean`]) and escaped by [`escaped`], so that no label, name or remark is ever
//! markup, whatever it holds.

use plumb_text::clean;

/// Elements that have no content and no end.
const VOID: [&str; 7] = ["meta", "link", "br", "hr", "input", "img", "wbr"];

/// A piece of markup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Text as markup, cleaned and escaped.
    pub(crate) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// Several pieces one after another.
    pub(crate) fn all<T: Into<Self>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let mut out = Self::default();
        pieces.into_iter().for_each(|piece| out.push(piece));
        out
    }

    /// Adds a piece at the end.
    pub(crate) fn push(&mut self, piece: impl Into<Self>) {
        let Self(piece) = piece.into();
        if self.0.is_empty() { self.0 = piece } else { self.0.push_str(&piece) }
    }

    /// With a piece after it.
    pub(crate) fn and(mut self, piece: impl Into<Self>) -> Self {
        self.push(piece);
        self
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The whole document, whose root element this is.
    pub(crate) fn document(self) -> String {
        format!("<!doctype html>\n{}\n", self.0)
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

/// An element that is being made.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    name: &'static str,
    attributes: String,
    inner: Html,
}

/// An element of this name.
pub(crate) fn tag(name: &'static str) -> Tag {
    Tag { name, attributes: String::new(), inner: Html::default() }
}

/// An element that holds one thing.
pub(crate) fn wrap(name: &'static str, inner: impl Into<Html>) -> Tag {
    tag(name).add(inner)
}

/// A link to another page, or to a place in one.
pub(crate) fn link(to: &str, text: impl Into<Html>) -> Tag {
    wrap("a", text).with("href", to)
}

impl Tag {
    /// With an attribute.
    pub(crate) fn with(mut self, attribute: &'static str, value: &str) -> Self {
        for piece in [" ", attribute, "=\"", &escaped(value), "\""] {
            self.attributes.push_str(piece);
        }
        self
    }

    /// With an attribute that has no value.
    pub(crate) fn set(mut self, attribute: &'static str) -> Self {
        self.attributes.push(' ');
        self.attributes.push_str(attribute);
        self
    }

    /// With a class.
    pub(crate) fn class(self, class: &str) -> Self {
        self.with("class", class)
    }

    /// With something more inside; text is escaped.
    pub(crate) fn add(mut self, piece: impl Into<Html>) -> Self {
        self.inner.push(piece);
        self
    }

    /// With several things more inside.
    pub(crate) fn add_all<T: Into<Html>>(mut self, pieces: impl IntoIterator<Item = T>) -> Self {
        pieces.into_iter().for_each(|piece| self.inner.push(piece));
        self
    }
}

impl From<Tag> for Html {
    fn from(Tag { name, attributes, inner }: Tag) -> Self {
        // A line an element of these keeps pages readable and their versions comparable.
        let lead = if matches!(name, "tr" | "section" | "figure" | "h2" | "h3" | "main") {
            "\n"
        } else {
            ""
        };
        if VOID.contains(&name) {
            return Self(format!("<{name}{attributes}>"));
        }
        // A page has some ten thousand elements, each of which is copied into the one around it.
        Self([lead, "<", name, &attributes, ">", &inner.0, "</", name, ">"].concat())
    }
}

/// Text as it may stand between elements and in a quoted attribute.
fn escaped(text: &str) -> String {
    let text = clean(text);
    if !text.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'')) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Html, link, tag, wrap};

    #[test]
    fn text_is_never_markup() {
        let hostile = "<script>\"'&\u{202e}\u{2028}\u{1b}";
        let Html(made) = wrap("p", hostile).with("title", hostile).into();
        let text = r"&lt;script&gt;&quot;&#39;&amp;\u{202e}\u{2028}\u{1b}";
        assert_eq!(made, format!("<p title=\"{text}\">{text}</p>"));
    }

    #[test]
    fn elements_nest_and_void_ones_have_no_end() {
        let list = tag("ul").add_all(["a", "b"].map(|item| wrap("li", link("x.html", item))));
        let Html(made) = list.add(tag("br")).set("hidden").into();
        let one = |item| format!("<li><a href=\"x.html\">{item}</a></li>");
        assert_eq!(made, format!("<ul hidden>{}{}<br></ul>", one("a"), one("b")));
    }
}
