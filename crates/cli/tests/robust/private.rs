//! What other users of the machine can put in plumb's way, and what they can read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::common::ran;
use crate::place;

#[test]
fn a_journal_that_others_could_have_planted_is_not_carried_out() {
    let place = place();
    let journals = place.root().join("shared/journals");
    fs::create_dir_all(&journals).unwrap();
    let planted = journals.join("1-1.jsonl");
    fs::write(&planted, "{}\n").unwrap();
    fs::set_permissions(&journals, Permissions::from_mode(0o777)).unwrap();
    let with =
        |arguments: &str| ran(place.plumb(arguments).env("PLUMB_JOURNALS", &journals)).unwrap();
    with("list").exits(0).says(&["restores nothing", "can be written by everybody"]);
    with("tune --restore").exits(6).says(&["can be written by everybody", "hint"]);
    assert!(planted.exists(), "nothing in it is believed, nor removed");
    fs::set_permissions(&journals, Permissions::from_mode(0o700)).unwrap();
    with("list").exits(0);
    assert!(!planted.exists(), "a journal without a header is of nobody");
}

#[test]
fn others_can_not_read_what_was_run() {
    let place = place();
    let data = place.root().join("fresh");
    let mut plumb = place.plumb("exec -n 3 -q --no-lock true");
    plumb.env_remove("PLUMB_STORE").env("XDG_DATA_HOME", &data);
    ran(&mut plumb).unwrap().exits(0);
    let mode = |path: &str| fs::metadata(data.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("plumb"), mode("plumb/plumb.db")), (0o700, 0o600));
}
