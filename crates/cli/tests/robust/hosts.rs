//! Hosts: which runs are of one machine, and what is said if none is of this one.

use std::fs;
use std::path::Path;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{exec, last, parsed, place};

fn on(place: &TestEnvironment, host: &str, arguments: &str) -> ProgramOutput {
    ran(place.plumb(arguments).env("PLUMB_HOST", host)).unwrap()
}

fn measure(place: &TestEnvironment, host: &str) {
    exec(place, &format!("-n 2 -q --host {host}"), &["true"]).exits(0);
}

#[test]
fn each_host_has_a_history_of_its_own() {
    let place = place();
    for host in ["web1", "web1", "web2"] {
        measure(&place, host);
    }
    assert_eq!(last(&place)["targets"][0]["host"], "web2");
    place.run("show last").unwrap().exits(0).shows(&["host web2"]);
    place.run("show --machine last").unwrap().exits(0).shows(&["host web2 \u{b7} fp1:"]);
    place.run("show --runs").unwrap().exits(0).shows(&["host", "web1", "web2"]);
    let series = "process.command:command=[\"true\"]/wall";
    let all = format!("plumb history '{series}' --by kind");
    let web1 = on(&place, "web1", "history true").exits(0);
    web1.shows(&["2 runs on host web1, fp1:", "left out: 1 run on 1 other host", &all]);
    let document = parsed(&on(&place, "web1", "history true --json").exits(0));
    assert_eq!((&document["host"], &document["other_hosts"]["runs"]), (&"web1".into(), &1.into()));
    let mixed = on(&place, "web1", "history true --by kind").exits(0);
    mixed.shows(&["3 runs on 2 hosts, fp1:"]);
    // A guest that nobody saw before.
    let guest = on(&place, "web3", "history true").exits(0);
    let guest = guest.says(&["no stored run of", "this host (web3)", "from web2", "--host web2"]);
    guest.says(&[&all]).shows(&["1 run on host web2"]);
    let other = place.run("history true --host web9").unwrap().exits(2);
    other.says(&["is from host web9", "--host web1", "--host web2", &all]);
    place.run("compare last~1 last").unwrap().exits(0).shows(&["host", "web1", "web2"]);
    place.run("compare --by host last~2 last~1 last").unwrap().exits(0).shows(&["web1", "web2"]);
    let same = place.run("compare --by kind last~1 last").unwrap().exits(2);
    same.says(&["all these runs have the same kind"]);
    place.run("store info").unwrap().exits(0).shows(&["web1 (2), web2 (1)"]);
    let info = parsed(&place.run("store info --json").unwrap().exits(0));
    assert_eq!(info["hosts"][0], serde_json::json!({ "host": "web1", "runs": 2 }));
    // Another store takes the hosts over.
    let other = crate::place();
    other.run(&format!("import {}", place.store().display())).unwrap().exits(0);
    on(&other, "web1", "history true").exits(0).shows(&["2 runs on host web1"]);
}

#[test]
fn a_baseline_counts_on_its_own_host() {
    let place = place();
    measure(&place, "web1");
    place.run("baseline set good last").unwrap().exits(0);
    let refused = on(&place, "web2", "check").exits(2);
    refused.says(&[
        "the baseline good was measured on host web1, but this is web2",
        "plumb check --baseline good --by kind",
        "plumb check --baseline good --host web1",
        "plumb baseline set NAME",
    ]);
    for counted in ["check --by kind", "check --host web1", "check --force"] {
        on(&place, "web2", counted).exits(3).says(&["needs 6 runs"]);
    }
    measure(&place, "web2");
    let refused = place.run("baseline set both last~1 last").unwrap().exits(2);
    let typed = "plumb baseline set both last~1 last --by kind";
    refused.says(&["these runs are from several hosts: web1, web2", typed]);
    place.run("baseline set both last~1 last --by kind").unwrap().exits(0);
    let left_out = on(&place, "web2", "check --baseline both").exits(3);
    left_out.says(&["ignored 1 of 2 baseline runs"]);
}

#[test]
fn a_machine_id_is_stored_as_a_hash_alone() {
    let place = place();
    let tree = place.root().join("tree");
    let id = "4f1c6a9e0b7d43a2b5c8e1f20d937a64";
    fs::create_dir_all(tree.join("etc")).unwrap();
    let measure = || {
        let mut plumb = place.plumb("exec -n 2 true");
        ran(plumb.env("PLUMB_ROOT", &tree).env_remove("PLUMB_HOST")).unwrap().exits(0)
    };
    let unnamed = ["this host has no machine id", "--host NAME or PLUMB_HOST"];
    measure().says(&unnamed);
    assert_eq!(last(&place)["targets"][0]["host"], serde_json::Value::Null);
    fs::write(tree.join("etc/machine-id"), format!("{id}\n")).unwrap();
    let said = measure().stderr;
    assert!(!said.contains(unnamed[0]), "{said}");
    assert_eq!(last(&place)["targets"][0]["host"], "id1:94ad9ae31a054e90");
    for file in files(&place.store()) {
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(id.len()).any(|window| window == id.as_bytes()));
    }
    let shown = place.run("history true --host id1:94ad9ae31a054e90").unwrap().exits(0);
    shown.shows(&["2 runs on host id1:94ad9ae31a054e90", "1 run on an unknown host"]);
    exec(&place, "-n 2 --host bad/name", &["true"]).exits(2).says(&["is not a valid host name"]);
    on(&place, "bad name", "exec -n 2 true").exits(2).says(&["PLUMB_HOST"]);
}

/// The store and its log.
fn files(store: &Path) -> Vec<std::path::PathBuf> {
    let folder = fs::read_dir(store.parent().unwrap()).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn results_of_other_tools_can_have_a_host() {
    let place = place();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../base/classics/tests/fixtures");
    for (number, time) in [(1, "1.01"), (2, "1.02"), (3, "1.03")] {
        let text = fs::read_to_string(fixtures.join("mbw-1.5.txt")).unwrap();
        place.write(&format!("{number}.txt"), &format!("{text}\n{time}\n")).unwrap();
    }
    place.run("import --host web1 1.txt 2.txt").unwrap().exits(0);
    place.run("import 3.txt").unwrap().exits(0);
    let document = parsed(&place.run("show last~2 --json").unwrap().exits(0));
    let series = document["results"][0]["series"].as_str().unwrap().to_owned();
    let mut history = place.plumb("history --host web1");
    ran(history.arg(&series)).unwrap().exits(0).shows(&["2 runs on host web1, unknown:"]);
}
