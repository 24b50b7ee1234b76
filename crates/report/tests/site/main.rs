//! Pages as files: what stands in them, and that nothing from elsewhere is ever markup.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

mod html;

use insta::assert_snapshot;
use plumb_analysis::{RunFinding, summarise, testing};
use plumb_model::RunRecord;
use plumb_report::View;
use plumb_report::site::{Links, Page, Rendered, run_page, workload_page, workloads};

use crate::html::Document;

fn rendered(page: Page) -> (Rendered, Document) {
    let made = page.render();
    let document = Document::parse(&made.html);
    (made, document)
}

/// All pages of a run.
fn pages(record: &RunRecord, finding: &RunFinding) -> Vec<Page> {
    let view = View::new(finding);
    let mut pages = vec![run_page(&view, None, &Links::All)];
    let of = |workload: &str| workload_page(&view, record, workload, None).unwrap();
    pages.extend(workloads(&view).into_iter().map(of));
    pages
}

#[test]
fn a_run_is_told_from_the_answer_on() {
    let record = testing::exec();
    let finding = summarise(&record);
    let (made, document) = rendered(run_page(&View::new(&finding), None, &Links::All));
    assert_eq!(document.attribute("html", "data-kind"), ["run"]);
    assert_snapshot!(document.text("section"), @"
    ▲ faster zstd -1 corpus against gzip -1 corpus: 0.2470× the cost [0.2457, 0.2486], 4.05× as fast, 20 pairs, beyond margin? inconclusive pigz -1 corpus against gzip -1 corpus: 0.995× the cost [0.988, 1.002], 20 pairs, about 34 pairs would settle itNo reason to distrust these numbers was found.
    ");
    assert!(made.charts.starts_with("plumb.charts(\"run-"), "{}", made.charts);
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
