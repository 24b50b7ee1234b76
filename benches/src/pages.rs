//! The cost of writing the pages of a large store, measured by plumb itself.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_analysis::testing::{events, run_of_years};
use plumb_store::Store;
use serde_json::Value;

use crate::BenchResult;
use crate::shares::TemporaryFolder;

/// Runs of the store.
const RUNS: u32 = 1_000;
/// Pages of series that are asked for.
const MOST_SERIES: usize = 100;
/// Where it is kept from one bench to the next: making it takes longer than measuring.
const KEPT: &str = "target/bench-pages.db";

/// Writes a store of so many made-up runs through the store's own writer.
pub fn make(path: &Path, runs: u32) -> BenchResult<()> {
    let mut writer = Store::open(path)?.writer()?;
    for number in 0..runs {
        for event in events(&run_of_years(number, runs), true) {
            writer.write(&event)?;
        }
    }
    Ok(())
}

/// Writes all pages a few times.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    let path = kept()?;
    let store = Store::open_read_only(&path)?;
    let samples: u64 = store.summaries()?.iter().map(|run| run.samples).sum();
    let folder = TemporaryFolder::new()?;
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
    let wall = estimate(&document, "wall")?;
    let cpu = estimate(&document, "cpu")?;
    let memory = estimate(&document, "peak_memory")?;
    let (files, bytes) = size(&pages)?;
    let series = series(plumb, &path, &folder.0)?;
    Ok(format!(
        "`plumb report -o DIR` of a store of {RUNS} runs and {:.1} million samples: **{wall:.1} s** ({cpu:.1} s of CPU time), peak \
         **{:.0} MB**, {files} files of **{:.0} MB** (medians of 3). {series}",
        millions(samples),
        memory * 1e-6,
        millions(bytes),
    ))
}

/// The estimate of a metric in the document of a run with one point.
fn estimate(document: &Value, metric: &str) -> BenchResult<f64> {
    let results = document["results"].as_array().ok_or("no results")?;
    let found = results.iter().find(|result| result["metric"] == metric).ok_or("no such metric")?;
    Ok(found["estimate"].as_f64().ok_or("no estimate")?)
}

/// How long `plumb serve` takes for the page of a series, each the first that it is asked for after a start; an
/// earlier `plumb serve` has read the store once.
fn series(plumb: &Path, store: &Path, folder: &Path) -> BenchResult<String> {
    let pages = folder.join("pages");
    let caches = folder.join("caches");
    let began = Instant::now();
    let served = PageServer::new(plumb, store, &caches)?;
    while served.get("/history.html")?.0.contains("have been read so far") {
        std::thread::sleep(Duration::from_millis(500));
    }
    let read = began.elapsed().as_secs();
    drop(served);
    let mut names: Vec<String> = fs::read_dir(pages)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("history-"))
        .collect();
    names.sort();
    let step = names.len().div_ceil(MOST_SERIES).max(1);
    let mut took: Vec<f64> = Vec::new();
    // A new server for each, so that no page comes from the cache in memory.
    for name in names.iter().step_by(step) {
        let served = PageServer::new(plumb, store, &caches)?;
        let (page, seconds) = served.get(&format!("/{name}"))?;
        if !page.starts_with("HTTP/1.1 200") {
            return Err(format!("{name}: {}", page.lines().next().unwrap_or_default()).into());
        }
        took.push(seconds * 1e3);
    }
    took.sort_by(f64::total_cmp);
    let (Some(slowest), Some(median)) = (took.last(), took.get(took.len() / 2)) else {
        return Err("the store has no series".into());
    };
    Ok(format!(
        "`plumb serve` reads this store once in the background, in {read} s. The first page after another start, of each of {} \
         series: median **{median:.1} ms**, at most **{slowest:.1} ms** (bar 50).",
        took.len(),
    ))
}

/// A server that ends with it.
struct PageServer {
    child: Child,
    address: String,
}

impl PageServer {
    fn new(plumb: &Path, store: &Path, caches: &Path) -> BenchResult<Self> {
        let mut child = Command::new(plumb)
            .args(["serve", "--quiet", "--listen", "127.0.0.1:0", "--store"])
            .arg(store)
            .env("XDG_CACHE_HOME", caches)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("no stdout")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    /// The answer of a page, and the seconds until it was complete.
    fn get(&self, page: &str) -> BenchResult<(String, f64)> {
        let began = Instant::now();
        let mut stream = TcpStream::connect(&self.address)?;
        let host = &self.address;
        write!(stream, "GET {page} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok((String::from_utf8_lossy(&answer).into_owned(), began.elapsed().as_secs_f64()))
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The store, made once.
fn kept() -> BenchResult<PathBuf> {
    let path = Path::new(KEPT);
    if !path.exists() {
        eprintln!("  making {KEPT}, which is kept; it takes minutes …");
        let part = path.with_extension("part");
        make(&part, RUNS)?;
        // Renamed when it is complete: a part of a store must not be taken for the whole one next time.
        fs::rename(part, path)?;
    }
    Ok(fs::canonicalize(path)?)
}

/// Files of a folder of pages, and their bytes.
fn size(folder: &Path) -> BenchResult<(usize, u64)> {
    let mut files = 0;
    let mut bytes = 0;
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
