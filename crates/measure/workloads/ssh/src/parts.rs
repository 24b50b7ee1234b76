//! What may limit a session of ssh: parts that `--ceilings` measures on their own.

use std::collections::BTreeMap;

use plumb_model::PossibleBottleneck;
use plumb_workload_path as path;

/// The parameters of ssh.cipher that every workload of the family has for its own sessions.
pub(crate) const OF_SESSION: [&str; 5] = ["cipher", "compression", "direction", "client", "server"];

/// The path, the cipher with the CPU, and the window of ssh, for a workload that has these parameters of ssh.cipher.
pub(crate) fn of_session(parameters: &[&str]) -> [PossibleBottleneck; 3] {
    let mut path = possible("path", "network.tcp", same(&["direction"]));
    path.settings.extend(same(&path::PARAMETERS));
    path.unless = words(&[("path", "loopback")]);
    path.also_far = true;
    let mut cipher = possible("cipher and CPU", "ssh.cipher", same(parameters));
    cipher.is_local = true;
    let mut window = possible("window of ssh", "ssh.cipher", same(parameters));
    let without_bandwidth = path::PARAMETERS.iter().filter(|name| !["up", "down"].contains(name));
    window.settings.extend(same(&without_bandwidth.copied().collect::<Vec<_>>()));
    window.unless = words(&[("rtt", "0")]);
    [path, cipher, window]
}

/// A part that works at the same time as the others, by the throughput of a workload.
pub(crate) fn possible(
    name: &str,
    workload: &str,
    settings: BTreeMap<String, String>,
) -> PossibleBottleneck {
    PossibleBottleneck {
        name: name.to_owned(),
        workload: workload.to_owned(),
        metric: "throughput".to_owned(),
        settings,
        unless: BTreeMap::new(),
        only: BTreeMap::new(),
        is_first: false,
        also_far: false,
        is_local: false,
    }
}

/// These parameters with the values that the workload itself has.
pub(crate) fn same(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().map(|name| ((*name).to_owned(), format!("${name}"))).collect()
}

/// Parameters with fixed values.
pub(crate) fn words(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect()
}
