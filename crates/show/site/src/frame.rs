//! What every page has around its content.

use std::io;

use plumb_chart::Chart;
use plumb_report::run::View;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::figure::figure;
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names::{self, HISTORY, INDEX, METHOD};

/// Nothing comes from elsewhere, and no script or style stands in a page. Charts are drawn into data and
/// blob URLs when they are saved as files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// A plumb bob. Without one, browsers ask for a file that is not there.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E\
                    %3Cpath d=%22M7.5 0h1v7h2.5l-3 9-3-9h2.5z%22 fill=%22%231f66b0%22/%3E%3C/svg%3E";

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All runs.
    Index,
    /// A run.
    Run,
    /// A workload in a run.
    Workload,
    /// What monitors saw beside a run.
    Monitors,
    /// Runs side by side.
    Compare,
    /// Series over their runs.
    History,
    /// A machine.
    Machine,
    /// What words mean.
    Method,
    /// A run under way.
    Live,
    /// Something that is said, an error for one.
    Message,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Run => "run",
            Self::Workload => "workload",
            Self::Monitors => "monitors",
            Self::Compare => "compare",
            Self::History => "history",
            Self::Machine => "machine",
            Self::Method => "method",
            Self::Live => "live",
            Self::Message => "message",
        }
    }
}

/// A page, before it is written.
#[derive(Debug, Clone)]
pub struct Page {
    /// What it is called, without an ending.
    pub name: String,
    /// What it is about.
    pub kind: Kind,
    /// What it is called by people.
    pub title: String,
    pub(crate) here: Vec<(String, String)>,
    pub(crate) content: Html,
    /// Its charts.
    pub charts: Vec<Chart>,
    /// Where messages about it come from.
    pub(crate) live: Option<String>,
    /// Seconds after which a browser without scripts asks anew.
    pub(crate) anew: Option<&'static str>,
    /// The page that it leads to at once.
    pub(crate) leads_to: Option<String>,
}

/// A page as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// `NAME.html`.
    pub html: String,
    /// `data/NAME.js`: the charts, handed to the page's script.
    pub charts: String,
}

impl Page {
    pub(crate) fn new(name: String, kind: Kind, title: impl Into<String>) -> Self {
        let (here, content) = (Vec::new(), Html::default());
        let (live, anew, leads_to, title) = (None, None, None, title.into());
        Self { name, kind, title, here, content, charts: Vec::new(), live, anew, leads_to }
    }

    /// With links to a run, to its monitors and its machine, and to the part of it that this page is.
    pub(crate) fn at_run(mut self, view: &View, part: Option<&str>) -> Self {
        let run = view.finding.run.id;
        self = self.near(&names::run_page(run), "This run");
        if let Some(workload) = part {
            self = self.near(&names::workload_page(run, workload), workload);
        }
        self = self.near(&names::monitors_page(run), "Monitors");
        match view.finding.targets.first() {
            Some(target) => self
                .near(&names::machine_page(&target.machine.fingerprint, &target.host), "Machine"),
            None => self,
        }
    }

    /// With a link between `Runs` and `History`: a page and what it is called.
    pub(crate) fn near(mut self, page: &str, text: &str) -> Self {
        self.here.push((page.to_owned(), text.to_owned()));
        self
    }

    pub(crate) fn add(&mut self, piece: impl Into<Html>) {
        self.content.push(piece);
    }

    /// With a place for every chart.
    pub(crate) fn draw(&mut self, charts: Vec<Chart>) {
        self.add(tag("div").class("charts").add_all(charts.iter().map(figure)));
        self.charts.extend(charts);
    }

    /// The same, together in an element that scripts find by this id.
    pub(crate) fn draw_in(&mut self, id: &str, charts: Vec<Chart>) {
        self.add(tag("div").with("id", id).add_all(charts.iter().map(figure)));
        self.charts.extend(charts);
    }

    /// The page as files.
    #[must_use]
    pub fn render(self) -> Rendered {
        Rendered {
            charts: call("charts", &[&in_script(&self.name), &in_script(&self.charts)]),
            html: self.document(),
        }
    }

    fn document(self) -> String {
        let title = if self.kind == Kind::Index {
            "plumb".to_owned()
        } else {
            format!("{} · plumb", self.title)
        };
        let head = tag("head")
            .add(tag("meta").with("charset", "utf-8"))
            .add(meta("viewport", "width=device-width, initial-scale=1"))
            .add(tag("meta").with("http-equiv", "Content-Security-Policy").with("content", POLICY))
            .add(meta("referrer", "no-referrer"))
            .add(wrap("title", title))
            .add(tag("link").with("rel", "icon").with("href", ICON))
            .add(tag("link").with("rel", "stylesheet").with("href", "plumb.css"))
            .add(tag("script").set("defer").with("src", "plumb.js"))
            .add_all(self.anew.map(|after| wrap("noscript", refresh(after))))
            .add_all(self.leads_to.as_ref().map(|to| refresh(&format!("0;url={to}"))));
        let main = wrap("main", self.content.clone()).with("id", "main");
        let main = match &self.live {
            Some(events) => main.with("data-live", events),
            None => main,
        };
        let body = tag("body")
            .add(link("#main", "Skip to content").class("skip"))
            .add(self.top())
            .add(main)
            .add(wrap("footer", foot()));
        let root = tag("html")
            .with("lang", "en")
            .with("data-page", &self.name)
            .with("data-kind", self.kind.word());
        Html::from(root.add(head).add(body)).document()
    }

    fn top(&self) -> Html {
        let item = |page: &str, text: &str| {
            let to = link(&format!("{page}.html"), text);
            if page == self.name { to.with("aria-current", "page") } else { to }
        };
        let near = self.here.iter().map(|(page, text)| item(page, text));
        let nav = tag("nav").with("aria-label", "Pages").add(item(INDEX, "Runs")).add_all(near);
        let nav = nav.add(item(HISTORY, "History")).add(item(METHOD, "Method"));
        let brand = link("index.html", "plumb").class("brand");
        let tools = tag("div").class("tools").set("hidden");
        wrap("header", brand).class("top").add(nav).add(tools).into()
    }
}

/// What makes a browser ask for a page.
fn refresh(content: &str) -> Tag {
    tag("meta").with("http-equiv", "refresh").with("content", content)
}

fn meta(name: &str, content: &str) -> Html {
    tag("meta").with("name", name).with("content", content).into()
}

fn foot() -> Html {
    let plumb = concat!("Written by plumb ", env!("CARGO_PKG_VERSION"), ". ");
    let every = "Every number comes with its interval, or the reason why it has none: ";
    Html::all([
        Html::text(plumb),
        every.into(),
        link("method.html", "how to read them").into(),
        ".".into(),
    ])
}

/// `plumb.NAME(VALUE,VALUE);`: a call that a classic script makes, so that it also works from a file.
pub(crate) fn call(function: &str, values: &[&str]) -> String {
    format!("plumb.{function}({});\n", values.join(","))
}

/// A value as it may stand in a script: what ends an element or a line is written as its number, so that no
/// text in it ends the script, and numbers have the digits that can be drawn.
pub(crate) fn in_script(value: &(impl Serialize + ?Sized)) -> String {
    let mut json = Vec::new();
    let mut writer = Serializer::with_formatter(&mut json, Drawn);
    // Only keys that are no text can fail, and no page has any.
    if value.serialize(&mut writer).is_err() {
        json = b"null".to_vec();
    }
    let json = String::from_utf8_lossy(&json);
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json.into_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Writes numbers with as many digits as can be seen: seven, and of moments, which are large, ten.
struct Drawn;

impl Formatter for Drawn {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        CompactFormatter.write_f64(writer, drawn(value))
    }
}

/// The number with seven significant digits, ten above 10⁹.
#[expect(clippy::cast_possible_truncation, reason = "the exponent of an f64")]
fn drawn(value: f64) -> f64 {
    let size = value.abs();
    if size == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = if size < 1e9 { 7 } else { 10 };
    let decimals = digits - 1 - size.log10().floor() as i32;
    // Powers of ten are exact up to the 22nd.
    match decimals {
        0..=22 => (value * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals),
        -22..0 => (value / 10_f64.powi(-decimals)).round() * 10_f64.powi(-decimals),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::{drawn, in_script};

    #[test]
    fn a_script_ends_where_it_should() {
        let hostile = ["</script><!--", "\u{2028}&\u{2029}", "\"\\"];
        let written = in_script(&hostile);
        assert_eq!(written, r#"["\u003c/script\u003e\u003c!--","\u2028\u0026\u2029","\"\\"]"#);
        assert_eq!(serde_json::from_str::<[String; 3]>(&written).unwrap(), hostile);
    }

    #[test]
    fn numbers_are_short_and_dates_are_to_the_second() {
        let numbers = [1.234_567_89e-9, 0.1 + 0.2, 11_412_345_678.9, 1_732_219_201.5, -0.0, 1e300];
        assert_eq!(in_script(&numbers), "[1.234568e-9,0.3,11412345680.0,1732219202.0,-0.0,1e+300]");
    }

    proptest! {
        #[test]
        fn nothing_moves_by_more_than_can_be_seen(value in -1e15_f64..1e15) {
            assert!((drawn(value) - value).abs() <= value.abs() * 1e-6);
        }
    }
}
