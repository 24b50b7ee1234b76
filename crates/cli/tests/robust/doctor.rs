//! `plumb doctor`: what it finds wrong with machines, what an audit keeps, and what later verdicts make of it.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::common::{TestEnvironment, ran};
use crate::{is_root, measured, parsed, place, trees};

#[test]
fn an_audit_is_kept_and_quoted() {
    let place = place();
    place.run("doctor").unwrap().exits(0).shows(&["plumb doctor --audit"]);
    let ran = place
        .run("doctor --audit --of process --comparisons 1 --no-lock -q --json")
        .unwrap()
        .exits(0);
    let document = parsed(&ran);
    assert_eq!(document["schema"], "plumb.audit/1");
    assert_eq!(document["classes"][0]["class"], "process");
    assert_eq!(document["classes"][0]["comparisons"], 1);
    for field in ["preemptions_per_s", "faults_per_s"] {
        let value = document["classes"][0][field].as_f64();
        assert!(value.is_some_and(|value| value >= 0.0), "{field}: {document}");
    }
    // Where the machine is so busy that a process gives one sample, nothing is told of samples.
    for field in ["sample_sd", "process_sd", "tau"] {
        let value = &document["classes"][0][field];
        assert!(value.is_null() || value.as_f64() >= Some(0.0), "{field}: {document}");
    }
    let step = &document["clock"]["resolution_ns"];
    let read = &document["clock"]["overhead_ns"];
    assert!(step.as_f64() >= Some(1.0) && read.as_f64() > Some(0.0), "{document}");
    // One comparison gives no noise floor; a machine that was seen to be noisy is taken at its word.
    assert!(document["classes"][0]["noise_floor"].is_null());
    let noisy = "UPDATE audit SET json = json_set(json, '$.classes[0].noise_floor', 0.25)";
    let done = place.program("sqlite3").arg(place.store()).arg(noisy).status().unwrap();
    assert!(done.success());
    place.run("doctor").unwrap().exits(0).shows(&["process", "25 % or more"]);
    let ran = place.run("ab --no-lock --budget 1s true true").unwrap().exits(0);
    ran.says(&["margin 25 % instead of 1 %"]);
    place.run("show").unwrap().exits(0).shows(&["by its audit, this machine detects 25 % or more"]);
    // A point of any family has the noise floor of the kind of work that it declares.
    let as_scheduler = "UPDATE audit SET json = json_set(json, '$.classes[0].class', 'scheduler')";
    place.program("sqlite3").arg(place.store()).arg(as_scheduler).status().unwrap();
    let point = "storage.random:size=1MiB,place=memory";
    let ab = format!("ab --no-lock --budget 1s {point} {point},block=8KiB");
    place.run(&ab).unwrap().exits(0).says(&["margin 25 % instead of 1 %"]);
}

/// Sets a figure in every kept audit that has its place.
fn set_audited(place: &TestEnvironment, figure: &str, value: &str) {
    let sql = format!("UPDATE audit SET json = json_replace(json, '{figure}', {value})");
    let done = place.program("sqlite3").arg(place.store()).arg(sql).status().unwrap();
    assert!(done.success());
}

/// What is said of the builds of `./one 0.02` and a slower command.
fn build_note(place: &TestEnvironment, second: &str) -> Value {
    let mut command = place.plumb("ab --no-lock --max-pairs 8 --margin 20% --json");
    let ran = ran(command.args(["./one 0.02", second]).current_dir(place.work())).unwrap();
    let against = &parsed(&ran.exits(0))["results"][0]["against_first"][0];
    assert_eq!(against["verdict"], "slower", "{against}");
    against["other_build"].clone()
}

#[test]
fn an_audit_links_a_program_again_and_ab_quotes_it() {
    let place = place();
    // A full audit is not taken back by one of copies alone.
    let of_equals = "doctor --audit --of process --comparisons 1 --no-lock -q";
    place.run(of_equals).unwrap().exits(0);
    set_audited(&place, "$.classes[0].noise_floor", "0.11");
    let ran = place.run("doctor --audit --of layout --comparisons 1 --no-lock -q --json").unwrap();
    let document = parsed(&ran.exits(0));
    let layout = &document["layout"];
    assert_eq!((&layout["links"], &layout["unsupported"]), (&1.into(), &Value::Null));
    let ratio = layout["ratio"].as_f64().unwrap();
    assert!((0.5..2.0).contains(&ratio), "{document}");
    assert!(layout["effect"].is_null(), "one copy gives no bound: {document}");

    // Two different programs, one of them under two names. What follows an ELF file does not change what it does.
    let sleep = std::fs::read("/bin/sleep").unwrap();
    for (name, end) in [("one", "1"), ("same", "1"), ("other", "2")] {
        let file = place.work().join(name);
        std::fs::write(&file, [&sleep[..], end.as_bytes()].concat()).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
    set_audited(&place, "$.layout.effect", "0.9");
    let noted = build_note(&place, "./other 0.03");
    assert_eq!(noted["layout_effect"], 0.9, "{noted}");
    let shown = place.run("show").unwrap().exits(0);
    shown.shows(&["of these two files", "differed by up to 90 % when it was linked again"]);
    place.run("show --format markdown").unwrap().exits(0).shows(&["of these two files"]);
    assert!(build_note(&place, "./same 0.03").is_null(), "one content under two names");
    set_audited(&place, "$.layout.effect", "0.1");
    assert!(build_note(&place, "./other 0.03").is_null(), "more than relinked copies differ by");
    set_audited(&place, "$.layout.effect", "null");
    assert!(build_note(&place, "./other 0.03").is_null(), "more than builds commonly differ by");
    // The margin still is that of the audit of equals.
    let ran = place.run("ab --no-lock --budget 1s true true").unwrap().exits(0);
    ran.says(&["margin 11 % instead of 1 %"]);
}

#[test]
fn without_a_compiler_an_audit_says_that_layout_is_unsupported() {
    let place = place();
    let mut doctor = place.plumb("doctor --audit --of layout --comparisons 1 --no-lock -q");
    ran(doctor.env("PATH", place.tmp()))
        .unwrap()
        .exits(3)
        .says(&["layout is unsupported: cc was not found; install a C compiler"]);
}

#[test]
fn other_machines_get_their_marks() {
    let place = place();
    for (name, mark) in [("laptop", "F"), ("server", "A"), ("aws", "C"), ("container", "F")] {
        let tree = trees::tree(name);
        let doctor = |arguments: &str| {
            let mut doctor = place.plumb(arguments);
            ran(doctor.env("PLUMB_ROOT", tree.path()).env("COLUMNS", "80")).unwrap().exits(0)
        };
        let document = parsed(&doctor("doctor --dir / --json"));
        assert_eq!(
            (&document["schema"], &document["mark"]),
            (&"plumb.doctor/1".into(), &mark.into())
        );
        let card = doctor("doctor --dir /").shows(&[mark, "for measuring"]).stdout;
        assert!(card.lines().all(|line| line.chars().count() <= 80), "{card}");
        for symptom in document["symptoms"].as_array().unwrap() {
            assert!(card.contains(symptom["name"].as_str().unwrap()), "{card}");
        }
    }
}

#[test]
fn where_nothing_can_be_read_doctor_says_so() {
    let place = place();
    let mut doctor = place.plumb("doctor");
    ran(doctor.env("PLUMB_ROOT", place.tmp())).unwrap().exits(3).says(&["mount -t proc"]);
}

#[test]
fn a_plain_user_gets_a_mark_and_sees_the_machine() {
    let place = place();
    let as_user = |arguments: &str| {
        let mut command = match is_root() {
            true => place.program("setpriv"),
            false => return place.run(arguments).unwrap(),
        };
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        ran(command.arg(place.binary()).args(arguments.split(' '))).unwrap()
    };
    as_user("doctor").exits(0).shows(&["for measuring", "not-root"]);
    as_user("show --machine").exits(0).shows(&["kernel", "needs root"]);
}

#[test]
fn machines_of_runs_are_shown_and_compared() {
    let place = measured();
    let now = parsed(&place.run("show --machine --json").unwrap().exits(0));
    let then = parsed(&place.run("show --machine last --json").unwrap().exits(0));
    assert_eq!(now["schema"], "plumb.machine/1");
    assert_eq!(now["targets"][0]["machine"], then["targets"][0]["machine"]);
    assert!(now["targets"][0]["run"].is_null() && then["targets"][0]["run"].is_string());
    let elsewhere = trees::tree("aws");
    let mut run = place.plumb("exec --no-lock -n 2 -q true");
    ran(run.env("PLUMB_ROOT", elsewhere.path())).unwrap().exits(0);
    let same = place.run("show --machine last~1 last~1").unwrap().exits(0);
    same.shows(&["no differences"]);
    let two = place.run("show --machine last~1 last").unwrap().exits(0);
    two.shows(&["relevant kernel", "6.1.141-155.222.amzn2023.x86_64"]);
    place.run("show last last~1").unwrap().exits(2).says(&["plumb show --machine RUN RUN"]);
}
