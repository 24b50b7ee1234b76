//! A machine without /proc: plumb starts itself by the path that was typed, or says what to do.

use crate::{in_namespace, last, place, results};

#[test]
fn without_proc_it_is_the_path_that_was_typed() {
    let place = place();
    let script = "mount -t tmpfs tmpfs /proc && $PLUMB exec -n 2 -q --no-lock true; echo exit $?
                  $PLUMB doctor";
    let ran = in_namespace(&place, "--mount", script);
    let ran = ran.exits(0).shows(&["exit 0", "no-proc", "mount -t proc proc /proc"]);
    assert!(ran.stderr.contains("can't see what else runs"), "{}", ran.stderr);
    let document = last(&place);
    assert_eq!(results(&document, "wall")[0]["samples"], 2);
    // What is unknown is left out; 0 CPUs would be another machine.
    let facts = &document["targets"][0]["machine"]["facts"];
    assert!(facts.is_object() && facts["cpus"].is_null(), "{facts}");
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
