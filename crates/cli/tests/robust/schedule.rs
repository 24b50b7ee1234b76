//! Runs that last, and runs that come again.

use std::process::Command;

use crate::common::ran as run_to_end;
use crate::{parsed, place};

#[test]
fn a_soak_takes_its_time_and_all_of_it() {
    let place = place();
    let ran = place.run("run cpu.sieve --for 4s --no-lock --json").unwrap().exits(0);
    let document = parsed(&ran);
    assert_eq!(document["results"][0]["stop"], "time");
    place.run("show").unwrap().exits(0).shows(&["soak for 4 s; 1 point measured"]);
    let clash = place.run("run cpu.sieve --for 4s --precision 1%").unwrap().exits(2);
    clash.says(&["cannot be used with"]);
}

#[test]
fn systemd_takes_the_printed_files() {
    let place = place();
    let typed = "run cpu.sieve -p threads=1,all --every 6h";
    let told = ["enable --now plumb-cpu.sieve-6h.timer", "17 */6 * * * cd ", "schedule=6h"];
    let ran = place.run(typed).unwrap().exits(0).shows(&told);
    assert!(!place.store().exists(), "nothing is measured");
    let units: Vec<(&str, &str)> = ran
        .stdout
        .split("# ~/.config/systemd/user/")
        .skip(1)
        .map(|unit| unit.split_once('\n').unwrap())
        .collect();
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["plumb-cpu.sieve-6h.service", "plumb-cpu.sieve-6h.timer"]);
    for (name, text) in units {
        let text = text.split("Write these two files").next().unwrap();
        place.write(name, text).unwrap();
    }
    let mut verify = place.program("systemd-analyze");
    verify.arg("verify").args(names.iter().map(|name| place.cwd().join(name)));
    let verified = run_to_end(&mut verify).unwrap().exits(0);
    assert_eq!(verified.stderr, "");
    // What cron would do, now.
    let text = std::fs::read_to_string(place.cwd().join("plumb-cpu.sieve-6h.service")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{line} --no-lock --budget 2s")]);
    run_to_end(&mut shell).unwrap().exits(0);
    place.run("show --runs").unwrap().exits(0).shows(&["schedule=6h"]);
}

#[test]
fn what_no_calendar_can_say_is_refused() {
    let place = place();
    place.run("run --every 5h").unwrap().exits(2).says(&["cannot express an interval of 5h", "6h"]);
    place.run("run no.such --every 6h").unwrap().exits(2).says(&["no.such"]);
}
