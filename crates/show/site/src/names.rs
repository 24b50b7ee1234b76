//! Names of pages: the same on disk and over HTTP, flat in one folder, safe for any filesystem.

use std::collections::BTreeSet;

use plumb_model::{Host, Id};

/// The page of all runs.
pub const INDEX: &str = "index";
/// The page of all series.
pub const HISTORY: &str = "history";
/// The page that explains every word.
pub const METHOD: &str = "method";

/// Characters of a name from elsewhere that are kept.
const LONGEST: usize = 80;

/// The page of a run.
#[must_use]
pub fn run_page(run: Id) -> String {
    format!("run-{run}")
}

/// The page of a workload in a run.
#[must_use]
pub fn workload_page(run: Id, workload: &str) -> String {
    format!("run-{run}-{}", slug(workload))
}

/// The page of what monitors saw next to a run.
#[must_use]
pub fn monitors_page(run: Id) -> String {
    format!("run-{run}-monitors")
}

/// The page of a run under way.
#[must_use]
pub fn live_page(run: Id) -> String {
    format!("live-{run}")
}

/// The page of a fleet.
#[must_use]
pub fn fleet_page(fleet: Id) -> String {
    format!("fleet-{fleet}")
}

/// The page on which runs are compared with the first of them.
#[must_use]
pub fn compare_page(runs: &[Id]) -> String {
    runs.iter().fold("compare".to_owned(), |name, run| format!("{name}-{run}"))
}

/// The page on which the newest runs are compared by a label or fact.
#[must_use]
pub fn groups_page(by: &str) -> String {
    format!("compare-by-{}", field(by))
}

/// A label or fact, as part of a name.
fn field(by: &str) -> String {
    let kept = kept(by);
    if kept == by { kept } else { format!("{kept}-{}", hash(by)) }
}

/// The page of a series on a machine: its kind and its host.
#[must_use]
pub fn history_page(series: &str, kind: &str, host: &Host) -> String {
    // The machine is in the hash alone: people tell it by the page's title.
    let hash = hash(&format!("{series}\n{}", machine(kind, host)));
    format!("history-{}-{hash}", kept(series))
}

/// The page of a machine: its kind and its host.
#[must_use]
pub fn machine_page(kind: &str, host: &Host) -> String {
    format!("machine-{}", slug(&machine(kind, host)))
}

fn machine(kind: &str, host: &Host) -> String {
    host.known().map_or_else(|| kind.to_owned(), |host| format!("{kind} {host}"))
}

/// Which pages there are to link to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LinkedPages {
    /// All that can be made.
    #[default]
    All,
    /// Those of these runs, and these comparisons; everything else that these runs have a part in.
    Of {
        /// The runs that have pages.
        runs: BTreeSet<Id>,
        /// Names of the pages of comparisons.
        comparisons: BTreeSet<String>,
    },
}

impl LinkedPages {
    /// Whether a run has its pages.
    #[must_use]
    pub fn run(&self, run: Id) -> bool {
        match self {
            Self::All => true,
            Self::Of { runs, .. } => runs.contains(&run),
        }
    }

    /// Whether these runs have a page on which they are compared.
    #[must_use]
    pub fn comparison(&self, runs: &[Id]) -> bool {
        match self {
            Self::All => true,
            Self::Of { comparisons, .. } => comparisons.contains(&compare_page(runs)),
        }
    }

    /// The pages that compare all these runs, each with what they are compared by; of `labels`, the keys by which
    /// runs differ, where every page can be made.
    pub(crate) fn groups(&self, labels: &BTreeSet<&str>) -> Vec<(String, String)> {
        match self {
            Self::All => labels
                .iter()
                .filter(|label| kept(label) == **label)
                .map(|label| (groups_page(label), (*label).to_owned()))
                .collect(),
            Self::Of { comparisons, .. } => comparisons
                .iter()
                .filter_map(|page| {
                    let by = page.strip_prefix("compare-by-");
                    by.map(|by| (page.clone(), by.to_owned()))
                })
                .collect(),
        }
    }
}

/// A name from elsewhere as a part of a file's name; two names never have the same, save by a collision
/// of the hash that stands for whatever was replaced.
fn slug(name: &str) -> String {
    let kept = kept(name);
    // A workload without a dot could take another page's name.
    let own = kept == name && name.contains('.');
    if own { kept } else { format!("{kept}-{}", hash(name)) }
}

fn kept(name: &str) -> String {
    let kept: String =
        name.chars().take(LONGEST).map(|c| if is_safe(c) { c } else { '_' }).collect();
    // A leading dot would hide the file.
    kept.trim_start_matches('.').to_owned()
}

// Capitals are not kept: on some filesystems two names that differ in nothing else are one file.
fn is_safe(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c)
}

/// FNV-1a over 64 bits, of which 48 are shown.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // 48 bits: among a million names the chance of a collision is 1 in 560.
    format!("{:012x}", hash >> 16)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use plumb_model::Host;
    use proptest::prelude::{any, proptest};

    use super::{history_page, slug};

    #[test]
    fn names_stay_readable_where_they_may() {
        assert_snapshot!(slug("memory.copy"), @"memory.copy");
        assert_snapshot!(slug("monitors"), @"monitors-79973aab255b");
        assert_snapshot!(slug("../../etc/passwd"), @"_.._etc_passwd-2bef2c0bbbde");
        assert_snapshot!(slug("Memory.Copy"), @"_emory._opy-386c51b5629f");
        assert_snapshot!(history_page("memory.copy:method=nt/bandwidth", "fp1:a", &Host::UNKNOWN), @"history-memory.copy_method_nt_bandwidth-7f1f25d38943");
        assert_ne!(slug("a b"), slug("a_b"));
        let of = |kind: &str, host: &str| history_page("a.b/c", kind, &host.parse().unwrap());
        assert_ne!(of("fp1:a", ""), of("fp1:b", ""));
        assert_ne!(of("fp1:a", "web1"), of("fp1:a", "web2"));
    }

    proptest! {
        #[test]
        fn any_name_is_safe(name in any::<String>()) {
            let slug = slug(&name);
            assert!(!slug.starts_with('.') && !slug.is_empty() && slug.len() < 100, "{slug}");
            assert!(slug.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c)));
        }
    }
}
