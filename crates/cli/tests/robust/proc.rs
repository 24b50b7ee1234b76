//! A machine without /proc: plumb starts itself by the path that was typed, or says what to do.

use crate::{in_namespace, last, place, results};

#[test]
fn without_proc_it_is_the_path_that_was_typed() {
    let place = place();
    let script = "mount -t tmpfs tmpfs /proc && $PLUMB exec -n 2 -q --no-lock true; echo exit $?";
    let ran = in_namespace(&place, "--mount", script);
    ran.exits(0).shows(&["exit 0"]);
    assert_eq!(results(&last(&place), "wall")[0]["samples"], 2);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn without_proc_and_path_it_says_what_to_do() {
    let place = place();
    // bash lets a program be started under any name.
    let script = "mount -t tmpfs tmpfs /proc
                  exec bash -c 'exec -a no-such-plumb $PLUMB exec -n 2 --no-lock true'";
    let ran = in_namespace(&place, "--mount", script);
    ran.exits(3).says(&["/proc is not mounted", "mount -t proc proc /proc", "absolute path"]);
}
