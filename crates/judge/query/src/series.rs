//! One series over all runs, of what is left of each without its samples.
//!
//! That is read where it costs least: from who has read the run, from a cache in a file, and else from the
//! samples of that series. The cache is never the truth: what it holds of a run counts only where the store
//! says that the run is complete and as it was then, and only under the rules of this version.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use plumb_analysis::{
    Ends, Estimate, HistoryEntry, HistoryRun, METHOD_VERSION, RunFinding, RunResults, history_entry,
};
use plumb_model::{Better, Host, Id, RunRecord, RunStatus};
use plumb_store::{CachedSeries, Error, RunEnd, SeriesCache, Store};
use serde::{Deserialize, Serialize};

/// Rises when an entry is made of a run in another way, or is written in another form; a test says when.
const FORM: u32 = 1;

/// What is left of the series of runs, in a file.
#[derive(Debug)]
pub struct KeptSeries {
    cache: Mutex<SeriesCache>,
    file: PathBuf,
}

impl KeptSeries {
    /// What is kept of the store at this path, in a folder of caches; None where that can't be had.
    #[must_use]
    pub fn open(folder: &Path, store: &Path) -> Option<Self> {
        Self::in_file(SeriesCache::file(folder, store))
    }

    /// The same by a connection of its own.
    #[must_use]
    pub fn again(&self) -> Option<Self> {
        Self::in_file(self.file.clone())
    }

    fn in_file(file: PathBuf) -> Option<Self> {
        let version = format!("{}/{METHOD_VERSION}/{FORM}", env!("CARGO_PKG_VERSION"));
        Some(Self { cache: Mutex::new(SeriesCache::open(&file, &version)?), file })
    }

    /// The runs that are kept, each with its state when it was read.
    #[must_use]
    pub fn runs(&self) -> HashMap<Id, String> {
        self.with(|cache| cache.runs())
    }

    /// Keeps what is left of a run that is complete and in this state.
    pub fn keep(&self, results: &RunResults, state: &str) {
        let written: serde_json::Result<Vec<CachedSeries>> =
            results.entries(None).map(|(series, entry)| written(series, &entry)).collect();
        if let Ok(all) = written {
            self.with(|cache| cache.keep(results.run, state, &all));
        }
    }

    /// What is kept of a series in those of these runs that are as they were.
    fn series(&self, name: &str, ends: &[RunEnd]) -> HashMap<Id, Vec<HistoryEntry>> {
        let (kept, found) = self.with(|cache| (cache.runs(), cache.series(name)));
        let Some(found) = found else { return HashMap::new() };
        let is_current =
            |it: &&RunEnd| it.state.is_some() && kept.get(&it.run) == it.state.as_ref();
        let mut all: HashMap<Id, Vec<HistoryEntry>> =
            ends.iter().filter(is_current).map(|it| (it.run, Vec::new())).collect();
        let mut places = BTreeMap::new();
        for (run, it) in found {
            let Some(entries) = all.get_mut(&run) else { continue };
            match read(run, &it, &mut places) {
                Ok(entry) => entries.push(entry),
                Err(_) => drop(all.remove(&run)),
            }
        }
        all
    }

    fn with<T>(&self, of: impl FnOnce(&mut SeriesCache) -> T) -> T {
        of(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keeps what is left of a run that has just ended, in a folder of caches, so that nobody has to read its
/// samples for a history. A run that is not complete is not kept.
///
/// # Errors
/// When the store can't be read.
pub fn keep(
    store: &Store,
    record: &RunRecord,
    finding: &RunFinding,
    caches: Option<&Path>,
) -> Result<(), Error> {
    let end = store.ends()?.into_iter().find(|it| it.run == record.run);
    let kept = caches.and_then(|folder| KeptSeries::open(folder, store.path()));
    if let (Some(state), Some(kept)) = (end.and_then(|it| it.state), kept) {
        kept.keep(&RunResults::of(record, finding), &state);
    }
    Ok(())
}

/// What every run says of a series, on whatever machine, oldest first. `known` gives what is left of a
/// complete run that was read before.
///
/// # Errors
/// When the store can't be read.
pub fn entries(
    store: &Store,
    series: &str,
    known: impl Fn(Id) -> Option<Arc<RunResults>>,
    kept: Option<&KeptSeries>,
) -> Result<Vec<HistoryEntry>, Error> {
    let ends = store.ends()?;
    let known = |end: &RunEnd| {
        let is_final =
            |it: &Arc<RunResults>| it.status == RunStatus::Complete && end.state.is_some();
        let results = known(end.run).filter(is_final)?;
        Some((end.run, results.entries(Some(series)).map(|it| it.1).collect()))
    };
    let mut all: HashMap<Id, Vec<HistoryEntry>> = ends.iter().filter_map(known).collect();
    if all.len() < ends.len() {
        let kept = kept.map(|kept| kept.series(series, &ends)).unwrap_or_default();
        for (run, entries) in kept {
            all.entry(run).or_insert(entries);
        }
    }
    let missing: Vec<Id> =
        ends.iter().map(|it| it.run).filter(|run| !all.contains_key(run)).collect();
    let records = if missing.len() * 2 > ends.len() {
        store.series(series)?
    } else {
        let read = |run: &Id| store.series_of_run(series, *run);
        missing.iter().map(read).collect::<Result<Vec<_>, _>>()?.concat()
    };
    let of_missing = records.iter().filter(|it| !all.contains_key(&it.run));
    let of_missing: Vec<(Id, HistoryEntry)> =
        of_missing.map(|it| (it.run, history_entry(it))).collect();
    for (run, entry) in of_missing {
        all.entry(run).or_default().push(entry);
    }
    Ok(ends.iter().flat_map(|it| all.remove(&it.run).unwrap_or_default()).collect())
}

/// An entry as it is kept, its place apart. Numbers are kept as their bits: whatever they are, they come back.
#[derive(Serialize, Deserialize)]
struct Written {
    figures: Option<Figures>,
    log_cost: u64,
    machine: String,
    host: Host,
    work: BTreeMap<String, String>,
    unit: String,
    better: Better,
    title: Option<String>,
}

/// The run of an entry.
#[derive(Serialize, Deserialize)]
struct Figures {
    started_unix_ns: i64,
    labels: BTreeMap<String, String>,
    value: u64,
    interval: Result<[u64; 2], String>,
    processes: usize,
    samples: usize,
}

fn written(series: &str, entry: &HistoryEntry) -> serde_json::Result<CachedSeries> {
    let interval = |it: &Estimate| match &it.interval {
        Ok(ends) => Ok([ends.low.to_bits(), ends.high.to_bits()]),
        Err(why) => Err(why.clone()),
    };
    let figures = entry.run.as_ref().map(|run| Figures {
        started_unix_ns: run.started_unix_ns,
        labels: run.labels.clone(),
        value: run.estimate.value.to_bits(),
        interval: interval(&run.estimate),
        processes: run.processes,
        samples: run.samples,
    });
    let own = Written {
        figures,
        log_cost: entry.log_cost.to_bits(),
        machine: entry.machine.clone(),
        host: entry.host.clone(),
        work: entry.work.clone(),
        unit: entry.unit.clone(),
        better: entry.better,
        title: entry.title.clone(),
    };
    Ok(CachedSeries {
        series: series.to_owned(),
        common: serde_json::to_string(&*entry.place)?.into(),
        own: serde_json::to_string(&own)?,
    })
}

/// The facts of a place, read once for all runs there.
type Places = BTreeMap<Arc<str>, Arc<BTreeMap<String, String>>>;

fn read(run: Id, kept: &CachedSeries, places: &mut Places) -> serde_json::Result<HistoryEntry> {
    let place = match places.get(&kept.common) {
        Some(known) => Arc::clone(known),
        None => {
            let facts = Arc::new(serde_json::from_str(&kept.common)?);
            Arc::clone(places.entry(Arc::clone(&kept.common)).or_insert(facts))
        }
    };
    let own: Written = serde_json::from_str(&kept.own)?;
    let host = own.host.clone();
    let of_run = |it: Figures| HistoryRun {
        run,
        started_unix_ns: it.started_unix_ns,
        labels: it.labels,
        host,
        estimate: Estimate {
            value: f64::from_bits(it.value),
            interval: it.interval.map(|ends| {
                let [low, high] = ends.map(f64::from_bits);
                Ends { low, high }
            }),
        },
        processes: it.processes,
        samples: it.samples,
    };
    Ok(HistoryEntry {
        run: own.figures.map(of_run),
        log_cost: f64::from_bits(own.log_cost),
        machine: own.machine,
        host: own.host,
        place,
        work: own.work,
        unit: own.unit,
        better: own.better,
        title: own.title,
    })
}
