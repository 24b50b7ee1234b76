//! `plumb history`: which series is meant, which runs are shown.

use crate::{exec, parsed, place};

#[test]
fn a_command_has_a_history() {
    let place = place();
    for number in 1..=3 {
        exec(&place, &format!("-n 4 -q --label commit=c{number}"), &["true", "sleep 0"]).exits(0);
    }
    let ran = place.run("history true").unwrap().exits(0);
    ran.shows(&[
        "true: process.command",
        "3 runs on host here, fp1:",
        " c1 ",
        " c3 ",
        "no interval, n=4",
    ]);
    let document = parsed(&place.run("history --json true --last 2").unwrap().exits(0));
    assert_eq!(document["schema"], "plumb.history/1");
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!((&runs[1]["labels"]["commit"], &runs[1]["processes"]), (&"c3".into(), &4.into()));
    assert_eq!((&document["unit"], &document["splits"]), (&"s".into(), &serde_json::json!([])));
    let ran = place.run("history process.command:command=[\"true\"]/peak_memory").unwrap();
    ran.exits(0).shows(&["MiB", "no interval, n=4"]);
    place.run("history true --format markdown").unwrap().exits(0).shows(&["| c2 |"]);
    place.run("history true --machine all --since 1h").unwrap().exits(0);
}

#[test]
fn what_has_no_history_is_said() {
    let place = place();
    place.run("history true").unwrap().exits(2).says(&["there is no store"]);
    exec(&place, "-n 2 -q", &["true", "sleep 0"]).exits(0);
    let several = ["matches 2 series", "plumb history 'true'", "plumb history 'sleep 0'"];
    place.run("history process.command").unwrap().exits(2).says(&several);
    let near = ["no run measured", "did you mean `process.command`?"];
    place.run("history proces.command").unwrap().exits(2).says(&near);
    place.run("history true --machine fp1:none").unwrap().exits(3);
    place.run("history true --since 2100-01-01").unwrap().exits(3);
    place
        .run("history true --since soon")
        .unwrap()
        .exits(2)
        .says(&["neither a date nor a length of time"]);
}
