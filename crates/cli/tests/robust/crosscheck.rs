//! `plumb crosscheck`, with the real tools.

use std::fs;

use serde_json::Value;

use crate::common::ran;
use crate::{parsed, place};

#[test]
fn a_family_is_measured_beside_its_classic() {
    let place = place();
    let words = "crosscheck process --budget 4s --no-lock -q --prepare none --json --markdown c.md";
    let ran = place.run(words).unwrap();
    let document = parsed(&ran);
    assert_eq!(document["schema"], "plumb.crosscheck/1");
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    for row in rows {
        assert!(row["tool"].as_str().unwrap().starts_with("cc "), "{row}");
        let ratio = row["ratio"]["estimate"].as_f64().unwrap();
        assert!((0.2..5.0).contains(&ratio), "{row}");
        let read = |side: &str| row[side]["estimate"].as_f64().unwrap();
        let reads = read("classic_reads") / read("plumb_reads");
        assert!((0.2..5.0).contains(&reads) && row["unit"] == "s", "{row}");
    }
    let has = |word: &str| rows.iter().any(|row| row["outcome"] == word);
    assert!(!has("failed") && !has("unsupported"), "{document}");
    ran.exits(i32::from(has("disagrees")));
    let page = fs::read_to_string(place.cwd().join("c.md")).unwrap();
    for row in rows {
        assert!(page.contains(row["outcome"].as_str().unwrap()), "{page}");
        assert!(page.contains(row["classic"].as_str().unwrap()), "{page}");
    }
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn a_tool_that_is_not_installed_is_unsupported_with_its_package() {
    let place = place();
    let empty = place.cwd().join("empty");
    fs::create_dir(&empty).unwrap();
    let words = "crosscheck cpu --budget 9s --no-lock -q --prepare none";
    let words = format!("{words} --json --markdown c.md");
    let document = parsed(&ran(place.plumb(&words).env("PATH", &empty)).unwrap().exits(3));
    let page = fs::read_to_string(place.cwd().join("c.md")).unwrap();
    assert!(page.contains("sysbench is not installed; try: apt install sysbench"), "{page}");
    let shown = "crosscheck process --budget 3s --no-lock -q --prepare none";
    let shown = ran(place.plumb(shown).env("PATH", &empty)).unwrap().exits(3);
    shown.shows(&["unsupported", "cc is not installed; try: apt install gcc"]);
    let rows = document["rows"].as_array().unwrap();
    let fixes = |row: &Value| row["fix"].as_str().is_some_and(|fix| fix.contains(" install "));
    assert!(rows.iter().all(fixes), "{document}");
}

#[test]
fn families_without_a_classic_are_named_and_classics_are_listed_when_asked_for() {
    let place = place();
    let ran = place.run("crosscheck language").unwrap().exits(2);
    assert!(ran.stderr.contains("add --from langs-performance"), "{}", ran.stderr);
    let ran = place.run("crosscheck language --from ./nowhere").unwrap().exits(2);
    assert!(ran.stderr.contains("--from ./nowhere: No such file"), "{}", ran.stderr);
    let ran = place.run("crosscheck memry").unwrap().exits(2);
    ran.says(&["no row compares `memry` with a classic tool", "did you mean `memory`?", "crypto"]);
    let listed = place.run("list").unwrap().exits(0).shows(&["plumb list --classic"]);
    assert!(!listed.stdout.contains("classic.mbw"));
    place.run("list --classic").unwrap().exits(0).shows(&["classic.mbw", "classic.iperf3"]);
    place.run("explain classic.ping").unwrap().exits(0).shows(&["network.icmp"]);
}
