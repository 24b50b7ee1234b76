//! The pages of a store, each by its name.
//!
//! A page is made of what it needs and no more: a run's record and, for how it compares with earlier ones, their
//! series without samples, which the store keeps. Nothing is kept here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use plumb_analysis::{
    CommonMovements, CompareSettings, ComparisonFinding, HistoryFinding, RunFinding, SinceLast,
    costs_of_runs, history, rates_by_point,
};
use plumb_model::{FleetRecord, Host, Id, MARGIN, RunRecord, SeriesInRun, Verdict};
use plumb_query::{Selection, SeriesByRun, SinceLastRun};
use plumb_report::View;
use plumb_report::charts::{charts_of_monitors, charts_of_sides};
use plumb_site::{
    LinkedPages, MachineAtRun, Page, Rendered, RunLine, SearchIndex, VerdictCounts, names,
};
use plumb_store::{RunSummary, Store, StoreError};

/// Runs that are compared on one page.
pub(crate) const MOST_COMPARED: usize = 5;
/// The newest runs of which the first page says how they compare with the run before.
const MOST_CHANGES: usize = 25;

/// A run as its pages show it.
#[derive(Debug)]
pub(crate) struct RunOnPages {
    pub(crate) record: RunRecord,
    pub(crate) finding: RunFinding,
}

/// The pages of a store as it is now.
#[derive(Debug)]
pub struct StorePages<'a> {
    store: &'a Store,
    /// All runs of the store, oldest first.
    runs: Arc<[RunSummary]>,
    links: LinkedPages,
    /// The series of runs that this work has read.
    known: &'a SeriesByRun,
    /// The newest runs of which the first page says how they changed.
    most_changes: usize,
}

/// The page of a series on a machine; None if there is none. It takes no summaries of runs, which are slow in a large
/// store.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn series_page(
    store: &Store,
    links: &LinkedPages,
    page: &str,
) -> Result<Option<Page>, StoreError> {
    for name in store.series_names_alone()? {
        // Most series are ruled out by the readable part of the name, without reading their runs.
        if !may_show(page, &name) {
            continue;
        }
        let mut runs = plumb_query::read(store, Selection::Series(&name))?;
        let is_shown = |run: &&SeriesInRun| {
            names::history_page(&name, run.run.machine(), run.run.host()) == page
        };
        let Some(shown) = runs.iter().find(is_shown) else { continue };
        let machine = shown.run.machine().to_owned();
        let host = shown.run.host().clone();
        runs.retain(|run| run.run.machine() == machine);
        if let Some(found) = plumb_query::history_of(store, &name, &runs, &host, MARGIN)? {
            return Ok(Some(plumb_site::history_page(&found, links)));
        }
    }
    Ok(None)
}

/// Whether a page may be that of this series on some machine. The readable part of its name needs no runs; the machine is
/// in the last part alone.
fn may_show(page: &str, series: &str) -> bool {
    let readable = |page: &str| page.rsplit_once('-').map(|(readable, _)| readable.to_owned());
    readable(&names::history_page(series, "", &Host::UNKNOWN)) == readable(page)
}

/// Whether the page of this name is that of a series.
pub(crate) fn is_of_series(name: &str) -> bool {
    matches!(kind_of(name), Some(PageKind::Series(_)))
}

/// The page that a name stands for.
enum PageKind<'n> {
    Index,
    History,
    Method,
    Run(Id),
    Monitors(Id),
    Workload(Id),
    Compare(Vec<Id>),
    Groups(&'n str),
    Fleet(Id),
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
        "fleet" => Id::try_parse(rest).ok().map(PageKind::Fleet),
        "history" => Some(PageKind::Series(name)),
        "machine" => Some(PageKind::Machine(name)),
        _ => None,
    }
}

impl<'a> StorePages<'a> {
    /// The pages of a store, for one piece of work that reads `known`.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn of(store: &'a Store, known: &'a SeriesByRun) -> Result<Self, StoreError> {
        Ok(Self::among(store, store.summaries()?.into(), LinkedPages::All, known))
    }

    /// The same with these runs, which are oldest first, and links.
    pub(crate) fn among(
        store: &'a Store,
        runs: Arc<[RunSummary]>,
        links: LinkedPages,
        known: &'a SeriesByRun,
    ) -> Self {
        Self { store, runs, links, known, most_changes: MOST_CHANGES }
    }

    /// The same with a first page that says of every run how it changed.
    pub(crate) fn with_all_changes(self) -> Self {
        Self { most_changes: usize::MAX, ..self }
    }

    /// The page of this name; None if there is none.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn page(&self, name: &str) -> Result<Option<Rendered>, StoreError> {
        let Some(kind) = kind_of(name) else { return Ok(None) };
        let page = match kind {
            PageKind::Index => Some(self.index()?),
            PageKind::History => Some(self.histories()?),
            PageKind::Method => Some(plumb_site::method_page()),
            PageKind::Compare(runs) if runs.iter().all(|run| self.has(*run)) => {
                Some(self.compare(&runs)?)
            }
            PageKind::Groups(by) => self.groups(&self.newest(), by)?,
            PageKind::Fleet(wanted) => {
                let fleets = self.fleets()?;
                let found = fleets.iter().find(|fleet| fleet.fleet == wanted);
                found.map(|fleet| self.fleet(fleet)).transpose()?
            }
            PageKind::Run(run) | PageKind::Monitors(run) | PageKind::Workload(run)
                if self.has(run) =>
            {
                self.of_run(run, &kind, name)?
            }
            PageKind::Series(name) => series_page(self.store, &self.links, name)?,
            PageKind::Machine(name) => self.machine(name)?,
            _ => None,
        };
        // Whatever else a name may hold, a page has its own name alone.
        Ok(page.filter(|page| page.name == name).map(Page::render))
    }

    fn has(&self, run: Id) -> bool {
        self.runs.iter().any(|summary| summary.run == run)
    }

    fn of_run(&self, run: Id, kind: &PageKind, name: &str) -> Result<Option<Page>, StoreError> {
        let shown = self.shown(run)?;
        let view = View::new(&shown.finding);
        Ok(match kind {
            PageKind::Monitors(_) => Some(self.monitors(&shown, &view)?),
            PageKind::Workload(_) => {
                let workloads = plumb_site::workloads(&view);
                let found = workloads
                    .into_iter()
                    .find(|workload| names::workload_page(run, workload) == name);
                found.and_then(|workload| self.workload(&shown, &view, workload))
            }
            _ => Some(self.run(&shown, &view)),
        })
    }

    pub(crate) fn run(&self, shown: &RunOnPages, view: &View) -> Page {
        let sides = charts_of_sides(&shown.finding, &shown.record);
        plumb_site::run_page(view, sides, &self.links)
    }

    pub(crate) fn workload(&self, shown: &RunOnPages, view: &View, workload: &str) -> Option<Page> {
        plumb_site::workload_page(view, &shown.record, workload)
    }

    pub(crate) fn monitors(&self, shown: &RunOnPages, view: &View) -> Result<Page, StoreError> {
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
    pub(crate) fn shown(&self, run: Id) -> Result<RunOnPages, StoreError> {
        let record = self.store.record(run)?;
        self.known.take(self.store, &record)?;
        let finding = plumb_query::of_run_among(
            self.store,
            &record,
            SinceLastRun::Always,
            Some(&self.runs),
            self.known,
        )?;
        Ok(RunOnPages { record, finding })
    }

    /// The page of all runs.
    pub(crate) fn index(&self) -> Result<Page, StoreError> {
        let newest = match self.shown_runs().next() {
            Some(newest) => Some(self.shown(newest.run)?),
            None => None,
        };
        let mut lines: Vec<RunLine> = self.shown_runs().map(line).collect();
        for line in lines.iter_mut().take(self.most_changes) {
            line.changed = self.changes(line.run)?;
        }
        let fleets = self.fleets()?;
        let Some(shown) = newest else {
            return Ok(plumb_site::index_page(None, &lines, &fleets, &self.links));
        };
        let view = View::new(&shown.finding);
        Ok(plumb_site::index_page(Some(&view), &lines, &fleets, &self.links))
    }

    /// How the points of a complete run compare with the last comparable one; None if there is no such run.
    fn changes(&self, run: Id) -> Result<Option<VerdictCounts>, StoreError> {
        let series = self.known.read(self.store, &[run])?;
        let Some(series) =
            series.first().filter(|all| all.iter().any(|shown| shown.run.is_complete()))
        else {
            return Ok(None);
        };
        let earlier = plumb_query::since_last(self.store, &self.runs, run, series, self.known)?;
        Ok(earlier.map(|since| verdict_counts(series, &since)))
    }

    /// The runs that have pages, newest first.
    fn shown_runs(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs.iter().rev().filter(|run| self.links.run(run.run))
    }

    pub(crate) fn compare(&self, runs: &[Id]) -> Result<Page, StoreError> {
        let records = self.records(runs)?;
        let finding = self.compared(&records, None)?;
        let monitors =
            charts_of_monitors(&records, &plumb_query::traces(self.store, &records)?, false);
        let own = names::compare_page(runs);
        Ok(plumb_site::compare_page(own, &finding, monitors, &self.links))
    }

    /// The page on which these runs are compared by a label or fact; None if they are of one group.
    pub(crate) fn groups(&self, runs: &[Id], by: &str) -> Result<Option<Page>, StoreError> {
        let records = self.records(runs)?;
        let finding = self.compared(&records, Some(by))?;
        if finding.arms.len() < 2 {
            return Ok(None);
        }
        // More lines on top of each other can't be distinguished.
        let monitors = match records.len() {
            ..=MOST_COMPARED => {
                charts_of_monitors(&records, &plumb_query::traces(self.store, &records)?, false)
            }
            _ => Vec::new(),
        };
        let own = names::groups_page(by);
        Ok(Some(plumb_site::compare_page(own, &finding, monitors, &self.links)))
    }

    /// The fleets of which a run has a page, oldest first.
    pub(crate) fn fleets(&self) -> Result<Vec<FleetRecord>, StoreError> {
        let shown: HashSet<Id> = self.shown_runs().map(|run| run.run).collect();
        let mut fleets = self.store.fleets()?;
        fleets.retain(|fleet| fleet.machines.iter().any(|machine| shown.contains(&machine.run)));
        Ok(fleets)
    }

    /// The page of one command on several machines.
    pub(crate) fn fleet(&self, fleet: &FleetRecord) -> Result<Page, StoreError> {
        let kinds = plumb_query::kinds_of_fleet(self.store, fleet)?;
        Ok(plumb_site::fleet_page(fleet, &kinds, &self.links))
    }

    /// The newest runs that have pages, oldest first.
    pub(crate) fn newest(&self) -> Vec<Id> {
        let mut newest: Vec<Id> =
            self.shown_runs().take(plumb_query::MOST_GROUPED).map(|shown| shown.run).collect();
        newest.reverse();
        newest
    }

    fn records(&self, runs: &[Id]) -> Result<Vec<RunRecord>, StoreError> {
        runs.iter().map(|run| self.store.record(*run)).collect()
    }

    fn compared(
        &self,
        records: &[RunRecord],
        by: Option<&str>,
    ) -> Result<ComparisonFinding, StoreError> {
        let settings = CompareSettings { by: by.map(str::to_owned), ..CompareSettings::default() };
        plumb_query::of_records(self.store, records, &settings)
    }

    /// The series of the runs that have pages, oldest first.
    fn all_series(&self) -> Result<Vec<Arc<[SeriesInRun]>>, StoreError> {
        let shown = self.runs.iter().filter(|run| self.links.run(run.run));
        let runs: Vec<Id> = shown.map(|run| run.run).collect();
        self.known.read(self.store, &runs)
    }

    /// The history of every series on every machine.
    pub(crate) fn histories_found(&self) -> Result<Vec<HistoryFinding>, StoreError> {
        let all = self.all_series()?;
        let by_id: HashMap<Id, &Arc<[SeriesInRun]>> =
            all.iter().filter_map(|run| Some((run.first()?.run.run, run))).collect();
        let mut of: BTreeMap<(&str, &str), Vec<SeriesInRun>> = BTreeMap::new();
        for series in all.iter().flat_map(|run| run.iter()).filter(|series| !series.is_side_of_knob)
        {
            let key = (series.name.as_str(), series.run.machine());
            of.entry(key).or_default().push(series.clone());
        }
        // Most series were measured by the same runs: what these have in common is computed once.
        let mut common: HashMap<Vec<Id>, CommonMovements> = HashMap::new();
        let mut found = Vec::new();
        for ((name, _), runs) in &of {
            let wide = plumb_query::wide_runs(runs);
            let common = common.entry(wide).or_insert_with_key(|wide| {
                let series = wide.iter().filter_map(|run| by_id.get(run));
                CommonMovements::of(&costs_of_runs(series.flat_map(|run| run.iter())))
            });
            let hosts: BTreeSet<&Host> = runs.iter().map(|run| run.run.host()).collect();
            for host in hosts {
                found.extend(history(name, runs, host, MARGIN, common));
            }
        }
        Ok(found)
    }

    pub(crate) fn history(&self, finding: &HistoryFinding) -> Page {
        plumb_site::history_page(finding, &self.links)
    }

    fn histories(&self) -> Result<Page, StoreError> {
        Ok(plumb_site::histories_page(&self.histories_found()?, None))
    }

    fn machine(&self, page: &str) -> Result<Option<Page>, StoreError> {
        let mut found: Vec<MachineAtRun> = Vec::new();
        for run in self.runs.iter() {
            let Some(target) = self.store.targets(run.run)?.into_iter().next() else { continue };
            if names::machine_page(&target.machine.fingerprint, &target.host) == page {
                add(&mut found, run, target);
            }
        }
        Ok(plumb_site::machine_page(&found, &self.links))
    }

    /// The pages of all machines.
    pub(crate) fn machines(&self) -> Result<Vec<Page>, StoreError> {
        let mut machines: BTreeMap<(String, Host), Vec<MachineAtRun>> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| self.links.run(run.run)) {
            let Some(target) = self.store.targets(run.run)?.into_iter().next() else { continue };
            let machine = (target.machine.fingerprint.clone(), target.host.clone());
            add(machines.entry(machine).or_default(), run, target);
        }
        let pages = machines.values();
        Ok(pages.filter_map(|found| plumb_site::machine_page(found, &self.links)).collect())
    }

    /// The index of the search box: workloads, runs, series, words.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn search(&self) -> Result<SearchIndex, StoreError> {
        let all = self.all_series()?;
        let mut newest: BTreeMap<&str, Id> = BTreeMap::new();
        let mut pages: BTreeMap<String, String> = BTreeMap::new();
        for series in all.iter().flat_map(|run| run.iter()) {
            newest.insert(&series.point.workload, series.run.run);
            let page = names::history_page(&series.name, series.run.machine(), series.run.host());
            pages.insert(page, series.point.title().unwrap_or(&series.name).to_owned());
        }
        let mut search = SearchIndex::default();
        // People look for workloads first.
        for (workload, run) in newest {
            search.add(workload, &names::workload_page(run, workload), "workload, newest run");
        }
        for run in self.shown_runs() {
            let line = line(run);
            let labels: Vec<String> =
                line.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let title = format!(
                "{} {} {}",
                line.what,
                plumb_text::time::date(line.started_unix_ns),
                labels.join(" ")
            );
            search.add(title.trim_end(), &names::run_page(run.run), "run");
        }
        for (page, title) in &pages {
            search.add(title, page, "series");
        }
        search.add_words();
        Ok(search)
    }
}

/// How points compare, by their first metrics.
fn verdict_counts(series: &[SeriesInRun], since: &SinceLast) -> VerdictCounts {
    let stood = since.standing_out.found.as_ref().ok();
    let stand_out = stood.map(|stood| stood.series.len());
    let mut changed = VerdictCounts { stand_out, ..VerdictCounts::default() };
    for (series, against) in series.iter().zip(&since.against) {
        let Some(against) = against.as_ref().filter(|_| series.primary) else { continue };
        *match against.verdict {
            Ok(Verdict::Slower) => &mut changed.slower,
            Ok(Verdict::Faster) => &mut changed.faster,
            Ok(Verdict::Equivalent) => &mut changed.equivalent,
            Ok(Verdict::Inconclusive) | Err(_) => &mut changed.open,
        } += 1;
    }
    changed
}

fn line(run: &RunSummary) -> RunLine {
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
        changed: None,
    }
}

/// Adds a run if its environment is another than the last one's.
fn add(found: &mut Vec<MachineAtRun>, run: &RunSummary, target: plumb_model::Target) {
    let is_last = |machine: &MachineAtRun| {
        machine.target.environment.fingerprint == target.environment.fingerprint
    };
    if !found.last().is_some_and(is_last) {
        found.push(MachineAtRun { run: run.run, started_unix_ns: run.started_unix_ns, target });
    }
}
