//! Ranks of the arms of a comparison: the same in every output.

use plumb_analysis::testing::{Builder, COPY, Spec, compared};
use plumb_analysis::{CompareSettings, ComparisonFinding};
use plumb_model::{Id, RunRecord};
use plumb_report::{comparison_card, comparison_document, comparison_markdown};
use plumb_text::Terminal;

const HOUR_NS: i64 = 3_600_000_000_000;

/// Runs of a provider at this level and price, one each hour, which vary by half a percent.
fn runs(provider: &str, level: f64, price: &str, first_id: u128) -> Vec<RunRecord> {
    let mut all = Vec::new();
    for (id, error) in (first_id..).zip([0.0, 4.0, -3.0, 1.0, -5.0, 2.0, 3.0, -2.0]) {
        let spec = Spec { value: 1e9 * level * (1.0 + error / 1000.0), ..COPY };
        let mut record = Builder::new(Some("s")).measured(&spec).build();
        record.run = Id::from_u128(id);
        record.started_unix_ns = i64::try_from(id).unwrap_or_default() * HOUR_NS;
        record.plan.labels.insert("provider".into(), provider.into());
        record.plan.labels.insert("price".into(), price.into());
        all.push(record);
    }
    all
}

fn three_providers() -> ComparisonFinding {
    let mut all = runs("basic", 1.0, "10 EUR", 100);
    all.extend(runs("large", 1.3, "50 EUR", 200));
    all.extend(runs("old", 0.9, "11 EUR", 300));
    let settings = CompareSettings { by: Some("provider".into()), ..CompareSettings::default() };
    compared(&all, &[], None, &settings)
}

#[test]
fn ranks_are_the_same_in_every_output() {
    let finding = three_providers();
    let rows = [
        "rank 2 of 3, rank 1 for its price, on the Pareto front",
        "rank 1 of 3, rank 3 for its price, on the Pareto front",
        "rank 3 of 3, rank 2 for its price, not on the Pareto front: basic is faster and costs no more",
        "All ranks of one result hold together with 95 % confidence; rank 1 is the fastest.",
    ];
    let card = comparison_card(&finding, &Terminal::plain(200));
    let card = card.split_whitespace().collect::<Vec<_>>().join(" ");
    let markdown = comparison_markdown(&finding);
    for row in rows {
        assert!(card.contains(row), "no {row:?} in {card}");
        assert!(markdown.contains(row), "no {row:?} in {markdown}");
    }
    let document = serde_json::to_value(comparison_document(&finding)).unwrap();
    let arms = &document["results"][0]["arms"];
    assert_eq!(
        arms[2]["ranks"],
        serde_json::json!({"ranks": [3, 3], "ranks_for_price": [2, 2], "on_pareto_front": false})
    );
    assert!(arms[0]["for_price_low"].as_f64() < arms[0]["for_price"].as_f64());
    assert!(arms[0]["for_price"].as_f64() < arms[0]["for_price_high"].as_f64());
}
