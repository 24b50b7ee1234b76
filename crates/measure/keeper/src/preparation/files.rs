//! Files of the kernel that knobs read and set.

use plumb_machine::Root;

use crate::preparation::knob::{Assignment, Resolved, Unusable};
use crate::setting::SystemSetting;

/// The folder of the CPUs.
pub const CPUS: &str = "/sys/devices/system/cpu";

/// The value of a file now.
pub fn file_now(root: &Root, path: &str) -> Option<String> {
    Some(SystemSetting::File(path.into()).read(root).ok()?.trim().to_owned())
}

/// The different values of these files now.
pub fn files_now(root: &Root, paths: &[String]) -> Option<String> {
    let mut values: Vec<String> = paths.iter().filter_map(|path| file_now(root, path)).collect();
    values.sort();
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// This file of every CPU that has it.
pub fn of_cpus(root: &Root, file: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for name in root.names(CPUS) {
        let path = format!("{CPUS}/{name}/{file}");
        if is_cpu(&name) && root.path(&path).exists() {
            paths.push(path);
        }
    }
    paths
}

/// Whether a folder is one CPU's, as `cpu0` is; `cpufreq` and `cpuidle` stand next to it.
fn is_cpu(folder: &str) -> bool {
    folder.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A file that lists the values that it takes: `always [madvise] never`.
pub fn choice(root: &Root, path: &str, value: &str) -> Result<Resolved, Unusable> {
    let Some(text) = root.text(path) else {
        return Err(Unusable::unsupported(format!("this kernel has no {path}"), ""));
    };
    let offered: Vec<&str> = text.split_whitespace().map(|w| w.trim_matches(['[', ']'])).collect();
    if !offered.contains(&value) {
        return Err(Unusable::not_taken(value, &offered.join(", ")));
    }
    Ok(Resolved::Settings(vec![Assignment::file(path, value)]))
}

/// All these settings; what this machine lacks if there are none.
pub fn all(files: Vec<Assignment>, without: &str) -> Result<Resolved, Unusable> {
    match files.is_empty() {
        true => Err(Unusable::unsupported(without, "")),
        false => Ok(Resolved::Settings(files)),
    }
}
