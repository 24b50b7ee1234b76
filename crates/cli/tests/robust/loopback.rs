//! A network namespace whose loopback device is down, as a fresh one is.

use crate::{in_namespace, place};

#[test]
fn a_loopback_device_that_is_down_is_named_once_with_its_remedy() {
    let place = place();
    for point in ["network.tcp", "network.rr", "network.icmp", "ssh.cipher"] {
        let script = format!("$PLUMB run {point} -q --no-lock --max-invocations 3");
        let done = in_namespace(&place, "--net", &script).exits(3);
        let done = done.shows(&["the loopback device `lo` does not work", "ip link set lo up"]);
        let times = done.stdout.matches("the loopback device").count();
        assert_eq!(times, 1, "{point}: {}", done.stdout);
    }
}
