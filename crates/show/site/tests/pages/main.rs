//! Pages as files: what stands in them, and that nothing from elsewhere is ever markup.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

mod figures;
mod html;

use std::sync::Arc;

use insta::assert_snapshot;
use plumb_analysis::{
    CommonMovements, CompareSettings, KindFinding, MachineOfFleet, RightAnswers, RunFinding,
    by_kind, history, series_in_run, summarise, testing,
};
use plumb_model::{
    Better, Flag, FlagKind, FleetMachineRecord, FleetRecord, Id, MachineEnd, MachineOutcome,
    RunOfSeries, RunRecord, SeriesInRun,
};
use plumb_report::View;
use plumb_report::run::right_answers_text;
use plumb_site::{
    LinkedPages, MachineAtRun, Page, Rendered, SearchIndex, compare_page, fleet_page,
    histories_page, history_page, index_page, machine_page, method_page, monitors_page, run_page,
    workload_page, workloads,
};

use crate::html::HtmlPage;

fn rendered(page: Page) -> (Rendered, HtmlPage) {
    let made = page.render();
    let document = HtmlPage::parse(&made.html);
    (made, document)
}

/// All pages of a run.
fn pages(record: &RunRecord, finding: &RunFinding) -> Vec<Page> {
    let view = View::new(finding);
    let mut pages = vec![run_page(&view, Vec::new(), &LinkedPages::All)];
    let of = |workload: &str| workload_page(&view, record, workload).unwrap();
    pages.extend(workloads(&view).into_iter().map(of));
    pages
}

#[test]
fn a_run_is_told_from_the_answer_on() {
    let record = testing::exec();
    let finding = summarise(&record);
    let (made, document) = rendered(run_page(&View::new(&finding), Vec::new(), &LinkedPages::All));
    assert_eq!(document.attribute("html", "data-kind"), ["run"]);
    assert_snapshot!(document.text("section"), @"▲ faster zstd -1 corpus against gzip -1 corpus: 0.2470× the cost [0.2451, 0.2489], 4.05× as fast, -312 [-315, -310] ms, -75.30 % [-75.49, -75.11], 20 pairs, beyond margin? inconclusive pigz -1 corpus against gzip -1 corpus: 0.995× the cost [0.986, 1.003], -1.9 [-5.6, 1.4] ms, -0.47 % [-1.36, 0.34], 20 pairs, could have found 0.9 %, about 53 pairs would settle itplumb found no reason to distrust these numbers.");
    assert!(made.charts.starts_with("plumb.charts(\"run-"), "{}", made.charts);
}

#[test]
fn the_page_of_a_run_says_that_its_answers_were_right() {
    let mut finding = summarise(&testing::exec());
    finding.right_answers = Some(RightAnswers { answers: 2.4e6, cpus: 2.0 });
    let text = right_answers_text(&finding).unwrap();
    let (_, document) = rendered(run_page(&View::new(&finding), Vec::new(), &LinkedPages::All));
    let section = document.text("section");
    assert!(section.contains(&text), "{section}");
}

#[test]
fn every_page_is_well_formed_and_has_no_script_of_its_own() {
    for record in [testing::first_look(), testing::exec()] {
        let finding = summarise(&record);
        for page in pages(&record, &finding) {
            let name = page.name.clone();
            let (_, document) = rendered(page);
            assert_eq!(document.attribute("script", "src"), ["plumb.js"], "{name}");
            assert_eq!(document.count("style"), 0);
            assert_eq!(document.count("h1"), 1, "{name}");
            assert!(document.inline_handlers().is_empty());
        }
    }
}

const HOSTILE: &str =
    "</script><script>alert(1)</script>\"'&<img src=x onerror=y>\u{202e}\u{2028}\u{1b}[31m";

/// A run in which everything that comes from elsewhere is hostile.
fn hostile() -> RunRecord {
    let mut record = testing::exec();
    record.plan.labels.insert(HOSTILE.into(), HOSTILE.repeat(300));
    record.plan.suite = Some(HOSTILE.into());
    record.plan.dir = HOSTILE.into();
    record.command.push(HOSTILE.into());
    record.log.push(HOSTILE.into());
    for point in &mut record.plan.points {
        point.point.workload = HOSTILE.into();
        point.point.key = format!("{HOSTILE}={}", point.point.key);
        point.title = Some(format!("{HOSTILE}{}", point.point.key));
        point.description.id = HOSTILE.into();
        for metric in &mut point.description.metrics {
            metric.summary = HOSTILE.into();
            metric.unit = HOSTILE.into();
        }
    }
    for facts in record.targets.iter_mut().map(|target| &mut target.environment.facts) {
        facts.values_mut().for_each(|value| value.push_str(HOSTILE));
    }
    record.targets[0].machine.fingerprint = HOSTILE.into();
    for invocation in &mut record.invocations {
        invocation.ready.notes.push(HOSTILE.into());
        invocation.ready.versions.insert(HOSTILE.into(), HOSTILE.into());
        testing::flag(
            invocation,
            Flag { flag: FlagKind::Other(HOSTILE.into()), why: HOSTILE.into() },
        );
    }
    testing::fail(&mut record.invocations[0], HOSTILE, HOSTILE);
    record
}

/// So many machines, of which the first has not ended well; of many, the first six in a hundred.
fn fleet(machines: u128, name: &str) -> FleetRecord {
    let failed = (machines * 6 / 100).max(1);
    let machine = |number: u128| FleetMachineRecord {
        name: format!("{name}{number}"),
        run: Id::from_u128(number),
        end: Some(MachineEnd {
            outcome: if number < failed {
                MachineOutcome::Failed
            } else {
                MachineOutcome::Complete
            },
            why: (number < failed).then(|| name.to_owned()),
            hints: vec![name.to_owned()],
        }),
    };
    FleetRecord {
        fleet: Id::from_u128(1 << 64),
        started_unix_ns: 0,
        command: vec!["plumb".to_owned(), name.to_owned()],
        is_running: false,
        machines: (0..machines).map(machine).collect(),
    }
}

/// What these machines measured, at the same level but for the second, which is slower.
fn kinds(fleet: &FleetRecord) -> Vec<KindFinding> {
    let record = testing::first_look();
    let all = series_in_run(&record);
    let mut measured: Vec<SeriesInRun> = Vec::new();
    let mut machines: Vec<MachineOfFleet> = Vec::new();
    for machine in &fleet.machines {
        machines.push(MachineOfFleet { name: machine.name.clone(), run: machine.run });
        let run = Arc::new(RunOfSeries { run: machine.run, ..(*all[0].run).clone() });
        for series in all.iter().filter(|series| series.primary) {
            let mut series = SeriesInRun { run: Arc::clone(&run), ..series.clone() };
            if machine.run == Id::from_u128(1) {
                let worse = if series.better == Better::Higher { 0.5 } else { 2.0 };
                series.process_medians.iter_mut().for_each(|value| *value *= worse);
                series.estimate.value *= worse;
            }
            measured.push(series);
        }
    }
    by_kind(&machines, &measured)
}

#[test]
fn a_fleet_shows_which_machines_are_slow_for_their_kind() {
    let fleet = fleet(12, "web");
    let (made, document) = rendered(fleet_page(&fleet, &kinds(&fleet), &LinkedPages::All));
    assert_eq!(document.attribute("html", "data-kind"), ["fleet"]);
    let text = document.text("section");
    assert!(text.contains("web1 is slow for its kind: "), "{text}");
    assert!(text.contains("more results"), "{text}");
    assert!(made.html.contains("11 of 12 machines measured"));
    assert_eq!(document.count("figure"), 1);
    // Each row has as many cells as there are titles.
    for table in made.html.split("<table").skip(1) {
        let table = table.split("</table").next().unwrap();
        let rows = table.matches("<tr").count() - 1;
        let cells = table.matches("<td").count() + table.matches("<th scope=\"row\"").count();
        let titles = table.split("</thead").next().unwrap().matches("<th").count() - 1;
        assert_eq!(cells, rows * titles, "{table}");
    }
}

#[test]
fn the_page_of_a_large_fleet_is_small() {
    let fleet = fleet(10_000, "a-rather-long-name-of-a-machine-in-some-rack-");
    let made = fleet_page(&fleet, &kinds(&fleet), &LinkedPages::All).render();
    assert!(made.html.contains("9500 more machines, of which 9400 have a complete run."));
    let bytes = made.html.len() + made.charts.len();
    assert!(bytes < 2_000_000, "{bytes}");
}

#[test]
fn nothing_from_elsewhere_is_markup_or_script() {
    let record = hostile();
    let finding = summarise(&record);
    let all = series_in_run(&record);
    let series = all[0].name.clone();
    let mut all_pages = pages(&record, &finding);
    let twice = [all[0].clone(), all[0].clone()];
    let found =
        history(&series, &twice, all[0].run.host(), 0.01, &CommonMovements::default()).unwrap();
    all_pages.push(history_page(&found, &LinkedPages::All));
    all_pages.push(histories_page(&[found], Some(HOSTILE)));
    let found =
        MachineAtRun { run: record.run, started_unix_ns: 0, target: record.targets[0].clone() };
    all_pages.push(machine_page(&[found], &LinkedPages::All).unwrap());
    all_pages.push(monitors_page(&View::new(&finding), &[], Vec::new()));
    let hostile_fleet = fleet(9, HOSTILE);
    all_pages.push(fleet_page(&hostile_fleet, &kinds(&hostile_fleet), &LinkedPages::All));
    assert!(all_pages.len() >= 7, "{}", all_pages.len());
    for page in all_pages {
        let name = page.name.clone();
        let safe = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c);
        assert!(name.bytes().all(safe) && name.len() < 200, "{name}");
        let (made, document) = rendered(page);
        assert_eq!(document.attribute("script", "src"), ["plumb.js"], "{name}");
        assert_eq!((document.count("script"), document.count("img")), (1, 0), "{name}");
        assert!(document.inline_handlers().is_empty(), "{name}");
        assert!(!made.html.contains(['\u{202e}', '\u{2028}', '\u{1b}']), "{name}");
        let call = made.charts.strip_prefix(&format!("plumb.charts(\"{name}\",")).unwrap();
        let json = call.strip_suffix(");\n").unwrap();
        assert!(!json.contains(['<', '>', '&', '\n', '\u{2028}']), "{name}");
        assert!(serde_json::from_str::<serde_json::Value>(json).unwrap().is_string());
    }
    let mut search = SearchIndex::default();
    search.add(HOSTILE, "index", "run");
    assert!(!search.render().contains(['<', '\u{2028}']));
}

#[test]
fn every_word_that_is_linked_is_explained() {
    let (_, method) = rendered(method_page());
    let ids = method.ids();
    let first = testing::first_look();
    let exec = testing::exec();
    let one = summarise(&first);
    let other = summarise(&exec);
    let mut all = pages(&first, &one);
    all.extend(pages(&exec, &other));
    all.push(index_page(None, &[], &[fleet(3, "web")], &LinkedPages::All));
    all.push(histories_page(&[], None));
    all.push(monitors_page(&View::new(&one), &[], Vec::new()));
    let found =
        MachineAtRun { run: first.run, started_unix_ns: 0, target: first.targets[0].clone() };
    all.push(machine_page(&[found], &LinkedPages::All).unwrap());
    let settings = CompareSettings::default();
    let other = plumb_model::RunRecord { run: plumb_model::Id::from_u128(7), ..first.clone() };
    let compared = testing::compared(&[first, other], &[], None, &settings);
    all.push(compare_page("compare-a-b".into(), &compared, Vec::new(), &LinkedPages::All));
    let mut words = 0;
    for page in all {
        let name = page.name.clone();
        let (_, document) = rendered(page);
        for to in document.links() {
            let Some(word) = to.strip_prefix("method.html#") else { continue };
            assert!(ids.iter().any(|id| id == word), "{name}: {word} is not explained");
            words += 1;
        }
    }
    assert!(words > 100, "{words}");
}
