//! JUnit's XML, which build servers show: a suite a run, a test case a series.
//!
//! What was measured passed, what can't be measured here was skipped, what went wrong is an error. A
//! failure is a verdict: a run alone has none, a check has one if a regression is confirmed.

use std::fmt::Write as _;

use plumb_analysis::{CheckFinding, CheckedSeries, PointFacts, WhichBaseline};
use plumb_text::time::rfc3339;
use plumb_text::xml;
use plumb_units::quantity;

use crate::entry::{Export, ExportedContent, Holds};
use plumb_report::CheckOfMachine;
use plumb_report::run::{ResultRow, View};

pub(super) const JUNIT: Export = Export {
    name: "junit",
    extension: "xml",
    summary: "JUnit XML, with one test case per series",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| Ok(junit(runs.views).into_bytes()),
};

const SECOND: f64 = 1e9;

/// Cases of a suite, and how many of them are not well.
#[derive(Default)]
struct Cases {
    text: String,
    all: usize,
    errors: usize,
    skipped: usize,
}

impl Cases {
    fn add(&mut self, name: &str, class: &str, inside: &str) {
        self.all += 1;
        let name = xml(name);
        let class = xml(class);
        // The schema requires a time. A result has many, so it is 0 and the figures stand in `system-out`.
        let start = format!("    <testcase name=\"{name}\" classname=\"{class}\" time=\"0\"");
        let _ = match inside {
            "" => writeln!(self.text, "{start}/>"),
            inside => writeln!(self.text, "{start}>{inside}</testcase>"),
        };
    }

    fn skip(&mut self, point: &PointFacts, why: &str) {
        self.skipped += 1;
        self.add(&point.name, &point.workload, &format!("<skipped message=\"{}\"/>", xml(why)));
    }

    fn error(&mut self, point: &PointFacts, why: &str, log: &str) {
        self.errors += 1;
        let inside =
            format!("<error type=\"failed\" message=\"{}\">{}</error>", xml(why), xml(log));
        self.add(&point.name, &point.workload, &inside);
    }
}

/// A check as a document: one test case per series, and a confirmed regression is a failure.
#[must_use]
pub fn check_junit(finding: &CheckFinding) -> String {
    document(&check_suite(0, "localhost", finding))
}

/// The checks of several machines as a document: one test suite per machine. A machine that could not be checked is an
/// error.
#[must_use]
pub fn machine_checks_junit(machines: &[CheckOfMachine<'_>]) -> String {
    let suites = machines.iter().enumerate().map(|(id, machine)| match &machine.found {
        Ok(finding) => check_suite(id, machine.name, finding),
        Err((why, _)) => unchecked_suite(id, machine.name, why),
    });
    document(&suites.collect::<String>())
}

fn document(suites: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

/// The suite of a machine that could not be checked.
fn unchecked_suite(id: usize, host: &str, why: &str) -> String {
    let host = xml(host);
    let why = xml(why);
    // The schema requires a time, and nothing was measured.
    let started = &rfc3339(0)[..SECONDS_END];
    format!(
        "  <testsuite id=\"{id}\" package=\"plumb\" name=\"check of {host}\" timestamp=\"{started}\" \
         hostname=\"{host}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0\">\n\
         \x20   <properties/>\n\
         \x20   <testcase name=\"the machine is checked\" classname=\"check\" time=\"0\">\
         <error type=\"not checked\" message=\"{why}\"/></testcase>\n\
         \x20   <system-out/>\n    <system-err/>\n  </testsuite>\n"
    )
}

/// The suite of a check on this host.
fn check_suite(id: usize, host: &str, finding: &CheckFinding) -> String {
    let mut cases = Cases::default();
    let regressions: Vec<&CheckedSeries> = finding.regressions().collect();
    for series in &finding.series {
        let inside = if regressions.contains(&series) {
            format!("<failure type=\"regression\" message=\"{}\"/>", xml(&checked(series)))
        } else {
            String::new()
        };
        let name = match series.against {
            WhichBaseline::Current => series.series.clone(),
            WhichBaseline::First => format!("{} since the first baseline", series.series),
        };
        cases.add(&name, &series.point.workload, &inside);
    }
    for (series, runs) in &finding.uncalibrated {
        cases.skipped += 1;
        let why = format!("only {runs} runs of the baseline contain it; six are needed");
        cases.add(series, "uncalibrated", &format!("<skipped message=\"{}\"/>", xml(&why)));
    }
    for lost in &finding.not_measured {
        cases.errors += 1;
        let inside = format!("<error type=\"not measured\" message=\"{}\"/>", xml(&lost.why));
        cases.add(&lost.series, "not measured", &inside);
    }
    if let Some(doubt) = finding.abstains() {
        cases.errors += 1;
        let inside = format!("<error type=\"abstained\" message=\"{}\"/>", xml(doubt.why()));
        cases.add("the check proves that it works", "proof", &inside);
    }
    let Cases { all, errors, skipped, text } = &cases;
    let started = rfc3339(finding.runs.first().map_or(0, |run| run.started_unix_ns));
    let said: String = finding
        .vetoes
        .iter()
        .map(|why| format!("alerts are ignored: {why}\n"))
        .chain(finding.series.iter().map(|series| checked(series) + "\n"))
        .collect();
    let failures = regressions.len();
    let name = xml(&format!("check against {}", finding.baseline));
    format!(
        "  <testsuite id=\"{id}\" package=\"plumb\" name=\"{name}\" timestamp=\"{}\" \
         hostname=\"{}\" tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\" \
         skipped=\"{skipped}\" time=\"0\">\n    <properties/>\n{text}    <system-out>{}</system-out>\n\
         \x20   <system-err/>\n  </testsuite>\n",
        &started[..started.len().min(SECONDS_END)],
        xml(host),
        xml(&said),
    )
}

/// `cpu.sieve/rate: 1.19 [1.17, 1.22] of the baseline's cost, 500 ops/s before, 420 ops/s now`.
fn checked(series: &CheckedSeries) -> String {
    let ratio = plumb_report::figure(&series.ratio, "");
    format!(
        "{}: {} {} of the baseline's cost, {} before, {} now",
        series.series,
        ratio.estimate,
        ratio.brackets(),
        quantity(series.baseline, &series.unit),
        quantity(series.now, &series.unit)
    )
}

/// The runs as one document.
#[must_use]
pub fn junit(views: &[View]) -> String {
    let suites = views.iter().enumerate().map(|(id, view)| suite(id, view));
    document(&suites.collect::<String>())
}

fn suite(id: usize, view: &View) -> String {
    let finding = view.finding;
    let run = &view.finding.run;
    let cases = cases(view);
    let Cases { all, errors, skipped, text } = &cases;
    let started = rfc3339(run.started_unix_ns);
    #[expect(clippy::cast_precision_loss, reason = "seconds are shown to the microsecond")]
    let took =
        run.ended_unix_ns.map_or(0.0, |end| (end - run.started_unix_ns).max(0) as f64 / SECOND);
    let title = match view.header.title.trim() {
        "" => "plumb",
        title => title,
    };
    let host = finding.targets.first().map_or("", |target| target.name.trim());
    let mut properties = vec![("run", run.id.to_string()), ("plumb", run.plumb.clone())];
    properties.extend(run.labels.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let properties: String = properties.iter().map(|(name, value)| property(name, value)).collect();
    let figures: String = view.rows.iter().map(|row| format!("{}\n", xml(&figure(row)))).collect();
    format!(
        "  <testsuite id=\"{id}\" package=\"plumb\" name=\"{}\" timestamp=\"{}\" hostname=\"{}\" \
         tests=\"{all}\" failures=\"0\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{took:.6}\">\n\
         \x20   <properties>{properties}</properties>\n{text}    <system-out>{figures}</system-out>\n\
         \x20   <system-err/>\n  </testsuite>\n",
        xml(title),
        &started[..started.len().min(SECONDS_END)],
        // The schema requires a host name.
        if host.is_empty() || host == "local" { "localhost".to_owned() } else { xml(host) },
    )
}

/// Where the whole seconds of an RFC 3339 date end; the schema wants no zone.
const SECONDS_END: usize = "2026-11-21T20:05:12".len();

fn property(name: &str, value: &str) -> String {
    let name = if name.trim().is_empty() { "_" } else { name };
    format!("<property name=\"{}\" value=\"{}\"/>", xml(name), xml(value))
}

fn cases(view: &View) -> Cases {
    let finding = view.finding;
    let mut cases = Cases::default();
    for row in &view.rows {
        let series = format!("{}{}", row.finding.series, row.on_target());
        cases.add(&series, &row.finding.point.workload, "");
    }
    for missing in &finding.unsupported {
        cases.skip(&missing.point, &format!("{}; {}", missing.why, missing.fix));
    }
    for point in &finding.not_reached {
        cases.skip(point, "planned but not reached");
    }
    for failure in &finding.failed {
        let why = format!("{} ({} of {} invocations)", failure.why, failure.times, failure.of);
        cases.error(&failure.point, &why, &failure.log);
    }
    cases
}

/// `memory.copy/bandwidth: 11.36 [11.28, 11.48] GB/s, 13×20`.
fn figure(row: &ResultRow) -> String {
    format!("{}{}: {}, {}", row.finding.series, row.on_target(), row.figure, row.counts)
}
