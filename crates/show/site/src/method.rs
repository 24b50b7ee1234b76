//! The page that explains every word where it is used.

use plumb_model::FlagKind;

use crate::frame::{Page, PageSubject};
use crate::html::{Html, tag, wrap};
use crate::names::METHOD;
use crate::parts::{DataTable, cell, command, heading, link_to, name, paragraph};

/// The words, a row each; what people read of the code is what they read here.
const GLOSSARY: &str = include_str!("../../../../GLOSSARY.md");

/// The chapters of help: address, title, text.
const CHAPTERS: [(&str, &str, &str); 9] = [
    (
        "interval",
        "A number and its interval",
        "Every figure is a median. The brackets after it contain its 95 % interval: if the whole run were repeated \
         many times, 95 of 100 such intervals would contain the true median. The interval covers differences between \
         processes as well as between the samples of one process, and is corrected for each of plumb's checks on \
         whether to stop. If there is no interval, the page gives the reason. ± is the distance to the farther \
         end, relative to the figure.",
    ),
    (
        "processes",
        "Why so many processes",
        "A process keeps the memory layout that the kernel and the linker gave it, and the layout alone can change a \
         result by more than the interval of any single process. plumb therefore starts a workload repeatedly, in rounds: each round measures every point once, in a new random order. If the machine drifts, the drift \
         affects all points alike.",
    ),
    (
        "warming-up",
        "Samples that do not count",
        "The first samples of a process can be slow because of cold caches, CPU frequency or lazy initialisation. \
         plumb finds where the steady state of each process begins. Earlier samples stay in the store and on the \
         charts, in another colour, but do not count. An invocation that other activity disturbed can be \
         excluded too, by rules that never look at its times.",
    ),
    (
        "stopping",
        "When measuring ends",
        "plumb measures a point until its interval is as narrow as requested, or until the time is up. Checking \
         repeatedly and stopping at the first narrow interval would make intervals too narrow, so plumb corrects the \
         confidence level of each check for that.",
    ),
    (
        "comparing",
        "Slower or faster",
        "A ratio is the cost over the first arm's cost: over 1 is slower, whichever direction is better for the metric. \
         A verdict never claims more than its interval: faster and slower need an interval that excludes 1, \
         equivalent needs one inside the margin, and everything else is inconclusive. The sides of one run are \
         compared in pairs measured close together. Runs made at different times also differ by chance: plumb \
         estimates by how much from earlier runs on the same machine, and gives no verdict if they are too few.",
    ),
    (
        "steps",
        "History",
        "A recorded change, such as a new kernel, splits the history of a series; nothing is compared across a split. \
         Between splits, plumb looks for steps. A step is certain if chance would produce it less than 1 time in 1000, \
         and suspected at 1 in 100; measure suspected steps again in pairs.",
    ),
    (
        "covariates",
        "What else changed",
        "If two arms differ, plumb lists the counters and facts that also differ, the largest effect first. Such a \
         change need not be the cause of the difference, but any cause that a monitor records is in the list.",
    ),
    (
        "boxes",
        "How to read the charts",
        "A box spans the first to the third quartile, the line inside is the median, and the whiskers end at the \
         last value within 1.5 times the length of the box. If a chart leaves values out to stay readable, a note below it says so. The numbers of every chart are also available as a table.",
    ),
    (
        "units",
        "Units",
        "Times are in seconds, data in bytes. Sizes use powers of 1024 (KiB, MiB, GiB), rates use powers of 1000 \
         (kB/s, MB/s, GB/s). Hover over a number to see its exact value.",
    ),
];

/// The page that explains every word.
#[must_use]
pub fn method_page() -> Page {
    let mut page = Page::new(METHOD.to_owned(), PageSubject::Method, "How to read these numbers");
    page.add(wrap("h1", "How to read these numbers"));
    let answer = "Is it slow? If there is something to compare with, the page gives a verdict; if not, \
                  it names the command to run. Can you trust it? Flags are reasons to distrust a number, \
                  with their evidence.";
    page.add(wrap("section", paragraph(answer)).class("answer"));
    for (id, title, text) in CHAPTERS {
        page.add(heading(id, title).and(paragraph(text)));
    }
    page.add(heading("flags", "Flags"));
    page.add(paragraph(
        "A flag is a reason to distrust a number, found by a rule. Flags are always shown.",
    ));
    page.add(flags());
    page.add(heading("words", "Words"));
    page.add(words());
    page
}

fn flags() -> Html {
    let mut table = DataTable::new(["Flag", "What it means"]);
    for flag in &FlagKind::ALL {
        let word = flag.word();
        let id = format!("flag-{word}");
        table.row_at(&id, [name(link_to(&id, word)), cell(flag.meaning())]);
    }
    table.build()
}

fn words() -> Html {
    let mut table = DataTable::new(["Word", "What it means"]);
    for (words, meaning) in glossary() {
        // Each word of a row has its own address, for the links of terms.
        let mut shown = Html::default();
        for (index, word) in words.split(", ").enumerate() {
            shown.push(if index > 0 { ", " } else { "" });
            shown.push(tag("dfn").with("id", &word.replace(' ', "-")).add(word));
        }
        table.row([name(shown), cell(marked(meaning))]);
    }
    table.build()
}

/// What the page explains, each with its address in it and what it is.
pub(super) fn places() -> Vec<(&'static str, String, &'static str)> {
    let chapters = CHAPTERS.iter().map(|(id, title, _)| (*title, (*id).to_owned(), "method"));
    let words = glossary().flat_map(|(words, _)| words.split(", "));
    chapters.chain(words.map(|word| (word, word.replace(' ', "-"), "word"))).collect()
}

/// The rows of the glossary's table.
fn glossary() -> impl Iterator<Item = (&'static str, &'static str)> {
    GLOSSARY
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .filter_map(|row| row.split_once(" | "))
        .filter(|(word, _)| *word != "word" && !word.starts_with("---"))
}

/// Text with code between backticks.
fn marked(text: &str) -> Html {
    let parts = text.split('`').enumerate();
    Html::all(
        parts.map(|(index, part)| if index % 2 == 1 { command(part) } else { Html::text(part) }),
    )
}
