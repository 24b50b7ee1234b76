//! Values in commands.

use crate::{exec, last, place, results};

#[test]
fn values_in_commands_are_parameters() {
    let place = place();
    let commands =
        ["-p", "time=0,0.01", "-p", "n=1..3+1", "sleep {time}", "sh -c 'exit {n}'", "true"];
    exec(&place, "-n 2 -q -i", &commands).exits(0).shows(&["sleep 0.01", "sh -c 'exit 3'"]);
    let document = last(&place);
    let walls = results(&document, "wall");
    let said = |name: &str| -> Vec<String> {
        walls.iter().map(|result| result["point"][name].to_string()).collect()
    };
    assert_eq!(said("time"), ["\"0\"", "\"0.01\"", "null", "null", "null", "null"]);
    assert_eq!(said("n"), ["null", "null", "1", "2", "3", "null"]);
    let series: Vec<&str> = walls.iter().map(|wall| wall["series"].as_str().unwrap()).collect();
    assert_eq!(
        series[1],
        "process.command:command=[\"sleep\",\"{time}\"],ignore_failure=yes,time=0.01/wall"
    );
    // Where the value stands around the run, too.
    let around = ["-p", "n=1,2", "--before-each", "echo {n} >> log", "test -e {n}"];
    exec(&place, "-n 2 -q -i", &around).exits(0);
    let log = std::fs::read_to_string(place.cwd().join("log")).unwrap();
    assert!(log.contains("1\n") && log.contains("2\n"), "{log}");
}

#[test]
fn values_that_no_command_asks_for_are_refused() {
    let place = place();
    exec(&place, "-n 2", &["-p", "n=1", "true"]).exits(2).says(&["no command has {n}"]);
    let taken = exec(&place, "-n 2", &["-p", "shell=1", "echo {shell}"]).exits(2);
    taken.says(&["`shell` is a parameter of process.command itself"]);
    exec(&place, "-n 2", &["-p", "n=3..1", "echo {n}"]).exits(2).says(&["backwards"]);
    exec(&place, "-n 2", &["-p", "n=1..20000+1", "echo {n}"]).exits(2).says(&["10000"]);
}
