//! Copies that are linked again: how far a build alone moves the figures of every tool.

use std::fmt::Write;

use plumb_stats::describe;

use super::programs::PROGRAMS;
use super::results::{ToolComparison, ToolVerdict};
use super::shares::share;

/// What a tool says of one comparison.
struct ToolFigure {
    verdict: ToolVerdict,
    ratio: f64,
    ends: Option<[f64; 2]>,
}

/// A rule by which a tool reports a difference, and its figure.
struct Reader {
    name: &'static str,
    figure: fn(&ToolComparison) -> ToolFigure,
}

const READERS: [Reader; 5] = [
    Reader {
        name: "plumb ab",
        figure: |comparison| ToolFigure {
            verdict: comparison.plumb.verdict,
            ratio: comparison.plumb.ratio,
            ends: comparison.plumb.ends,
        },
    },
    Reader {
        name: "hyperfine, its summary",
        figure: |comparison| ToolFigure {
            verdict: comparison.hyperfine.summary,
            ratio: comparison.hyperfine.ratio,
            ends: None,
        },
    },
    Reader {
        name: "hyperfine, its Welch script",
        figure: |comparison| ToolFigure {
            verdict: comparison.hyperfine.welch,
            ratio: comparison.hyperfine.ratio,
            ends: None,
        },
    },
    Reader {
        name: "criterion",
        figure: |comparison| ToolFigure {
            verdict: comparison.criterion.verdict,
            ratio: comparison.criterion.ratio,
            ends: comparison.criterion.ends,
        },
    },
    Reader {
        name: "tango",
        figure: |comparison| ToolFigure {
            verdict: comparison.tango.verdict,
            ratio: comparison.tango.ratio,
            ends: comparison.tango.ends,
        },
    },
];

/// The section on copies that are linked again, next to identical copies of the same programs; empty without any.
pub fn section(relinked: &[&ToolComparison], others: &[&ToolComparison]) -> String {
    if relinked.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Copies that are linked again\n\n\
         B is A linked again, in another order and with padding: the same instructions at other addresses. An identical \
         copy shows whether a tool invents differences, a relinked one how much a build alone moves the figure: \
         *different* is not wrong here.\n\n\
         | | | identical: different | relinked: different | median difference | largest difference |\n\
         |---|---|---|---|---|---|\n",
    );
    let linked: Vec<&str> =
        PROGRAMS.iter().filter(|program| program.is_linked()).map(|program| program.name).collect();
    text.push_str(&rows("all", &linked, relinked, others));
    for name in &linked {
        text.push_str(&rows(name, &[name], relinked, others));
    }
    text
}

/// A row per tool, of some programs.
fn rows(
    title: &str,
    programs: &[&str],
    relinked: &[&ToolComparison],
    others: &[&ToolComparison],
) -> String {
    let again = of_programs(relinked, programs);
    let mut same = of_programs(others, programs);
    same.retain(|comparison| comparison.effect == 0);
    if again.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for (index, reader) in READERS.iter().enumerate() {
        let title = if index == 0 { title } else { "" };
        _ = writeln!(
            rows,
            "| {title} | {} | {} | {} | {} | {} |",
            reader.name,
            different(reader, &same),
            different(reader, &again),
            median(reader, &again),
            largest(reader, &again),
        );
    }
    rows
}

fn of_programs<'a>(all: &[&'a ToolComparison], programs: &[&str]) -> Vec<&'a ToolComparison> {
    let mut chosen = all.to_vec();
    chosen.retain(|comparison| programs.contains(&comparison.program.as_str()));
    chosen
}

/// How often a tool calls the sides different.
fn different(reader: &Reader, comparisons: &[&ToolComparison]) -> String {
    let verdicts = comparisons.iter().map(|comparison| (reader.figure)(comparison).verdict);
    let hits = verdicts
        .filter(|verdict| matches!(verdict, ToolVerdict::Slower | ToolVerdict::Faster))
        .count();
    share(hits as u64, comparisons.len() as u64)
}

/// How far a ratio is from 1.
fn distance(figure: &ToolFigure) -> f64 {
    (figure.ratio - 1.0).abs()
}

fn median(reader: &Reader, comparisons: &[&ToolComparison]) -> String {
    let distances: Vec<f64> =
        comparisons.iter().map(|comparison| distance(&(reader.figure)(comparison))).collect();
    describe::median(&distances).map_or("–".into(), |median| format!("{:.1} %", 100.0 * median))
}

/// The ratio that is farthest from 1, with its interval if the tool gives one.
fn largest(reader: &Reader, comparisons: &[&ToolComparison]) -> String {
    let figures = comparisons.iter().map(|comparison| (reader.figure)(comparison));
    let Some(largest) = figures.max_by(|one, other| distance(one).total_cmp(&distance(other)))
    else {
        return "–".into();
    };
    let ends =
        largest.ends.map_or_else(String::new, |[low, high]| format!(" [{low:.3}, {high:.3}]"));
    format!("{:.3}{ends}", largest.ratio)
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::comparison;
    use super::*;

    #[test]
    fn relinked_copies_are_counted_apart_with_their_distance_from_1() {
        let mut relinked: Vec<ToolComparison> = (0..4)
            .map(|number| ToolComparison { relinked: true, ..comparison(number, 0) })
            .collect();
        relinked[1].plumb.ratio = 0.96;
        relinked[1].plumb.verdict = ToolVerdict::Faster;
        relinked[1].plumb.ends = Some([0.95, 0.97]);
        relinked[2].plumb.ratio = 1.02;
        relinked[3].tango.verdict = ToolVerdict::Slower;
        relinked[3].tango.ratio = 1.03;
        let others = [comparison(4, 0), comparison(5, 0), comparison(6, 5)];
        let text =
            section(&relinked.iter().collect::<Vec<_>>(), &others.iter().collect::<Vec<_>>());
        let plumb = "| all | plumb ab | 0 of 2: 0 % [0, 84] | 1 of 4: 25 % [1, 81] | 1.0 % | 0.960 [0.950, 0.970] |";
        assert!(text.contains(plumb), "{text}");
        let tango = "|  | tango | 0 of 2: 0 % [0, 84] | 1 of 4: 25 % [1, 81] | 0.0 % | 1.030 |";
        assert!(text.contains(tango), "{text}");
        assert!(text.contains("| integer | plumb ab |") && !text.contains("| memory |"), "{text}");
    }

    #[test]
    fn without_relinked_copies_there_is_no_section() {
        assert_eq!(section(&[], &[&comparison(0, 0)]), "");
    }
}
