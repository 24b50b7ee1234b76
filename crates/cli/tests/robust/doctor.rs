//! `plumb doctor --audit`: what it keeps, and what later verdicts make of it.

use crate::{parsed, place};

#[test]
fn an_audit_is_kept_and_quoted() {
    let place = place();
    place.run("doctor").unwrap().exits(2).says(&["there is no store"]);
    let ran = place
        .run("doctor --audit --of process --comparisons 1 --no-lock -q --json")
        .unwrap()
        .exits(0);
    let document = parsed(&ran);
    assert_eq!(document["schema"], "plumb.audit/1");
    assert_eq!(document["classes"][0]["class"], "process");
    assert_eq!(document["classes"][0]["comparisons"], 1);
    for field in ["sample_sd", "process_sd", "tau", "preemptions_per_s", "faults_per_s"] {
        let value = document["classes"][0][field].as_f64();
        assert!(value.is_some_and(|value| value >= 0.0), "{field}: {document}");
    }
    let (step, read) = (&document["clock"]["resolution_ns"], &document["clock"]["overhead_ns"]);
    assert!(step.as_f64() >= Some(1.0) && read.as_f64() > Some(0.0), "{document}");
    // One comparison gives no noise floor; a machine that was seen to be noisy is taken at its word.
    assert!(document["classes"][0]["noise_floor"].is_null());
    let noisy = "UPDATE audit SET json = json_set(json, '$.classes[0].noise_floor', 0.25)";
    let done = place.program("sqlite3").arg(place.store()).arg(noisy).status().unwrap();
    assert!(done.success());
    place.run("doctor").unwrap().exits(0).shows(&["process", "≥ 25 %"]);
    let ran = place.run("ab --no-lock --budget 1s true true").unwrap().exits(0);
    ran.says(&["margin 25 % instead of 1 %"]);
    place.run("show").unwrap().exits(0).shows(&["by its audit this machine sees ≥ 25 % here"]);
}
