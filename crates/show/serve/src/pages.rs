//! The pages of a store, each by its name.
//!
//! A page is made of what it needs and no more: a run's record and, for how it compares with the one before,
//! what is left of some others when their samples are gone. That is kept, because it is small and does not
//! change once a run is complete; so [`Pages`] is shared by all who make pages of one store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_analysis::{
    CommonMovements, CompareSettings, ComparisonFinding, HistoryEntry, HistoryFinding, RunFinding,
    RunResults, SinceLast, add_covariates, common_movements_of_results, compare_beside,
    history_of_entries, history_of_results, rates_by_point,
};
use plumb_model::{Host, Id, MARGIN, RunRecord, RunStatus, Verdict};
use plumb_query::KeptSeries;
use plumb_report::View;
use plumb_report::charts::{charts_of_monitors, charts_of_sides};
use plumb_site::{Links, MachineAtRun, Page, Rendered, RunLine, Search, VerdictCounts, names};
use plumb_store::{Error, RunEnd, RunSummary, Store};

/// Runs that are compared on one page.
pub(crate) const MOST_COMPARED: usize = 5;
/// The newest runs that are grouped by a label or fact, where none is named.
pub const MOST_GROUPED: usize = 100;

/// What is known of the runs of a store, whoever reads it.
#[derive(Debug, Default)]
pub struct Pages {
    all_results: Mutex<BTreeMap<Id, Arc<RunCell>>>,
    changed: Mutex<BTreeMap<Id, VerdictCounts>>,
    /// What is left of the series of complete runs, from one start to the next.
    kept: Option<KeptSeries>,
    /// By how much all series moved together in the runs that were read.
    common: Mutex<Arc<CommonMovements>>,
}

/// What is left of a run; whoever comes second waits for the first.
type RunCell = Mutex<Option<Arc<RunResults>>>;

/// A run as its pages show it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) record: RunRecord,
    pub(crate) finding: RunFinding,
}

/// The pages of a store as it is now.
#[derive(Debug)]
pub struct Reader<'a> {
    pages: &'a Pages,
    store: &'a Store,
    /// Oldest first.
    runs: Arc<[RunSummary]>,
    links: Links,
}

impl Pages {
    /// The same, with what is left of complete runs kept in a file in this folder of caches, where that can be
    /// written.
    #[must_use]
    pub fn kept_in(folder: &Path, store: &Path) -> Self {
        Self { kept: KeptSeries::open(folder, store), ..Self::default() }
    }

    /// The pages of a store as it is now.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn of<'a>(&'a self, store: &'a Store) -> Result<Reader<'a>, Error> {
        Ok(self.reader(store, store.summaries()?.into(), Links::All))
    }

    pub(crate) fn reader<'a>(
        &'a self,
        store: &'a Store,
        runs: Arc<[RunSummary]>,
        links: Links,
    ) -> Reader<'a> {
        Reader { pages: self, store, runs, links }
    }

    fn cell(&self, run: Id) -> Arc<RunCell> {
        Arc::clone(locked(&self.all_results).entry(run).or_default())
    }

    fn known(&self, run: Id) -> Option<Arc<RunResults>> {
        let cell = locked(&self.all_results).get(&run).cloned()?;
        locked(&cell).clone()
    }

    /// The page of a series on a machine; None where there is none. It takes no summaries of runs, so that
    /// nothing is slow about the first page.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn series(
        &self,
        store: &Store,
        links: &Links,
        page: &str,
    ) -> Result<Option<Page>, Error> {
        let stem = |page: &str| page.rsplit_once('-').map(|(stem, _)| stem.to_owned());
        // The machine is in the last part alone.
        let may_be =
            |series: &String| stem(&names::history_page(series, "", &Host::UNKNOWN)) == stem(page);
        let known = |run| self.known(run);
        for name in store.series_names_alone()?.into_iter().filter(may_be) {
            let mut all = plumb_query::entries(store, &name, known, self.kept.as_ref())?;
            let is = |it: &&HistoryEntry| names::history_page(&name, &it.machine, &it.host) == page;
            let Some(one) = all.iter().find(is) else { continue };
            let (machine, host) = (one.machine.clone(), one.host.clone());
            all.retain(|it| it.machine == machine);
            let common = Arc::clone(&locked(&self.common));
            if let Some(found) = history_of_entries(&name, all, &host, MARGIN, &common) {
                return Ok(Some(plumb_site::history_page(&found, links)));
            }
        }
        Ok(None)
    }
}

/// Whether the page of this name is that of a series.
pub(crate) fn is_of_series(name: &str) -> bool {
    matches!(kind_of(name), Some(PageKind::Series(_)))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a page's name asks for.
enum PageKind<'n> {
    Index,
    History,
    Method,
    Run(Id),
    Monitors(Id),
    Workload(Id),
    Compare(Vec<Id>),
    Groups(&'n str),
    Series(&'n str),
    Machine(&'n str),
}

/// The characters of an id.
const ID: usize = 36;

fn kind_of(name: &str) -> Option<PageKind<'_>> {
    match name {
        names::INDEX => return Some(PageKind::Index),
        names::HISTORY => return Some(PageKind::History),
        names::METHOD => return Some(PageKind::Method),
        _ => {}
    }
    let (stem, rest) = name.split_once('-')?;
    match stem {
        "run" => {
            let run = Id::try_parse(rest.get(..ID)?).ok()?;
            Some(match rest.get(ID..)? {
                "" => PageKind::Run(run),
                "-monitors" => PageKind::Monitors(run),
                _ => PageKind::Workload(run),
            })
        }
        "compare" => {
            if let Some(by) = rest.strip_prefix("by-") {
                return Some(PageKind::Groups(by));
            }
            let ids =
                (0..=rest.len() / (ID + 1)).map(|n| rest.get(n * (ID + 1)..n * (ID + 1) + ID));
            let runs: Option<Vec<Id>> = ids.map(|id| Id::try_parse(id?).ok()).collect();
            let fits = |runs: &Vec<Id>| (2..=MOST_COMPARED).contains(&runs.len());
            runs.filter(fits).map(PageKind::Compare)
        }
        "history" => Some(PageKind::Series(name)),
        "machine" => Some(PageKind::Machine(name)),
        _ => None,
    }
}

impl Reader<'_> {
    /// The page of this name; None where there is none.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn page(&self, name: &str) -> Result<Option<Rendered>, Error> {
        let Some(kind) = kind_of(name) else { return Ok(None) };
        let page = match kind {
            PageKind::Index => Some(self.index()?),
            PageKind::History => Some(self.histories()),
            PageKind::Method => Some(plumb_site::method_page()),
            PageKind::Compare(runs) if runs.iter().all(|run| self.has(*run)) => {
                Some(self.compare(&runs)?)
            }
            PageKind::Groups(by) => self.groups(&self.newest(), by)?,
            PageKind::Run(run) | PageKind::Monitors(run) | PageKind::Workload(run)
                if self.has(run) =>
            {
                self.of_run(run, &kind, name)?
            }
            PageKind::Series(name) => self.pages.series(self.store, &self.links, name)?,
            PageKind::Machine(name) => self.machine(name)?,
            _ => None,
        };
        // Whatever else a name may hold, a page has its own name alone.
        Ok(page.filter(|page| page.name == name).map(Page::render))
    }

    fn has(&self, run: Id) -> bool {
        self.runs.iter().any(|it| it.run == run)
    }

    fn of_run(&self, run: Id, kind: &PageKind, name: &str) -> Result<Option<Page>, Error> {
        let shown = self.shown(run)?;
        let view = View::new(&shown.finding);
        Ok(match kind {
            PageKind::Monitors(_) => Some(self.monitors(&shown, &view)?),
            PageKind::Workload(_) => {
                let workloads = plumb_site::workloads(&view);
                let found = workloads.into_iter().find(|it| names::workload_page(run, it) == name);
                found.and_then(|workload| self.workload(&shown, &view, workload))
            }
            _ => Some(self.run(&shown, &view)),
        })
    }

    pub(crate) fn run(&self, shown: &Shown, view: &View) -> Page {
        let sides = charts_of_sides(&shown.finding, &shown.record);
        plumb_site::run_page(view, sides, &self.links)
    }

    pub(crate) fn workload(&self, shown: &Shown, view: &View, workload: &str) -> Option<Page> {
        plumb_site::workload_page(view, &shown.record, workload)
    }

    pub(crate) fn monitors(&self, shown: &Shown, view: &View) -> Result<Page, Error> {
        let counters = plumb_query::counters(self.store, [&shown.record])?;
        let rates = rates_by_point(&shown.record, &counters);
        let charts = if rates.is_empty() {
            Vec::new()
        } else {
            let records = std::slice::from_ref(&shown.record);
            charts_of_monitors(records, &plumb_query::traces(self.store, records)?, false)
        };
        Ok(plumb_site::monitors_page(view, &rates, charts))
    }

    /// A run with what was found in it, and how it compares with the one before.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn shown(&self, run: Id) -> Result<Shown, Error> {
        let cell = self.pages.cell(run);
        let mut kept = locked(&cell);
        let record = self.store.record(run)?;
        let mut finding = plumb_query::of_run(self.store, &record)?;
        let results = Arc::new(RunResults::of(&record, &finding));
        *kept = Some(Arc::clone(&results));
        drop(kept);
        finding.since_last = self.previous(&results)?;
        Ok(Shown { record, finding })
    }

    /// What is left of a run.
    fn results(&self, run: Id) -> Result<Arc<RunResults>, Error> {
        let cell = self.pages.cell(run);
        let mut kept = locked(&cell);
        // What is not complete may go on, or be resumed.
        if let Some(results) = kept.as_ref().filter(|it| it.status == RunStatus::Complete) {
            return Ok(Arc::clone(results));
        }
        let record = self.store.record(run)?;
        let results = Arc::new(RunResults::of(&record, &plumb_analysis::summarise(&record)));
        *kept = Some(Arc::clone(&results));
        Ok(results)
    }

    /// How a run compares with the newest comparable one before it.
    fn previous(&self, results: &RunResults) -> Result<Option<SinceLast>, Error> {
        let read = |run| self.results(run);
        let Some(found) = plumb_query::previous(&self.runs, results, read)? else {
            return Ok(None);
        };
        if results.status == RunStatus::Complete {
            locked(&self.pages.changed).insert(results.run, changes(results, &found));
        }
        Ok(Some(found))
    }

    /// The page of all runs.
    pub(crate) fn index(&self) -> Result<Page, Error> {
        let newest = match self.shown_runs().next() {
            Some(newest) => Some(self.shown(newest.run)?),
            None => None,
        };
        let changed = locked(&self.pages.changed);
        let lines: Vec<RunLine> =
            self.shown_runs().map(|run| line(run, changed.get(&run.run).copied())).collect();
        drop(changed);
        let Some(shown) = newest else {
            return Ok(plumb_site::index_page(None, &lines, &self.links));
        };
        let view = View::new(&shown.finding);
        Ok(plumb_site::index_page(Some(&view), &lines, &self.links))
    }

    /// The runs that have pages, newest first.
    fn shown_runs(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs.iter().rev().filter(|run| self.links.run(run.run))
    }

    pub(crate) fn compare(&self, runs: &[Id]) -> Result<Page, Error> {
        let records = self.records(runs)?;
        let finding = self.compared(&records, None)?;
        let monitors =
            charts_of_monitors(&records, &plumb_query::traces(self.store, &records)?, false);
        let own = names::compare_page(runs);
        Ok(plumb_site::compare_page(own, &finding, monitors, &self.links))
    }

    /// The page on which these runs are compared by a label or fact; None where they are of one group.
    pub(crate) fn groups(&self, runs: &[Id], by: &str) -> Result<Option<Page>, Error> {
        let records = self.records(runs)?;
        let finding = self.compared(&records, Some(by))?;
        if finding.arms.len() < 2 {
            return Ok(None);
        }
        // More lines on top of each other can't be told apart.
        let monitors = match records.len() {
            ..=MOST_COMPARED => {
                charts_of_monitors(&records, &plumb_query::traces(self.store, &records)?, false)
            }
            _ => Vec::new(),
        };
        let own = names::groups_page(by);
        Ok(Some(plumb_site::compare_page(own, &finding, monitors, &self.links)))
    }

    /// The newest runs that have pages, oldest first.
    pub(crate) fn newest(&self) -> Vec<Id> {
        let mut newest: Vec<Id> = self.shown_runs().take(MOST_GROUPED).map(|it| it.run).collect();
        newest.reverse();
        newest
    }

    fn records(&self, runs: &[Id]) -> Result<Vec<RunRecord>, Error> {
        runs.iter().map(|run| self.store.record(*run)).collect()
    }

    fn compared(
        &self,
        records: &[RunRecord],
        by: Option<&str>,
    ) -> Result<ComparisonFinding, Error> {
        let runs: Vec<Id> = records.iter().map(|it| it.run).collect();
        let others = plumb_query::others(&self.runs, &runs);
        let others: Vec<_> =
            others.into_iter().map(|run| self.results(run)).collect::<Result<_, _>>()?;
        let settings = CompareSettings {
            by: by.map(str::to_owned),
            margin: MARGIN,
            every_metric: false,
            across: false,
            price: "price".to_owned(),
        };
        let mut finding = compare_beside(records, others.iter().map(Arc::as_ref), &settings);
        let counters = plumb_query::counters(self.store, records)?;
        add_covariates(&mut finding, records, &settings, &counters);
        Ok(finding)
    }

    /// What is left of the runs that have pages, oldest first, of those that were read.
    fn all_results(&self) -> Vec<Arc<RunResults>> {
        let shown = self.runs.iter().filter(|run| self.links.run(run.run));
        shown.filter_map(|run| self.pages.known(run.run)).collect()
    }

    /// By how much all series moved together in each of these runs, kept for the pages of series.
    fn learn_common(&self, runs: &[Arc<RunResults>]) -> Arc<CommonMovements> {
        let found = Arc::new(common_movements_of_results(runs.iter().map(Arc::as_ref)));
        *locked(&self.pages.common) = Arc::clone(&found);
        found
    }

    /// The history of every series on every machine, of the runs that were read.
    pub(crate) fn histories_found(&self) -> Vec<HistoryFinding> {
        let all_results = self.all_results();
        let common = self.learn_common(&all_results);
        type OfMachine<'r> = (Vec<&'r RunResults>, BTreeSet<&'r Host>);
        let mut of: BTreeMap<(&str, &str), OfMachine> = BTreeMap::new();
        for results in &all_results {
            for series in &results.series {
                let of_kind = of.entry((series.name.as_str(), results.machine())).or_default();
                of_kind.1.insert(results.host());
                if of_kind.0.last().is_none_or(|last| last.run != results.run) {
                    of_kind.0.push(results);
                }
            }
        }
        let found = of.iter().flat_map(|((name, _), (runs, hosts))| {
            let of_host =
                |host| history_of_results(name, runs.iter().copied(), host, MARGIN, &common);
            hosts.iter().filter_map(move |host| of_host(host))
        });
        found.collect()
    }

    pub(crate) fn history(&self, finding: &HistoryFinding) -> Page {
        plumb_site::history_page(finding, &self.links)
    }

    fn histories(&self) -> Page {
        let complete = || self.shown_runs().filter(|run| run.status == RunStatus::Complete);
        let read = complete().filter(|run| self.pages.known(run.run).is_some()).count();
        let note = format!(
            "{read} of {} runs have been read so far; reload this page to see more.",
            complete().count()
        );
        let all = read == complete().count();
        plumb_site::histories_page(&self.histories_found(), (!all).then_some(note.as_str()))
    }

    fn machine(&self, page: &str) -> Result<Option<Page>, Error> {
        let mut found: Vec<MachineAtRun> = Vec::new();
        for run in self.runs.iter() {
            let target = match self.pages.known(run.run) {
                Some(results) => results.target.clone(),
                None => self.store.targets(run.run)?.into_iter().next(),
            };
            let Some(target) = target else { continue };
            if names::machine_page(&target.machine.fingerprint, &target.host) == page {
                add(&mut found, run, target);
            }
        }
        Ok(plumb_site::machine_page(&found, &self.links))
    }

    /// The pages of all machines of the runs that were read.
    pub(crate) fn machines(&self) -> Vec<Page> {
        let mut machines: BTreeMap<(String, Host), Vec<MachineAtRun>> = BTreeMap::new();
        for (results, run) in
            self.all_results().iter().filter_map(|it| Some((it, self.summary(it.run)?)))
        {
            let Some(target) = &results.target else { continue };
            let machine = (target.machine.fingerprint.clone(), target.host.clone());
            let found = machines.entry(machine).or_default();
            add(found, run, target.clone());
        }
        machines.values().filter_map(|found| plumb_site::machine_page(found, &self.links)).collect()
    }

    fn summary(&self, run: Id) -> Option<&RunSummary> {
        self.runs.iter().find(|it| it.run == run)
    }

    /// The workloads of the runs that were read, each with the newest that has results of it.
    fn workloads(&self) -> BTreeMap<String, Id> {
        let mut newest = BTreeMap::new();
        for results in self.all_results() {
            for series in &results.series {
                newest.insert(series.workload.clone(), results.run);
            }
        }
        newest
    }

    /// What the search box finds: workloads and series of the runs that were read, runs, words.
    #[must_use]
    pub fn search(&self) -> Search {
        let mut search = Search::default();
        // People look for these first.
        for (workload, run) in self.workloads() {
            search.add(&workload, &names::workload_page(run, &workload), "workload, newest run");
        }
        for run in self.shown_runs() {
            let line = line(run, None);
            let labels: Vec<String> = line.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let title = format!(
                "{} {} {}",
                line.what,
                plumb_text::time::date(line.started_unix_ns),
                labels.join(" ")
            );
            search.add(title.trim_end(), &names::run_page(run.run), "run");
        }
        let mut series: BTreeMap<String, String> = BTreeMap::new();
        for results in self.all_results() {
            for it in &results.series {
                let title = it.title.clone().unwrap_or_else(|| it.name.clone());
                let page = names::history_page(&it.name, results.machine(), results.host());
                series.insert(page, title);
            }
        }
        series.iter().for_each(|(page, title)| search.add(title, page, "series"));
        search.add_words();
        search
    }

    /// Reads every run that was not read, the newest first, until `stop` says so.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn warm(&self, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let kept = self.pages.kept.as_ref().and_then(KeptSeries::again);
        let lacking = kept.as_ref().map(|kept| self.lacking(kept)).transpose()?.unwrap_or_default();
        for run in self.runs.iter().rev().filter(|run| run.status != RunStatus::Running) {
            if stop() {
                break;
            }
            let results = self.results(run.run)?;
            if let (Some(kept), Some(state)) = (&kept, lacking.get(&run.run)) {
                kept.keep(&results, state);
            }
            self.previous(&results)?;
        }
        self.learn_common(&self.all_results());
        Ok(())
    }

    /// The complete runs that are not kept as they are, each with its state.
    fn lacking(&self, kept: &KeptSeries) -> Result<BTreeMap<Id, String>, Error> {
        let runs = kept.runs();
        let ends = self.store.ends()?.into_iter();
        let lacks = |it: &RunEnd| runs.get(&it.run) != it.state.as_ref();
        Ok(ends.filter(lacks).filter_map(|it| Some((it.run, it.state?))).collect())
    }
}

/// How points compare, by their first metrics.
fn changes(results: &RunResults, since: &SinceLast) -> VerdictCounts {
    let stood = since.standing_out.found.as_ref().ok();
    let stand_out = stood.map(|it| it.series.len());
    let mut changed = VerdictCounts { stand_out, ..VerdictCounts::default() };
    for series in results.series.iter().filter(|it| it.primary) {
        let Some(Some(against)) = since.against.get(series.first_result()) else { continue };
        *match against.verdict {
            Ok(Verdict::Slower) => &mut changed.slower,
            Ok(Verdict::Faster) => &mut changed.faster,
            Ok(Verdict::Equivalent) => &mut changed.equivalent,
            Ok(Verdict::Inconclusive) | Err(_) => &mut changed.open,
        } += 1;
    }
    changed
}

fn line(run: &RunSummary, changed: Option<VerdictCounts>) -> RunLine {
    RunLine {
        run: run.run,
        started_unix_ns: run.started_unix_ns,
        ended_unix_ns: run.ended_unix_ns,
        status: run.status,
        what: run
            .suite
            .clone()
            .unwrap_or_else(|| run.command.get(1..).unwrap_or_default().join(" ")),
        labels: run.labels.clone(),
        points: run.points,
        samples: run.samples,
        changed,
    }
}

/// Adds a run where its environment is another than the last one's.
fn add(found: &mut Vec<MachineAtRun>, run: &RunSummary, target: plumb_model::Target) {
    let is_last =
        |it: &MachineAtRun| it.target.environment.fingerprint == target.environment.fingerprint;
    if !found.last().is_some_and(is_last) {
        found.push(MachineAtRun { run: run.run, started_unix_ns: run.started_unix_ns, target });
    }
}
