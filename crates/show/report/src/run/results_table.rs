//! The results of a scorecard: a row a point, with as many columns as there is room for.

use plumb_analysis::{CONFIDENCE, CpuShares, Estimate, Finding, Level};
use plumb_model::{Better, FlagKind, SampleIs, StopReason};
use plumb_text::sparkline::histogram;
use plumb_text::{IntervalScale, Style, Table, TableColumn, Terminal, TextLine};
use plumb_units::{Figure, SHARE, length, percent, quantity, whole_percent};

use crate::figure::{figure, in_brackets};
use crate::run::burst::burst_text;
use crate::run::view::{ResultRow, View, baseline_text, without_baseline};

/// From this width on flags and half-widths have columns.
const ROOMY: usize = 100;
/// Between the first two widths, and from the third on, there is room to draw intervals side by side,
/// in so many columns.
const DRAWN: [usize; 3] = [120, WIDE, 180];
const STRIP: usize = 16;
/// From this width on every figure has a column.
const WIDE: usize = 150;
/// A share of waiting for devices from which on it is said if it has no column.
const WORTH_SAYING: f64 = 0.05;
/// CPU time and waiting together may exceed the time by this share, for ticks that fall on a border.
const TOLERATED: f64 = 0.1;
/// The place of the first column after the unit, if the metric has none.
const AFTER_UNIT: usize = 4;
/// The place of the column that says what results are of what they should be: after the unit.
const OF_BASELINE: usize = 4;
/// Sessions that are shorter than this, in seconds, may be too short to speak of a machine.
const SHORT_S: f64 = 12.0;
/// Families whose figures are those of a library, which readers want to know.
const OF_LIBRARIES: [&str; 2] = ["ssh.", "classic.openssl"];
/// Blanks before what stands below a row.
const BELOW: usize = 4;

/// A column and what it says of a row.
struct ResultColumn {
    column: TableColumn,
    cell: fn(&ResultRow, &Terminal) -> TextLine,
    /// What it says of the second one of two levels, which has its own line.
    second_level: fn(&ResultRow) -> TextLine,
}

fn field(column: TableColumn, cell: fn(&ResultRow, &Terminal) -> TextLine) -> ResultColumn {
    ResultColumn { column, cell, second_level: |_| TextLine::default() }
}

fn with_second_level(
    column: TableColumn,
    cell: fn(&ResultRow, &Terminal) -> TextLine,
    second_level: fn(&ResultRow) -> TextLine,
) -> ResultColumn {
    ResultColumn { column, cell, second_level }
}

/// The results by family, and what the columns mean.
pub(super) fn results(view: &View, terminal: &Terminal) -> String {
    if view.rows.is_empty() {
        return terminal.lines(0, &TextLine::new(Style::Flag, "Nothing was measured."));
    }
    let mut fields = fields(terminal);
    if terminal.width >= ROOMY
        && view.rows.iter().any(|row| {
            let of = row.finding.of_baseline.as_ref().ok();
            of.is_some_and(|of| of.verdict.is_some())
        })
    {
        let column = TableColumn::right("of expected");
        fields.insert(fields.len().min(OF_BASELINE), field(column, |row, _| of_baseline(row)));
    }
    let mut columns: Vec<TableColumn> = fields.iter().map(|field| field.column.clone()).collect();
    // At the width where every figure gets a column there is no room left for drawings, until it is wider still.
    let [from, until, again] = DRAWN;
    let has_room = (from..until).contains(&terminal.width) || terminal.width >= again;
    let strip = has_room.then_some(AFTER_UNIT + usize::from(terminal.width >= WIDE));
    if let Some(place) = strip {
        columns.insert(place, TableColumn::left("side by side"));
    }
    let mut table = Table::new(columns);
    for family in &view.families {
        table.across(0, TextLine::default(), TextLine::new(Style::Heading, &family.name));
        let rows = view.shown(family, terminal.every_metric);
        for row in &rows {
            let mut cells: Vec<TextLine> =
                fields.iter().map(|field| (field.cell)(row, terminal)).collect();
            if let Some(place) = strip {
                cells.insert(place, TextLine::new(Style::Sketch, &side_by_side(row, &rows)));
            }
            table.row(cells);
            if row.levels.is_some() {
                let mut cells: Vec<TextLine> =
                    fields.iter().map(|field| (field.second_level)(row)).collect();
                strip.into_iter().for_each(|place| cells.insert(place, TextLine::default()));
                table.row(cells);
            }
            below(row, terminal, &mut table);
        }
    }
    terminal.table(&table) + &legend(view, terminal)
}

fn fields(terminal: &Terminal) -> Vec<ResultColumn> {
    let name = [with_second_level(
        TableColumn::left("").wrapping(),
        |row, _| name(row),
        |_| TextLine::new(Style::Muted, "    or"),
    )];
    let level = format!("{} interval", percent(CONFIDENCE));
    let figure = [
        with_second_level(
            TableColumn::right("median"),
            |row, _| median(shown(row)),
            |row| median(second(row)),
        ),
        with_second_level(
            TableColumn::left(&level).gap(1),
            |row, _| interval(shown(row)),
            |row| interval(second(row)),
        ),
        with_second_level(
            TableColumn::left("unit").gap(1),
            |row, _| muted(Some(shown(row).unit.clone())),
            |row| muted(Some(second(row).unit.clone())),
        ),
    ];
    let reached = [with_second_level(
        TableColumn::right("±"),
        |row, _| reached(row.finding),
        |row| {
            row.finding
                .levels
                .as_ref()
                .map_or_else(TextLine::default, |levels| half_width(levels.by_share()[1]))
        },
    )];
    let counts = [field(TableColumn::right("n"), |row, _| muted(Some(row.counts.clone())))];
    let shape = [field(TableColumn::left("shape"), shape)];
    let flags = [field(TableColumn::left("flags").wrapping(), |row, _| {
        TextLine::new(Style::Flag, &words(&row.own_flags))
    })];
    let mut fields: Vec<ResultColumn> = name.into();
    if terminal.width >= WIDE {
        fields.push(field(TableColumn::left("metric"), |row, _| {
            muted(Some(row.finding.metric.clone()))
        }));
    }
    fields.extend(figure);
    if terminal.width >= ROOMY {
        fields.extend(reached);
    }
    fields.extend(counts);
    fields.extend(resources(terminal));
    fields.extend(shape);
    if terminal.width >= WIDE {
        fields.push(field(TableColumn::left("stopped by"), |row, _| {
            muted(row.finding.stop.map(|stop| stop.word().to_owned()))
        }));
    }
    if terminal.width >= ROOMY {
        fields.extend(flags);
    }
    fields
}

fn resources(terminal: &Terminal) -> Vec<ResultColumn> {
    if terminal.width < WIDE {
        return vec![field(TableColumn::right("CPU"), |row, _| {
            muted(row.cpu_share().map(whole_percent))
        })];
    }
    vec![
        field(TableColumn::right("user"), |row, _| share(row, |cpu| cpu.user)),
        field(TableColumn::right("system"), |row, _| share(row, |cpu| cpu.system)),
        field(TableColumn::right("iowait"), |row, _| share(row, |cpu| cpu.iowait)),
        field(TableColumn::right("memory"), |row, _| {
            muted(row.finding.peak_memory_bytes.map(bytes))
        }),
    ]
}

fn name(row: &ResultRow) -> TextLine {
    let finding = row.finding;
    let name = if finding.primary { row.label.clone() } else { format!("  {}", finding.metric) };
    TextLine::new(Style::Name, &format!("  {name}{}", row.on_target()))
}

/// The figure of a row; of two levels the one with the larger share.
fn shown<'r>(row: &'r ResultRow) -> &'r Figure {
    row.levels.as_ref().map_or(&row.figure, |levels| &levels.first)
}

/// The one of two levels with the smaller share.
fn second<'r>(row: &'r ResultRow) -> &'r Figure {
    row.levels.as_ref().map_or(&row.figure, |levels| &levels.second)
}

fn median(figure: &Figure) -> TextLine {
    TextLine::new(Style::Estimate, &figure.estimate)
}

pub(crate) fn interval(figure: &Figure) -> TextLine {
    match &figure.interval {
        Ok(_) => TextLine::new(Style::Interval, &figure.brackets()),
        Err(_) => TextLine::new(Style::Flag, &figure.interval_cell()),
    }
}

fn shape(row: &ResultRow, terminal: &Terminal) -> TextLine {
    let bins = if terminal.width >= WIDE { 12 } else { 8 };
    TextLine::new(Style::Sketch, &histogram(&row.finding.distribution, bins, terminal.unicode))
}

/// The interval on one scale with those that are shown in the same unit, of the same metric; empty if there is
/// no other.
fn side_by_side(row: &ResultRow, rows: &[&ResultRow]) -> String {
    let alike: Vec<Estimate> = rows
        .iter()
        .filter(|other| other.figure.unit == row.figure.unit)
        .filter(|other| other.finding.metric == row.finding.metric)
        .map(|other| other.finding.shown())
        .collect();
    let low = alike
        .iter()
        .map(|estimate| estimate.low().unwrap_or(estimate.value))
        .fold(f64::INFINITY, f64::min);
    let high = alike
        .iter()
        .map(|estimate| estimate.high().unwrap_or(estimate.value))
        .fold(f64::NEG_INFINITY, f64::max);
    // An interval alone on its scale would fill it and say nothing.
    let is_drawn = alike.len() > 1 && (high - low).is_finite();
    let scale = IntervalScale { low, high, room: STRIP };
    let of = row.finding.shown();
    if is_drawn { scale.draw(of.value, of.low(), of.high()) } else { String::new() }
}

/// A share of the whole sample's time; none of a metric with a share of its own, which has a line below.
fn share(row: &ResultRow, of: fn(CpuShares) -> f64) -> TextLine {
    let of_sample = row.finding.cpu.filter(|_| row.own_cpu.is_none());
    muted(of_sample.map(|cpu| whole_percent(of(cpu))))
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn bytes(bytes: u64) -> String {
    quantity(bytes as f64, "B")
}

fn of_baseline(row: &ResultRow) -> TextLine {
    let share = row.finding.of_baseline.as_ref().ok().map(|baseline| baseline.share.value);
    share.map_or_else(TextLine::default, |share| {
        TextLine::new(Style::Estimate, &whole_percent(share))
    })
}

fn muted(value: Option<String>) -> TextLine {
    value.map_or_else(TextLine::default, |value| TextLine::new(Style::Muted, &value))
}

/// The half-width that is shown; good if the session's is as narrow as was wanted.
pub(super) fn reached(finding: &Finding) -> TextLine {
    if let Some(levels) = &finding.levels {
        return half_width(levels.by_share()[0]);
    }
    let (Some(reached), Some(shown)) = (finding.reached, finding.shown().relative_half_width())
    else {
        return TextLine::default();
    };
    // The goal is about the session, by which the point stopped; shown is the wider interval of the machine.
    let missed = finding.wanted.is_some_and(|wanted| reached > wanted);
    TextLine::new(if missed { Style::Flag } else { Style::Good }, &percent(shown))
}

fn half_width(level: &Level) -> TextLine {
    muted(level.estimate.relative_half_width().map(percent))
}

/// `±0.8 % in this session of 4.0 s, ±2.4 % on this machine`: both intervals, if they are told apart; `±0.8 % in this
/// session of 1.2 s, which is too short to speak of this machine`.
#[must_use]
pub fn both_intervals(finding: &Finding) -> Option<String> {
    let session = finding.estimate.relative_half_width()?;
    let seconds = finding.session_s?;
    // Told apart only if the session was long enough to speak of the machine.
    let more = match &finding.machine {
        Some(Ok(_)) => {
            let machine = finding.shown().relative_half_width()?;
            format!("±{} on this machine", percent(machine))
        }
        Some(Err(why)) => format!("but on this machine {why}"),
        None if seconds < SHORT_S => "which is too short to describe this machine".to_owned(),
        None => return None,
    };
    Some(format!("±{} in this session of {}, {more}", percent(session), length(seconds)))
}

/// How much better than the median the near end of the best quarter's interval must be to be worth a line, relative.
const WORTH_A_LINE: f64 = 0.05;

/// What the machine does at its best, if that is much better than the median: `its best quarter reaches 455 [430, 470]
/// ops/s, so the median is 37 % below`.
#[must_use]
pub fn best_quarter_text(finding: &Finding) -> Option<String> {
    let change = whole_percent(best_quarter_gap(finding)?);
    let shown = figure(finding.best_quarter.as_ref()?, &finding.unit);
    let word = if finding.better == Better::Higher { "below" } else { "above" };
    Some(format!("its best quarter reaches {shown}, so the median is {change} {word}"))
}

/// How far the median is from the best quarter, relative; None if that is not worth a line.
pub(crate) fn best_quarter_gap(finding: &Finding) -> Option<f64> {
    // Two levels stand in place of a median.
    if finding.levels.is_some() {
        return None;
    }
    let best = finding.best_quarter.as_ref()?;
    let ends = best.interval.as_ref().ok()?;
    let median = finding.estimate.value;
    let near = match finding.better {
        Better::Higher => ends.low / median,
        Better::Lower => median / ends.high,
        Better::Neither => return None,
    };
    // A median of 0 has no ratio: it is infinite or no number.
    let is_far = near.is_finite() && near >= 1.0 + WORTH_A_LINE;
    is_far.then(|| (median / best.value - 1.0).abs())
}

/// What pauses did, where the run had some: `right after 40 pauses of 1.0 s, wall is 1.003 [0.998, 1.009] times that of
/// the next run, which is equivalent`.
#[must_use]
pub fn pauses_text(finding: &Finding) -> Option<String> {
    let found = finding.pauses.as_ref()?;
    let count = found.pairs;
    let length = length(found.length_s);
    let shown = figure(&found.ratio, "");
    let ratio = format!("{} {}", shown.estimate, shown.brackets());
    let so = match (found.left_out, found.equivalent) {
        (0, true) => "which is equivalent".to_owned(),
        (0, false) => "but equivalence is unclear, so all count".to_owned(),
        (left_out, _) => format!("so those {left_out} invocations are left out"),
    };
    let metric = &finding.metric;
    Some(format!(
        "right after {count} pauses of {length}, {metric} is {ratio} times that of the next run, {so}"
    ))
}

/// The time that a time over a scaled link stands for: `4.16 s stand for 6 min 56 s without scale=100`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a scale is a small number")]
pub fn scaled_text(finding: &Finding) -> Option<String> {
    let scale = finding.point.number("scale").filter(|&scale| scale > 1)?;
    let is_of_disk = finding.point.workload.starts_with("block.");
    if !is_of_disk || !finding.headline || finding.unit != "s" {
        return None;
    }
    let seconds = finding.estimate.value;
    let real = length(seconds * scale as f64);
    Some(format!("{} stand for {real} without scale={scale}", length(seconds)))
}

/// A throughput of a network in bits, as iperf3 prints it: `9.41 [9.38, 9.44] Gbit/s`.
#[must_use]
pub fn bits_text(finding: &Finding) -> Option<String> {
    let is_of_network = finding.point.workload.starts_with("network.");
    if !is_of_network || !finding.headline || finding.unit != "B/s" {
        return None;
    }
    let shown = finding.shown();
    let ends = shown.interval.as_ref();
    let in_bits = ends.map(|ends| (ends.low * 8.0, ends.high * 8.0)).map_err(String::as_str);
    let Figure { estimate, interval, unit } = Figure::new(shown.value * 8.0, in_bits, "bit/s");
    Some(match interval {
        Ok((low, high)) => format!("{estimate} [{low}, {high}] {unit}"),
        Err(_) => format!("{estimate} {unit}"),
    })
}

/// Each once: several may be of one kind, for several reasons.
fn words(flags: &[FlagKind]) -> String {
    let mut words: Vec<_> = flags.iter().map(FlagKind::word).collect();
    let mut known = std::collections::BTreeSet::new();
    words.retain(|word| known.insert(*word));
    words.join(", ")
}

/// What has no column: why there is no interval, waiting for devices, flags, and
/// the workload's remarks if every metric is asked for.
fn below(row: &ResultRow, terminal: &Terminal, table: &mut Table) {
    let nothing = TextLine::default;
    if let Some(levels) = &row.levels {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &levels.shares()));
        let beside = levels.beside.as_deref().unwrap_or_default();
        table.across(BELOW, nothing(), TextLine::new(Style::Muted, beside));
    }
    if let Some(text) = burst_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    // Two levels stand in place of the median, each with its own interval.
    if let (Some(why), None) = (row.figure.missing(), &row.levels) {
        table.across(
            BELOW,
            TextLine::new(Style::Flag, "no interval: "),
            TextLine::new(Style::Plain, why),
        );
    }
    let in_detail = (terminal.every_metric || row.finding.point.titled)
        && row.finding.headline
        && row.levels.is_none();
    if let Some(text) = both_intervals(row.finding).filter(|_| in_detail) {
        table.across(BELOW, nothing(), TextLine::new(Style::Muted, &text));
    }
    if let Some(text) = other_cpu_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    if let Some(text) = energy_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    if let Some(text) = best_quarter_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    if let Some(text) = pauses_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Muted, &text));
    }
    if let Some(text) = own_cpu_text(row).filter(|_| terminal.width >= WIDE) {
        table.across(BELOW, nothing(), TextLine::new(Style::Muted, &text));
    }
    if let Some(text) = scaled_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    if let Some(text) = bits_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    if let Some(goal) = &row.goal {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, goal));
    }
    if let Some(text) = baseline_text(row.finding) {
        table.across(BELOW, nothing(), TextLine::new(Style::Plain, &text));
    }
    let has_no_column = terminal.width < WIDE && row.finding.primary;
    if let Some(cpu) = row.finding.cpu.filter(|cpu| has_no_column && waits_for_devices(cpu)) {
        let text = format!("waits for I/O {} of the time", whole_percent(cpu.iowait));
        table.across(BELOW, nothing(), TextLine::new(Style::Muted, &text));
    }
    if let Some(text) = row.finding.stop.and_then(stop_text).filter(|_| has_no_column) {
        table.across(BELOW, nothing(), TextLine::new(Style::Muted, &text));
    }
    if terminal.width < ROOMY && !row.own_flags.is_empty() {
        let flags = TextLine::new(Style::Flag, &words(&row.own_flags));
        table.across(BELOW, TextLine::new(Style::Flag, "! "), flags);
    }
    let below = match terminal.every_metric {
        true if row.finding.primary => remarks(row.finding),
        true => String::new(),
        false => library_text(row.finding).unwrap_or_default(),
    };
    table.across(BELOW, nothing(), TextLine::new(Style::Muted, &below));
}

/// Why sampling stopped, if neither the interval nor a flag shows it.
pub fn stop_text(stop: StopReason) -> Option<String> {
    match stop {
        StopReason::MaxInvocations | StopReason::MaxTime => {
            Some(format!("stopped by {}", stop.word()))
        }
        StopReason::Supply => Some("no more samples exist".to_owned()),
        _ => None,
    }
}

fn waits_for_devices(cpu: &CpuShares) -> bool {
    // A thread that waits for the kernel's own workers counts as waiting for devices, too; then all shares
    // together exceed the time, and the share of waiting means nothing.
    let is_sound = cpu.user + cpu.system + cpu.iowait <= 1.0 + TOLERATED;
    is_sound && cpu.iowait >= WORTH_SAYING
}

/// The CPU time of other processes: `other processes used 48 [40, 56] ms of CPU time in each run`; and of those that serve
/// plumb's own medium: `the medium's server used 165 [160, 170] % of one CPU`.
#[must_use]
pub fn other_cpu_text(finding: &Finding) -> Option<String> {
    let media = finding
        .media_cpu
        .as_ref()
        .map(|share| format!("the medium's server used {} of one CPU", in_brackets(share, SHARE)));
    let other = finding.other_cpu.as_ref().map(|time| {
        let each = match finding.sample_is {
            SampleIs::Process => "run",
            SampleIs::Iteration => "invocation",
        };
        let shown = figure(time, "s");
        format!(
            "other processes used {shown} of CPU time in each {each}, which this work may cause"
        )
    });
    let parts: Vec<String> = media.into_iter().chain(other).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The energy of a result: `energy: 25.1 [24.8, 25.4] W, 10.0 W when idle; 12.1 mJ/op, 7.3 [7.1, 7.5] mJ/op without the idle power`;
/// or why it has none.
#[must_use]
pub fn energy_text(finding: &Finding) -> Option<String> {
    let energy = match finding.energy.as_ref()? {
        Ok(energy) => energy,
        Err(why) => return Some(format!("no energy: {why}")),
    };
    Some(format!(
        "energy: {}, {} when idle; {}, {} without the idle power",
        in_brackets(&energy.power, "W"),
        quantity(energy.idle_w, "W"),
        in_brackets(&energy.per_work, &energy.unit),
        in_brackets(&energy.net_per_work, &energy.unit)
    ))
}

/// The share of one CPU during the metric's part of a sample: `used 12 % of one CPU`.
pub(super) fn own_cpu_text(row: &ResultRow) -> Option<String> {
    Some(format!("used {} of one CPU", whole_percent(row.own_cpu?)))
}

/// The library that does the work, if the figure is one of it: `OpenSSH_9.2p1 · OpenSSL 3.0.19`.
pub(super) fn library_text(finding: &Finding) -> Option<String> {
    let is_of_library =
        OF_LIBRARIES.iter().any(|family| finding.point.workload.starts_with(family));
    let versions = versions(finding);
    (finding.primary && is_of_library && !versions.is_empty()).then(|| versions.join(" · "))
}

/// The versions of what does the work: `openssl 3.0.19`.
fn versions(finding: &Finding) -> Vec<String> {
    finding.versions.iter().map(|(name, version)| format!("{name} {version}")).collect()
}

/// What the workload said of itself, and the versions of what does the work.
fn remarks(finding: &Finding) -> String {
    let notes = finding.notes.iter().cloned();
    notes.chain(versions(finding)).collect::<Vec<_>>().join(" · ")
}

fn legend(view: &View, terminal: &Terminal) -> String {
    let cpu = if terminal.width >= WIDE { "user, system, iowait" } else { "CPU" };
    let reached = if terminal.width >= ROOMY { "±: half-width of the interval · " } else { "" };
    let machine = view.rows.iter().any(|row| row.finding.machine.is_some());
    let of = if machine {
        "intervals describe this machine over ten minutes if sessions are long enough · "
    } else {
        ""
    };
    let legend = format!(
        "{of}{reached}n: invocations × samples · {cpu}: share of wall time · shape: low to high"
    );
    let mut out = terminal.lines(0, &TextLine::new(Style::Muted, &legend));
    for (why, names) in without_baseline(view) {
        let text = format!("no baseline ({why}): {}", names.join(", "));
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Muted, &text)));
    }
    out
}
