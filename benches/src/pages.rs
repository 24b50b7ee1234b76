//! What it takes to write the pages of a large store; plumb itself measures it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumb_analysis::testing::{events, run_of_years};
use plumb_store::Store;
use serde_json::Value;

use crate::Outcome;
use crate::shares::Folder;

/// Runs of the store.
const RUNS: u32 = 1_000;
/// Where it is kept from one bench to the next: making it takes longer than measuring.
const KEPT: &str = "target/bench-pages.db";

/// Writes a store of so many made-up runs through the store's own writer.
pub fn make(path: &Path, runs: u32) -> Outcome<()> {
    let mut writer = Store::open(path)?.writer()?;
    for number in 0..runs {
        for event in events(&run_of_years(number, runs), true) {
            writer.write(&event)?;
        }
    }
    Ok(())
}

/// Writes all pages a few times.
pub fn bench(plumb: &Path) -> Outcome<String> {
    let path = kept()?;
    let store = Store::open_read_only(&path)?;
    let samples: u64 = store.summaries()?.iter().map(|it| it.samples).sum();
    let folder = Folder::new()?;
    let pages = folder.0.join("pages");
    let command =
        format!("{} report -q --store {} -o {}", plumb.display(), path.display(), pages.display());
    let output = Command::new(plumb)
        .args(["exec", "--no-lock", "--quiet", "--json", "-n", "3", "--store"])
        .arg(folder.0.join("own.db"))
        .arg(&command)
        .stderr(Stdio::inherit())
        .output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let of = |metric: &str| -> Outcome<f64> {
        let results = document["results"].as_array().ok_or("no results")?;
        let found = results.iter().find(|it| it["metric"] == metric).ok_or("no such metric")?;
        Ok(found["estimate"].as_f64().ok_or("no estimate")?)
    };
    let (wall, cpu, memory) = (of("wall")?, of("cpu")?, of("peak_memory")?);
    let (files, bytes) = size(&pages)?;
    Ok(format!(
        "`plumb report -o DIR` of a store of {RUNS} runs and {:.1} million samples: **{wall:.1} s** ({cpu:.1} s of CPU time), at a peak of \
         **{:.0} MB** of memory, {files} files of {:.0} MB (medians of 3, by `plumb exec`).",
        millions(samples),
        memory * 1e-6,
        millions(bytes),
    ))
}

/// The store, made once.
fn kept() -> Outcome<PathBuf> {
    let path = Path::new(KEPT);
    if !path.exists() {
        eprintln!("  making {KEPT} …");
        let part = path.with_extension("part");
        make(&part, RUNS)?;
        fs::rename(part, path)?;
    }
    Ok(fs::canonicalize(path)?)
}

/// Files of a folder of pages, and their bytes.
fn size(folder: &Path) -> Outcome<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for folder in [folder.to_owned(), folder.join("data")] {
        for entry in fs::read_dir(folder)? {
            let about = entry?.metadata()?;
            if about.is_file() {
                files += 1;
                bytes += about.len();
            }
        }
    }
    Ok((files, bytes))
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn millions(count: u64) -> f64 {
    count as f64 * 1e-6
}
