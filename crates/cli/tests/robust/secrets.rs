//! Passwords and tokens in command lines: no file and no output of plumb has them.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use crate::common::processes::{signal, wait_for};
use crate::common::{TestEnvironment, ran};
use crate::{PATIENCE, WAIT, place};

/// No word of plumb or of a program.
pub const SECRET: &str = "Zq8w-hunter2";

/// Whether a file below a folder contains the secret, and which.
pub fn file_with_secret(folder: &Path) -> Option<String> {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = file_with_secret(&path) {
                return Some(found);
            }
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        if bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()) {
            return Some(path.display().to_string());
        }
    }
    None
}

/// Runs plumb with these words, and demands that the secret is nowhere.
fn measure(place: &TestEnvironment, options: &str, words: &[&str]) {
    let mut plumb = place.plumb(&format!("{options} -n 2 --no-lock"));
    let done = ran(plumb.args(words).env("SERVICE_TOKEN", SECRET)).unwrap();
    let shown = [&done.stdout, &done.stderr, &place.run("show --full").unwrap().stdout];
    for text in shown {
        assert!(!text.contains(SECRET), "{options} {words:?}: {text}");
    }
    assert_eq!(file_with_secret(place.root()), None, "{options} {words:?}");
}

#[test]
fn nothing_that_is_stored_or_shown_has_a_secret_of_a_command_line() {
    let place = place();
    let fails = "sh -c 'echo $0 $@ >&2; exit 3'";
    for text in [
        format!("{fails} --password={SECRET}"),
        format!("{fails} a --api-key '{SECRET}' b"),
        format!("{fails} postgres://joe:{SECRET}@localhost/db"),
        format!("{fails} -H 'Authorization: Bearer {SECRET}'"),
        format!("env PGPASSWORD={SECRET} {fails}"),
    ] {
        measure(&place, "exec", &[&text]);
        measure(&place, "exec --ignore-failure --shell", &[&text]);
    }
    measure(&place, "exec", &["--", "sh", "-c", "echo $1 >&2; exit 3", "--token", SECRET]);
    measure(&place, "exec --shell", &["echo $SERVICE_TOKEN >&2; exit 3"]);
    measure(&place, "exec", &["-p", &format!("token={SECRET},other"), "true {token}"]);
    measure(&place, "exec", &["--setup", &format!("export TOKEN={SECRET}"), "true"]);
    measure(&place, "exec", &["--label", &format!("token={SECRET}"), "true"]);
    measure(&place, "exec", &["--label", &format!("of=https://user:{SECRET}@host/"), "true"]);
    let suite = format!(
        "name = 'x'\n[[point]]\nworkload = 'process.command'\n\
         set = {{ command = '[\"true\", \"--token={SECRET}\"]' }}\n"
    );
    let suite = place.write("suite.toml", &suite).unwrap();
    let done = place.run("run suite.toml --no-lock --max-invocations 2").unwrap().exits(0);
    assert!(done.stdout.contains("--token=***"), "{}", done.stdout);
    fs::remove_file(suite).unwrap();
    place.run("report -o pages").unwrap().exits(0);
    place.run("export --format samples-csv -o samples.csv").unwrap().exits(0);
    assert_eq!(file_with_secret(place.root()), None);
}

#[test]
fn the_password_of_a_datastore_is_used_and_never_stored_or_shown() {
    let place = place();
    for url in
        [format!("redis://:{SECRET}@127.0.0.1:1"), format!("redis://joe:{SECRET}@127.0.0.1:1/2")]
    {
        let point = format!("datastore.mix:engine=redis,url={url}");
        let mut plumb = place.plumb("run --full --no-lock --prepare none");
        let refused = ran(plumb.arg(&point)).unwrap().exits(3);
        let refused = refused.shows(&["redis://127.0.0.1:1 can't be reached"]);
        let shown = place.run("show --full").unwrap();
        for text in [&refused.stdout, &refused.stderr, &shown.stdout] {
            assert!(!text.contains(SECRET), "{url}: {text}");
        }
        assert_eq!(file_with_secret(place.root()), None, "{url}");
    }
}

#[test]
fn results_of_other_tools_lose_their_secrets_too() {
    let place = place();
    let results = format!(
        r#"{{"results": [{{"command": "curl --token={SECRET} h", "times": [0.1, 0.2], "exit_codes": [0, 0]}}]}}"#
    );
    let folder = place.root().join("of-others");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("hyperfine.json");
    fs::write(&file, results).unwrap();
    ran(place.plumb("import").arg(&file)).unwrap().exits(0);
    fs::remove_dir_all(&folder).unwrap();
    place.run("show").unwrap().exits(0).shows(&["--token=***"]);
    assert_eq!(file_with_secret(place.root()), None);
}

#[test]
fn different_secrets_are_different_points_and_can_be_kept() {
    let place = place();
    let commands = ["true --token=first-one", "true --token=second-one"];
    let mut plumb = place.plumb("exec -n 2 -q --no-lock");
    let shown = ran(plumb.args(commands)).unwrap().exits(0).stdout;
    let names: Vec<&str> = shown.matches("--token=***").collect();
    assert!(names.len() >= 2 && !shown.contains("first-one"), "{shown}");
    let mut plumb = place.plumb("exec -n 2 -q --no-lock --keep-secrets");
    ran(plumb.args(commands)).unwrap().exits(0).shows(&["first-one", "second-one"]);
}

#[test]
fn a_run_goes_on_with_the_secret_from_the_environment() {
    let place = place();
    place.write("wait.sh", WAIT).unwrap();
    let mut plumb = place.marked("exec -n 2 --no-lock -q");
    plumb.arg(format!("sh wait.sh --token={SECRET}"));
    plumb.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut plumb = plumb.spawn().unwrap();
    wait_for(PATIENCE, || place.cwd().join("started").exists().then_some(())).unwrap();
    signal("INT", plumb.id()).unwrap();
    assert_eq!(plumb.wait().unwrap().code(), Some(130));
    place.write("go", "").unwrap();
    let refused = place.run("run --resume --no-lock -q").unwrap().exits(2);
    let refused = refused.says(&["needs a secret that plumb did not store", "--keep-secrets"]);
    let name = refused.stderr.split_whitespace().find_map(|word| word.split_once("=SECRET"));
    let (name, _) = name.unwrap();
    let with =
        |secret: &str| ran(place.plumb("run --resume --no-lock -q").env(name, secret)).unwrap();
    with("another").exits(2).says(&["is not the secret"]);
    with(SECRET).exits(0).shows(&["complete"]);
    assert_eq!(file_with_secret(place.root()), None);
}
