//! The progress of a run, in one line or a few.
//!
//! Nothing is predicted here: time left is what the strategy predicts for the points that are open, and
//! if it predicts none it says so.

use std::time::Duration;

use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, clip, counted};
use plumb_units::length;
use plumb_units::percent;

use crate::progress::{ProgressPoint, ProgressRatio, ProgressState, ProgressView};

/// Columns of a line other than the point's name, if precision is wanted.
const COLUMNS_OF_PRECISION: usize = 46;

/// The same if sides are compared, whose interval is drawn.
const COLUMNS_OF_COMPARISON: usize = 62;

/// Cells of a bar.
const BAR: usize = 10;

/// Margins on either side of the drawing of an interval.
const SPAN: f64 = 3.5;

/// Cells on either side of it.
const HALF: i32 = 7;

impl ProgressRatio {
    /// `1.012 [0.994, 1.031]`.
    fn text(&self) -> String {
        match self.ends {
            None => format!("{:.3}", self.ratio),
            Some((low, high)) => {
                format!("{:.3} [{}, {}]", self.ratio, end_text(low), end_text(high))
            }
        }
    }

    /// The interval around the margin: `╌╌┊╌━●━╌┊╌╌`, as wide as [`SPAN`] margins on either side.
    fn drawn(&self, unicode: bool) -> String {
        let (low, high) = self.ends.unwrap_or((0.0, f64::INFINITY));
        let low = self.cell(low);
        let centre = self.cell(self.ratio);
        let high = self.cell(high);
        let (edge, bar, dot, rest) =
            if unicode { ('┊', '━', '●', '╌') } else { ('|', '=', 'o', '.') };
        let margin = self.cell(1.0 + self.margin);
        (-HALF..=HALF)
            .map(|at| match at {
                at if at == centre => dot,
                at if (low..=high).contains(&at) => bar,
                at if at.abs() == margin => edge,
                _ => rest,
            })
            .collect()
    }

    // In logarithms, so that twice as fast and twice as slow are equally far from the centre.
    #[expect(clippy::cast_possible_truncation, reason = "clamped to a few cells")]
    fn cell(&self, ratio: f64) -> i32 {
        let margins = (ratio.ln() / self.margin.ln_1p()).clamp(-SPAN, SPAN);
        (margins * f64::from(HALF) / SPAN).round() as i32
    }
}

/// One end of an interval of ratios; an open one is infinite.
fn end_text(end: f64) -> String {
    if end.is_finite() { format!("{end:.3}") } else { "∞".to_owned() }
}

impl ProgressState {
    fn word(self) -> &'static str {
        match self {
            Self::Open => "",
            Self::Done => "done",
            Self::Ended => "time is up",
            Self::Inconclusive => "inconclusive",
            Self::Failed => "failed",
            Self::Unsupported => "not supported here",
        }
    }

    /// The word for it in a table.
    pub(crate) fn name(self) -> &'static str {
        if self == Self::Open { "open" } else { self.word() }
    }

    fn style(self) -> Style {
        match self {
            Self::Open => Style::Plain,
            Self::Done => Style::Good,
            Self::Ended | Self::Inconclusive | Self::Unsupported => Style::Flag,
            Self::Failed => Style::Bad,
        }
    }
}

/// The run in one line, for a log: `3 of 20 points finished · memory.copy · 35 s · time left unknown`. If the program of
/// the point says what it is doing, that follows the point's name.
#[must_use]
pub fn progress_line(view: &ProgressView) -> String {
    // A pair alternates between both sides: the side that is compared says more than the one that runs right now.
    let compared = view.points.iter().rev().find(|point| point.compared.is_some());
    let current = compared.or(current(view)).map(|point| match (point.reached, point.wanted) {
        _ if let Some(compared) = point.compared => {
            let margin = percent(compared.margin);
            let pairs = counted(compared.pairs, "pair", "pairs");
            format!("{} {} at {pairs}, margin {margin}", point.name, standing(point))
        }
        (Some(reached), Some(wanted)) => {
            format!("{} ±{} of ±{}", point.name, percent(reached), percent(wanted))
        }
        (Some(reached), None) => format!("{} ±{}", point.name, percent(reached)),
        _ => point.name.clone(),
    });
    let parts = [
        Some(finished(view)),
        current,
        view.activity.clone(),
        Some(length(view.elapsed.as_secs_f64())),
        Some(left(view)),
    ];
    clean(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

/// The run in at most so many lines: a summary, then points with a bar towards what is wanted. Points
/// that still need data come before those that are over; the order is the plan's.
#[must_use]
pub fn progress_lines(view: &ProgressView, terminal: &Terminal, lines: usize) -> String {
    let summary = [finished(view), length(view.elapsed.as_secs_f64()), left(view)].join(" · ");
    // No line may wrap: the lines are drawn over each other, and a wrapped one would leave its rest behind.
    let fitting = clip(&summary, terminal.width);
    let mut out = TextLine::new(Style::Title, &fitting).render(terminal.colour);
    out.push('\n');
    let activity = activity_line(view, terminal).filter(|_| lines > 2);
    let shown = shown(view, lines.saturating_sub(2 + usize::from(activity.is_some())));
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::left("").gap(1),
        TableColumn::right(""),
        TableColumn::left(""),
        TableColumn::left(""),
    ]);
    for &index in &shown {
        table.row(cells(view, index, terminal));
    }
    out.push_str(&terminal.table(&table));
    if let Some(line) = activity {
        out.push_str(&line.render(terminal.colour));
        out.push('\n');
    }
    let hidden = view.points.len() - shown.len();
    if hidden > 0 && lines > 1 {
        let more = format!("  and {}", counted(hidden, "more point", "more points"));
        out.push_str(&TextLine::new(Style::Muted, &more).render(terminal.colour));
        out.push('\n');
    }
    terminal.signs(out)
}

/// What the program of the current point says that it is doing, on a line that does not wrap.
fn activity_line(view: &ProgressView, terminal: &Terminal) -> Option<TextLine> {
    let text = format!("  {}: {}", current(view)?.name, view.activity.as_ref()?);
    Some(TextLine::new(Style::Muted, &clip(&clean(&text), terminal.width)))
}

pub(crate) fn current(view: &ProgressView) -> Option<&ProgressPoint> {
    view.points.get(view.current?)
}

fn finished(view: &ProgressView) -> String {
    let over = view.points.iter().filter(|point| point.state != ProgressState::Open).count();
    format!("{over} of {} finished", counted(view.points.len(), "point", "points"))
}

/// Time left as the caller predicts it; the budget bounds what nobody predicts.
pub(crate) fn left(view: &ProgressView) -> String {
    let within = view.budget.map(|budget| budget.saturating_sub(view.elapsed));
    match (view.remaining, within) {
        (Some(remaining), _) => format!("about {} left", whole_seconds(remaining)),
        (None, Some(limit)) => format!("time left unknown, at most about {}", whole_seconds(limit)),
        (None, None) => "time left unknown".to_owned(),
    }
}

// Rounded up: "0 s left" while something still runs would be wrong.
fn whole_seconds(time: Duration) -> String {
    length(time.as_secs_f64().ceil())
}

/// The points that fit, in the plan's order: the current one, open ones, then those that are over.
fn shown(view: &ProgressView, room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..view.points.len()).collect();
    order.sort_by_key(|index| {
        let open = view.points[*index].state == ProgressState::Open;
        (view.current != Some(*index), !open, *index)
    });
    order.truncate(room);
    order.sort_unstable();
    order
}

fn cells(view: &ProgressView, index: usize, terminal: &Terminal) -> Vec<TextLine> {
    let point = &view.points[index];
    let running = view.current == Some(index);
    let mark = match (running, terminal.unicode) {
        (true, true) => "▸",
        (true, false) => ">",
        (false, _) => " ",
    };
    let others = if view.points.iter().any(|point| point.compared.is_some()) {
        COLUMNS_OF_COMPARISON
    } else {
        COLUMNS_OF_PRECISION
    };
    let room = terminal.width.saturating_sub(others).clamp(12, 60);
    let name = clip(&clean(&point.name), room);
    let rounds = if point.rounds > 0 { format!("{}×", point.rounds) } else { String::new() };
    vec![
        TextLine::new(Style::Estimate, mark),
        TextLine::new(if running { Style::Estimate } else { Style::Name }, &name),
        TextLine::new(Style::Muted, &rounds),
        bar(point, terminal.unicode),
        TextLine::new(point.state.style(), &standing(point)),
    ]
}

/// Precision or ratio, and where the point stands.
pub(crate) fn standing(point: &ProgressPoint) -> String {
    let precision = match (point.reached, point.wanted) {
        _ if point.compared.is_some() => point.compared.map_or(String::new(), |ratio| ratio.text()),
        (Some(reached), Some(wanted)) => format!("±{} of ±{}", percent(reached), percent(wanted)),
        (Some(reached), None) => format!("±{}", percent(reached)),
        (None, _) => String::new(),
    };
    format!("{precision} {}", point.state.word()).trim().to_owned()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of ten cells"
)]
fn bar(point: &ProgressPoint, unicode: bool) -> TextLine {
    if let Some(compared) = point.compared {
        return TextLine::new(point.state.style(), &compared.drawn(unicode));
    }
    let Some(share) = point.share() else { return TextLine::default() };
    let full = ((share * BAR as f64) as usize).min(BAR);
    let (filled, empty) = if unicode { ("█", "░") } else { ("#", ".") };
    TextLine::new(point.state.style(), &filled.repeat(full))
        .and(Style::Muted, &empty.repeat(BAR - full))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use insta::assert_snapshot;
    use proptest::prelude::{any, prop, proptest};

    use super::{progress_line, progress_lines};
    use crate::progress::{ProgressPoint, ProgressRatio, ProgressState, ProgressView};
    use plumb_text::Terminal;

    fn point(
        name: &str,
        rounds: usize,
        reached: Option<f64>,
        state: ProgressState,
    ) -> ProgressPoint {
        ProgressPoint {
            name: name.into(),
            rounds,
            reached,
            wanted: Some(0.03),
            compared: None,
            state,
            remaining_ns: None,
        }
    }

    fn view() -> ProgressView {
        ProgressView {
            points: vec![
                point("cpu.sieve", 10, Some(0.004), ProgressState::Done),
                point("memory.copy:method=nt", 7, Some(0.062), ProgressState::Open),
                point("storage.random", 3, None, ProgressState::Open),
                point("network.icmp", 0, None, ProgressState::Unsupported),
                point("datastore.batch", 0, None, ProgressState::Failed),
            ],
            current: Some(1),
            elapsed: Duration::from_millis(35_200),
            remaining: Some(Duration::from_secs(84)),
            budget: Some(Duration::from_secs(120)),
            activity: None,
        }
    }

    fn doing(text: &str) -> ProgressView {
        let mut view = view();
        view.doing(2, text);
        view
    }

    #[test]
    fn one_line_for_a_log() {
        assert_snapshot!(progress_line(&view()), @"
        3 of 5 points finished · memory.copy:method=nt ±6.2 % of ±3 % · 35 s · about 1 min 24 s left
        ");
        let unknown = ProgressView { remaining: None, current: None, ..view() };
        assert_snapshot!(progress_line(&unknown), @"
        3 of 5 points finished · 35 s · time left unknown, at most about 1 min 25 s
        ");
        assert_snapshot!(progress_line(&ProgressView::default()), @"0 of 0 points finished · 0 s · time left unknown");
    }

    #[test]
    fn an_interval_narrows_around_the_margin() {
        let at = |pairs, low, high| ProgressRatio {
            pairs,
            ratio: 1.004,
            ends: Some((low, high)),
            margin: 0.01,
        };
        assert_snapshot!(at(8, 0.97, 1.04).drawn(true), @"╌━━━━━━━●━━━━━━");
        assert_snapshot!(at(40, 0.999, 1.008).drawn(true), @"╌╌╌╌╌┊╌━●━╌╌╌╌╌");
        assert_snapshot!(at(8, 0.5, 2.0).drawn(false), @"========o======");
        assert_snapshot!(at(12, 0.97, 1.04).text(), @"1.004 [0.970, 1.040]");
    }

    #[test]
    fn a_few_lines_for_a_terminal() {
        assert_snapshot!(progress_lines(&view(), &Terminal::plain(80), 10), @"
        3 of 5 points finished · 35 s · about 1 min 24 s left
          cpu.sieve              10×  ██████████  ±0.4 % of ±3 % done
        ▸ memory.copy:method=nt   7×  ██░░░░░░░░  ±6.2 % of ±3 %
          storage.random          3×
          network.icmp                            not supported here
          datastore.batch                         failed
        ");
        let small = Terminal { unicode: false, ..Terminal::plain(60) };
        assert_snapshot!(progress_lines(&view(), &small, 4), @"
        3 of 5 points finished | 35 s | about 1 min 24 s left
        > memory.copy:m.  7x  ##........  ~6.2 % of ~3 %
          storage.random  3x
          and 3 more points
        ");
    }

    #[test]
    fn what_a_program_says_stands_next_to_its_point() {
        let doing_phase = doing("phase 4 of 12: rewrite");
        assert_snapshot!(progress_line(&doing_phase), @"
        3 of 5 points finished · storage.random · phase 4 of 12: rewrite · 35 s · about 1 min 24 s left
        ");
        assert_snapshot!(progress_lines(&doing_phase, &Terminal::plain(80), 10), @"
        3 of 5 points finished · 35 s · about 1 min 24 s left
          cpu.sieve              10×  ██████████  ±0.4 % of ±3 % done
          memory.copy:method=nt   7×  ██░░░░░░░░  ±6.2 % of ±3 %
        ▸ storage.random          3×
          network.icmp                            not supported here
          datastore.batch                         failed
          storage.random: phase 4 of 12: rewrite
        ");
        // Hostile text is one line that does not wrap.
        let hostile = doing(&"\u{1b}[2J all your lines\n".repeat(9));
        let lines = progress_lines(&hostile, &Terminal::plain(60), 5);
        assert!(!lines.contains('\u{1b}') && lines.lines().count() == 5, "{lines}");
        assert!(lines.lines().all(|line| plumb_text::width(line) <= 60), "{lines}");
    }

    proptest! {
        #[test]
        fn any_state_is_shown(
            name in any::<String>(), reached in any::<f64>(), wanted in any::<f64>(),
            current in prop::option::of(0_usize..4), lines in 0_usize..10, width in 0_usize..200,
            activity in prop::option::of(any::<String>()),
        ) {
            let point = ProgressPoint { name, reached: Some(reached), wanted: Some(wanted), ..ProgressPoint::default() };
            let view = ProgressView { points: vec![point; 3], current, activity, ..ProgressView::default() };
            let shown = progress_lines(&view, &Terminal::plain(width), lines);
            assert!(shown.lines().count() <= lines.max(1) && !progress_line(&view).contains(char::is_control));
        }
    }
}
