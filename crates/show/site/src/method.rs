//! The page that explains every word where it is used.

use plumb_model::FlagKind;

use crate::frame::{Kind, Page};
use crate::html::{Html, tag, wrap};
use crate::names::METHOD;
use crate::parts::{DataTable, cell, command, heading, link_to, name, paragraph};

/// The words, a row each; what people read of the code is what they read here.
const GLOSSARY: &str = include_str!("../../../../GLOSSARY.md");

/// What is to be known before a page is read: address, title, text.
const CHAPTERS: [(&str, &str, &str); 9] = [
    (
        "interval",
        "A number and its interval",
        "Every figure is a median. Behind it, in brackets, stands its 95 % interval: were the whole run repeated \
         over and over, 95 of 100 such intervals would hold the true median. It allows for the differences between \
         processes, not only for those between samples of one, and for every look at which plumb asked whether to \
         stop. Where there is no interval, the reason stands in its place. ± is the larger distance to an end, \
         relative to the figure.",
    ),
    (
        "processes",
        "Why so many processes",
        "A process keeps where the kernel and the linker have placed it, and that alone may move a result by more \
         than any interval of a single process shows. So a workload is started anew again and again, in rounds: \
         every point once a round, in an order drawn anew. A drift of the machine then hits all points alike.",
    ),
    (
        "warming-up",
        "What is left out",
        "The first samples of a process may be slower: caches, frequency, lazy set-up. Where a steady state begins \
         is found in each process; what comes before is kept in the store, drawn in its own colour, and left out \
         of the figures. An invocation that something else disturbed may be excluded by rules that never look at \
         its times.",
    ),
    (
        "stopping",
        "When measuring ends",
        "A point is measured until its interval is as narrow as was wanted, or the time is up. Looking often at \
         narrowing intervals would make them too narrow; the level of each look is set so that this is paid for.",
    ),
    (
        "comparing",
        "Slower or faster",
        "Ratios are costs over the first's cost: over 1 is slower, whatever the metric's direction. A verdict never \
         goes beyond its interval: faster and slower need an interval that excludes 1, equivalent one that lies \
         within the margin; everything else is inconclusive. Sides of one run are compared by pairs measured \
         close together. Runs of different times also differ by themselves: how much is learnt from earlier runs \
         on the same machine, and without enough of them there is no verdict.",
    ),
    (
        "steps",
        "History",
        "What is recorded to have changed, such as the kernel, splits the history of a series, and nothing is compared \
         across. Between splits, steps are looked for that chance would show less than 1 time in 1000 (certain) or 1 in \
         100 (a suspect, to be measured again in pairs).",
    ),
    (
        "moved",
        "What moved with a difference",
        "Where two arms differ, counters and facts that differ with them are listed, the farthest apart first. What \
         moved with a difference need not be its cause, but a cause that any monitor sees is among it.",
    ),
    (
        "boxes",
        "How charts are drawn",
        "A box reaches from the first to the third quartile, the line in it is the median, and whiskers end at the \
         last value within 1.5 times the box's length. Where a chart leaves values out so that it can be drawn, a \
         note below it says so. Every chart has its numbers as a table.",
    ),
    (
        "units",
        "Units",
        "Time is in seconds, data in bytes: B, KiB, MiB, GiB are powers of 1024 for sizes; kB/s, MB/s, GB/s are powers of \
         1000 for rates. The exact value stands in the hint of each number.",
    ),
];

/// Every flag that plumb itself finds.
const FLAGS: [FlagKind; 19] = [
    FlagKind::Cached,
    FlagKind::Tmpfs,
    FlagKind::Capped,
    FlagKind::Noisy,
    FlagKind::Unsteady,
    FlagKind::WarmUp,
    FlagKind::SingleProcess,
    FlagKind::ClientBound,
    FlagKind::ZeroCounter,
    FlagKind::NotResumed,
    FlagKind::LayoutFixed,
    FlagKind::Suspended,
    FlagKind::Uncalibrated,
    FlagKind::Bimodal,
    FlagKind::Overhead,
    FlagKind::Interference,
    FlagKind::WithLoad,
    FlagKind::Resumed,
    FlagKind::EnvironmentChanged,
];

/// The page that explains every word.
#[must_use]
pub fn method_page() -> Page {
    let mut page = Page::new(METHOD.to_owned(), Kind::Method, "How to read these numbers");
    page.add(wrap("h1", "How to read these numbers"));
    let answer = "Is it slow? A verdict stands where something is known to compare with; where nothing is, the page says \
                  what to type. May one believe it? Flags are reasons to distrust, with their evidence.";
    page.add(wrap("section", paragraph(answer)).class("answer"));
    for (id, title, text) in CHAPTERS {
        page.add(heading(id, title).and(paragraph(text)));
    }
    page.add(heading("flags", "Flags"));
    page.add(paragraph(
        "A flag is a reason to distrust a number, found by a rule; it is shown and never hidden.",
    ));
    page.add(flags());
    page.add(heading("words", "Words"));
    page.add(words());
    page
}

fn flags() -> Html {
    let mut table = DataTable::new(["Flag", "What it means"]);
    for flag in &FLAGS {
        let word = flag.word();
        let id = format!("flag-{word}");
        table.row_at(&id, [name(link_to(&id, word)), cell(plumb_report::flags::meaning(flag))]);
    }
    table.build()
}

fn words() -> Html {
    let mut table = DataTable::new(["Word", "What it means"]);
    for (words, meaning) in glossary() {
        let mut shown = Html::default();
        for (index, word) in words.split(", ").enumerate() {
            shown.push(if index > 0 { ", " } else { "" });
            shown.push(tag("dfn").with("id", word).add(word));
        }
        table.row([name(shown), cell(marked(meaning))]);
    }
    table.build()
}

/// What the page explains, each with its address in it and what it is.
pub(super) fn places() -> Vec<(&'static str, String, &'static str)> {
    let chapters = CHAPTERS.iter().map(|(id, title, _)| (*title, (*id).to_owned(), "method"));
    let words = glossary().flat_map(|(words, _)| words.split(", "));
    chapters.chain(words.map(|word| (word, word.to_owned(), "word"))).collect()
}

/// The rows of the glossary's table.
fn glossary() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = GLOSSARY.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let pairs = rows.filter_map(|row| row.split_once(" | "));
    pairs.filter(|(word, _)| *word != "word" && !word.starts_with("---"))
}

/// Text with code between backticks.
fn marked(text: &str) -> Html {
    let parts = text.split('`').enumerate();
    Html::all(
        parts.map(|(index, part)| if index % 2 == 1 { command(part) } else { Html::text(part) }),
    )
}
