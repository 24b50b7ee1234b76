//! What every page has around its content.

use plumb_chart::Chart;
use plumb_report::run::View;

use crate::figure::{places, with_picture};
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names::{self, HISTORY, INDEX, METHOD};
use crate::script;

/// Nothing comes from elsewhere, and no script or style stands in a page. Charts are drawn into data and
/// blob URLs when they are saved as files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// A plumb bob. Without one, browsers ask for a file that is not there.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E\
                    %3Cpath d=%22M7.5 0h1v7h2.5l-3 9-3-9h2.5z%22 fill=%22%231f66b0%22/%3E%3C/svg%3E";

/// The subject of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSubject {
    /// All runs, the newest with its results.
    Index,
    /// A run with all its results.
    Run,
    /// A workload in a run.
    Workload,
    /// What monitors saw next to a run.
    Monitors,
    /// Runs side by side.
    Compare,
    /// One command on several machines.
    Fleet,
    /// Series over their runs.
    History,
    /// A machine, its facts and what changed on it.
    Machine,
    /// The explanation of words.
    Method,
    /// A run under way.
    Live,
    /// Something that is said, an error for one.
    Message,
}

impl PageSubject {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Run => "run",
            Self::Workload => "workload",
            Self::Monitors => "monitors",
            Self::Compare => "compare",
            Self::Fleet => "fleet",
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
    /// The name without an ending.
    pub name: String,
    /// What it is about.
    pub kind: PageSubject,
    /// The title that people read.
    pub title: String,
    pub(crate) here: Vec<(String, String)>,
    pub(crate) content: Html,
    /// The charts that the page's script draws, in the order of their places.
    pub charts: Vec<Chart>,
    /// Where messages about it come from.
    pub(crate) live: Option<String>,
    /// Seconds after which a browser without scripts asks again.
    pub(crate) anew: Option<&'static str>,
    /// The page that it leads to at once.
    pub(crate) leads_to: Option<String>,
}

/// A page as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text of `NAME.html`.
    pub html: String,
    /// `data/NAME.js`: the charts, handed to the page's script.
    pub charts: String,
}

impl Page {
    pub(crate) fn new(name: String, kind: PageSubject, title: impl Into<String>) -> Self {
        Self {
            name,
            kind,
            title: title.into(),
            here: Vec::new(),
            content: Html::default(),
            charts: Vec::new(),
            live: None,
            anew: None,
            leads_to: None,
        }
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
        self.add(tag("div").class("charts").add_all(places(&charts)));
        self.charts.extend(charts);
    }

    /// The same, with pictures that are seen before a script runs, and without any.
    pub(crate) fn draw_now(&mut self, charts: Vec<Chart>) {
        self.add(tag("div").class("charts").add_all(charts.iter().map(with_picture)));
        self.charts.extend(charts);
    }

    /// The same, together in an element that scripts find by this id.
    pub(crate) fn draw_in(&mut self, id: &str, charts: Vec<Chart>) {
        self.add(tag("div").with("id", id).add_all(places(&charts)));
        self.charts.extend(charts);
    }

    /// The page as files.
    #[must_use]
    pub fn render(self) -> Rendered {
        Rendered { html: self.document(), charts: script::charts(&self.name, self.charts) }
    }

    fn document(&self) -> String {
        let title = if self.kind == PageSubject::Index {
            "plumb".to_owned()
        } else {
            format!("{} · plumb", self.title)
        };
        let head = tag("head")
            .add(tag("meta").with("charset", "utf-8"))
            .add(meta("viewport", "width=device-width, initial-scale=1"))
            // The policy holds only for what comes after it.
            .add(tag("meta").with("http-equiv", "Content-Security-Policy").with("content", POLICY))
            .add(meta("referrer", "no-referrer"))
            .add(wrap("title", title))
            .add(tag("link").with("rel", "icon").with("href", ICON))
            .add(tag("link").with("rel", "stylesheet").with("href", "plumb.css"))
            .add(tag("script").set("defer").with("src", "plumb.js"))
            .add_all(self.anew.map(|after| wrap("noscript", refresh(after))))
            .add_all(self.leads_to.as_ref().map(|to| refresh(&format!("0;url={to}"))));
        let mut main = wrap("main", self.content.clone()).with("id", "main");
        if let Some(events) = &self.live {
            main = main.with("data-live", events);
        }
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
        let near = self.here.iter().map(|(page, text)| self.nav_item(page, text));
        let nav = tag("nav")
            .with("aria-label", "Pages")
            .add(self.nav_item(INDEX, "Runs"))
            .add_all(near)
            .add(self.nav_item(HISTORY, "History"))
            .add(self.nav_item(METHOD, "Method"));
        let brand = link("index.html", "plumb").class("brand");
        let tools = tag("div").class("tools").set("hidden");
        // The script fills the tools (search, colours); without it they would be dead, so they begin hidden.
        wrap("header", brand).class("top").add(nav).add(tools).into()
    }

    fn nav_item(&self, page: &str, text: &str) -> Tag {
        let to = link(&format!("{page}.html"), text);
        if page == self.name { to.with("aria-current", "page") } else { to }
    }
}

/// The element that makes a browser load a page, now or after some seconds.
fn refresh(content: &str) -> Tag {
    tag("meta").with("http-equiv", "refresh").with("content", content)
}

fn meta(name: &str, content: &str) -> Html {
    tag("meta").with("name", name).with("content", content).into()
}

fn foot() -> Html {
    let plumb = concat!("Written by plumb ", env!("CARGO_PKG_VERSION"), ". ");
    let every = "Every number comes with its interval, or with the reason for having none: ";
    Html::all([
        Html::text(plumb),
        every.into(),
        link("method.html", "how to read them").into(),
        ".".into(),
    ])
}
