//! Parts of pages: tables, numbers, verdicts, flags, explained words.

use std::ops::Range;

use plumb_analysis::{Estimate, NoVerdict};
use plumb_model::{FlagKind, Verdict};
use plumb_report::figure;
use plumb_text::time::date;
use plumb_units::{Figure, quantity};

use crate::html::{Html, Tag, link, tag, wrap};

/// A table of no more rows is searched by eye.
const FEWEST_FILTERED: usize = 12;

/// A table that can be sorted and filtered if scripts run.
pub(crate) struct DataTable {
    head: Vec<Html>,
    rows: Vec<Html>,
}

impl DataTable {
    /// A table with these titles of its columns.
    pub(crate) fn new<T: Into<Html>>(titles: impl IntoIterator<Item = T>) -> Self {
        Self {
            head: titles
                .into_iter()
                .map(|title| Html::from(wrap("th", title).with("scope", "col")))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of cells, each made by [`name`], [`cell`] or [`number`].
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Tag>) {
        self.rows.push(tag("tr").add_all(cells).into());
    }

    /// Adds a row that has an address.
    pub(crate) fn row_at(&mut self, id: &str, cells: impl IntoIterator<Item = Tag>) {
        self.rows.push(tag("tr").with("id", id).add_all(cells).into());
    }

    /// Adds the row of a point, by its index.
    pub(crate) fn row_of(&mut self, point: &str, cells: impl IntoIterator<Item = Tag>) {
        self.rows.push(tag("tr").with("data-point", point).add_all(cells).into());
    }

    /// Adds a row that heads those below it.
    pub(crate) fn group(&mut self, id: &str, text: &str) {
        let cell = wrap("th", text)
            .with("scope", "rowgroup")
            .with("colspan", &self.head.len().to_string());
        self.rows.push(tag("tr").class("group").with("id", id).add(cell).into());
    }

    /// Adds a row across all columns: what holds from here on.
    pub(crate) fn across(&mut self, text: impl Into<Html>) {
        let cell = wrap("td", text).with("colspan", &self.head.len().to_string());
        self.rows.push(tag("tr").class("more across").add(cell).into());
    }

    /// The table, with what it is about.
    pub(crate) fn titled(self, caption: impl Into<Html>) -> Html {
        let head = wrap("thead", tag("tr").add_all(self.head));
        let caption = caption.into();
        let mut table = tag("table").class("data").set("data-sort");
        if self.rows.len() > FEWEST_FILTERED {
            table = table.set("data-filter");
        }
        if !caption.is_empty() {
            table = table.add(wrap("caption", caption));
        }
        table = table.add(head).add(tag("tbody").add_all(self.rows));
        // A table that is wider than the page scrolls, also by keyboard.
        wrap("div", table).class("scroll").with("tabindex", "0").into()
    }

    /// The table without a caption.
    pub(crate) fn build(self) -> Html {
        self.titled("")
    }
}

/// The cell that names its row.
pub(crate) fn name(text: impl Into<Html>) -> Tag {
    wrap("th", text).with("scope", "row")
}

/// A cell of words.
pub(crate) fn cell(text: impl Into<Html>) -> Tag {
    wrap("td", text)
}

/// A cell with a number as people read it; its title, shown on hover and sorted by, has more digits of it.
pub(crate) fn number(value: f64, unit: &str, text: &str) -> Tag {
    let cell = wrap("td", text).class("num");
    let title = format!("{} {unit}", nine_digits(value)).trim_end().to_owned();
    // A title that repeats the text would pop up and say nothing new.
    if value.is_finite() && title != text { cell.with("title", &title) } else { cell }
}

/// Nine significant digits: more than any clock here has of a sample.
pub(crate) fn nine_digits(value: f64) -> String {
    let value = format!("{value:.8e}").parse().unwrap_or(value);
    let size = value.abs();
    let ordinary = size == 0.0 || (1e-4..1e15).contains(&size);
    if ordinary { value.to_string() } else { format!("{value:e}") }
}

/// A cell with a moment, in nanoseconds since 1970 (UTC).
pub(crate) fn when(unix_ns: i64) -> Tag {
    // Sorted by the moment, not by its text.
    cell(date(unix_ns)).class("when").with("data-value", &unix_ns.to_string())
}

/// A cell with a number of things.
pub(crate) fn count(count: usize) -> Tag {
    wrap("td", count.to_string()).class("num")
}

/// A cell with a quantity in an SI base unit.
pub(crate) fn amount(value: f64, unit: &str) -> Tag {
    number(value, unit, &quantity(value, unit))
}

/// Two cells: an estimate with its unit, and its interval or the reason why it has none.
pub(crate) fn estimated(estimate: &Estimate, unit: &str) -> [Tag; 2] {
    let shown = figure(estimate, unit);
    [number(estimate.value, unit, &shown.quantity()), interval(&shown)]
}

/// A cell with an interval.
pub(crate) fn interval(shown: &Figure) -> Tag {
    match &shown.interval {
        Ok(_) => wrap("td", shown.brackets()).class("interval"),
        Err(_) if shown.missing().is_none() => wrap("td", shown.interval_cell()).class("interval"),
        Err(why) => wrap("td", format!("none: {why}")).class("interval none"),
    }
}

/// A name of a series or point, which a narrow column may break after its parts: `memory.copy:` `method=nt,` `size=8MiB`.
pub(crate) fn breakable(name: &str) -> Html {
    let mut out = Html::default();
    for piece in name.split_inclusive([':', ',', '@']) {
        if !out.is_empty() {
            out.push(tag("wbr"));
        }
        out.push(piece);
    }
    out
}

/// Two figures of which a narrow column breaks neither: `184 µs or 3.92 ms`; one if they are the same.
pub(crate) fn either(lower: &str, upper: &str) -> Html {
    let lower_text = wrap("span", lower).class("whole");
    if lower == upper {
        return lower_text.into();
    }
    Html::from(lower_text).and(" or ").and(wrap("span", upper).class("whole"))
}

/// An empty cell.
pub(crate) fn nothing() -> Tag {
    tag("td")
}

/// A verdict by sign and word.
pub(crate) fn verdict(verdict: &Result<Verdict, NoVerdict>) -> Html {
    let (class, sign, word) = match verdict {
        Ok(Verdict::Faster) => ("verdict faster", "▲", "faster"),
        Ok(Verdict::Slower) => ("verdict slower", "▼", "slower"),
        Ok(Verdict::Equivalent) => ("verdict equivalent", "=", "equivalent"),
        Ok(Verdict::Inconclusive) => ("verdict inconclusive", "?", "inconclusive"),
        Err(_) => ("verdict none", "·", "no verdict"),
    };
    // A sign and a word, because not everybody sees the colours that the class stands for.
    let made = wrap("span", format!("{sign} {word}")).class(class);
    match verdict {
        Err(why) => made.with("title", &why.to_string()).into(),
        Ok(_) => made.into(),
    }
}

/// A flag with its meaning.
pub(crate) fn flag(flag: &FlagKind) -> Html {
    let word = flag.word();
    let meaning = flag.meaning();
    if meaning.is_empty() {
        return wrap("span", word).class("flag").into();
    }
    let made = link(&format!("method.html#flag-{word}"), word);
    made.class("flag").with("title", meaning).into()
}

/// Flags one after another.
pub(crate) fn flags<'f>(all: impl IntoIterator<Item = &'f FlagKind>) -> Html {
    let mut out = Html::default();
    for kind in all {
        if !out.is_empty() {
            out.push(" ");
        }
        out.push(flag(kind));
    }
    out
}

/// A word that the page of words explains.
pub(crate) fn term(text: &str, word: &'static str) -> Html {
    link(&format!("method.html#{word}"), text).class("term").into()
}

/// A link to a place in the same page.
pub(crate) fn link_to(id: &str, text: &str) -> Html {
    link(&format!("#{id}"), text).into()
}

/// Something to type.
pub(crate) fn command(text: &str) -> Html {
    wrap("code", text).into()
}

/// A paragraph of text or markup.
pub(crate) fn paragraph(text: impl Into<Html>) -> Html {
    wrap("p", text).into()
}

/// A heading with its own address.
pub(crate) fn heading(id: &str, text: impl Into<Html>) -> Html {
    wrap("h2", text).with("id", id).into()
}

/// A list of items; nothing if there are none.
pub(crate) fn list<T: Into<Html>>(items: impl IntoIterator<Item = T>) -> Html {
    let items: Vec<Tag> = items.into_iter().map(|item| wrap("li", item)).collect();
    if items.is_empty() { Html::default() } else { tag("ul").add_all(items).into() }
}

/// Pairs of what and how much, as a list of definitions.
pub(crate) fn facts<T: Into<Html>>(pairs: impl IntoIterator<Item = (T, Html)>) -> Html {
    let pairs = pairs
        .into_iter()
        .map(|(what, value)| wrap("div", Html::all([wrap("dt", what), wrap("dd", value)])));
    tag("dl").class("facts").add_all(pairs).into()
}

/// Up to so many names in a sentence: `a, b and 3 more`.
pub(crate) fn some(names: &[String], most: usize) -> String {
    let shown: Range<usize> = 0..names.len().min(most);
    let rest = names.len() - shown.len();
    let list = names[shown].join(", ");
    if rest > 0 { format!("{list} and {rest} more") } else { list }
}
