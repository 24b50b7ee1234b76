//! The near end: starts an agent on each machine, and stores and shows what they measure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use plumb_agent::{
    AgentEnd, AgentTicket, AgentWork, MachineAddress, PlannedWork, StartPosition, TICKET_SCHEMA,
    VisitFailure, VisitListener, transport_to, visit,
};
use plumb_analysis::{CONFIRMS_LABEL, SlowResults, slow_results};
use plumb_model::{
    Event, FLEET_LABEL, FleetMachineRecord, FleetRecord, Host, Id, KnownSecrets, MachineEnd, Owner,
    Plan, PlannedPoint, RunRecord, Stamped,
};
use plumb_stats::regression_gate::CONFIRM_RUNS;
use plumb_store::{Store, short};
use plumb_text::counted;

use crate::error::{CommandError, Exit, Result};
use crate::fleet::arguments::ConfirmingRuns;
use crate::fleet::binaries::binary_for;
use crate::fleet::outcome::{MachineRun, exit, exit_of_machines};
use crate::fleet::progress::FleetProgress;
use crate::fleet::show::{findings, show_fleet};
use crate::fleet::start_barrier::StartBarrier;
use crate::fleet::typed_words::words_for_agents;
use crate::measuring::job::FailPolicy;
use crate::planning::secrets;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// Events that wait for the store at most, of all machines together. An event has at most 8 MiB, and hardly one has a thousandth.
const MOST_WAITING: usize = 8;
/// The user learns for which machines the others wait if that takes longer.
const LONG_WAIT: Duration = Duration::from_secs(30);
/// Pause before an event that found no room is offered again.
const FULL_PAUSE: Duration = Duration::from_millis(10);
/// The near end looks this often whether it has to draw.
const LOOK: Duration = Duration::from_millis(200);

/// If a connection is lost, the near end waits so long before each further try. A machine that restarts needs a minute or two.
const RECONNECT_AFTER: [Duration; 5] = [
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(30),
    Duration::from_secs(60),
];

/// What is measured where.
pub struct FleetRequest {
    /// The machines, each once.
    pub machines: Vec<MachineAddress>,
    /// How many of them measure at the same time at most.
    pub at_once: usize,
    /// What they measure.
    pub work: FleetWork,
    /// Whether secrets stay in command lines.
    pub keeps_secrets: bool,
    /// How machines that are slow for their kind measure their slow results again, if they do.
    pub confirming: Option<ConfirmingRuns>,
    /// What verdicts mean for the exit code.
    pub fail_on: FailPolicy,
    /// Whether each invocation begins at the same time on all machines.
    pub together: bool,
}

/// What the machines measure.
pub enum FleetWork {
    /// The command of this process, which each machine plans.
    Command {
        /// The texts of suites that are files here, by the names that were typed.
        suites: BTreeMap<String, String>,
    },
    /// A plan for each machine, in their order.
    Plans(Vec<MachineWork>),
}

/// A plan for one machine.
pub struct MachineWork {
    /// What the agent carries out.
    pub planned: PlannedWork,
    /// The run whose slow results it measures again, if that is its purpose.
    pub confirms: Option<Id>,
}

/// News of a machine.
struct MachineNews {
    /// Index of the machine.
    machine: usize,
    kind: NewsKind,
}

enum NewsKind {
    /// Its turn has come.
    Begun,
    /// Something happened in its run.
    Event(Box<Stamped>),
    /// It wrote a line to stderr, or its connection was lost.
    Said(String),
    /// Its run is to be completed after the connection was lost: it needs what is stored so far.
    NeedsRecord(SyncSender<Option<RunRecord>>),
    /// Its visit is over.
    Over(std::result::Result<AgentEnd, VisitFailure>),
}

/// Measures on these machines, as this process's command line says; keeps the runs as a fleet, and shows it.
///
/// # Errors
/// When the store cannot be opened or written, or the command cannot be carried out anywhere.
pub fn measure_on(request: &FleetRequest, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let store = Store::open(locate::store(store)?)?;
    let fleet = plumb_machine::fresh_id();
    let runs = carry_out(request, &store, Some(fleet), ui)?;
    let mut exits = vec![exit(&runs)];
    if let Some(confirming) = request.confirming.filter(|_| exits[0] != Exit::Interrupted) {
        exits.push(confirm_slow(request, confirming, &store, fleet, ui)?);
    }
    let stored = store.fleets()?;
    if let Some(stored) = stored.iter().find(|stored| stored.fleet == fleet) {
        show_fleet(&store, stored, false, ui)?;
        if request.fail_on.can_fail() {
            for finding in findings(&store, stored)?.iter().flatten() {
                exits.extend(request.fail_on.exits(&finding.against_first));
            }
        }
    }
    Ok(exits.into_iter().min().unwrap_or(Exit::Fine))
}

/// Measures on these machines, and stores one run of each; with the id of a fleet, the runs are kept as one.
///
/// # Errors
/// When the store cannot be written.
pub fn carry_out(
    request: &FleetRequest,
    store: &Store,
    fleet: Option<Id>,
    ui: &Ui,
) -> Result<Vec<MachineRun>> {
    interrupt::listen();
    let tickets = tickets(request, fleet, store)?;
    let command = stored_command(request, store)?;
    let owner = plumb_machine::owner(&locate::root());
    if let Some(fleet) = fleet {
        store.begin_fleet(&record(request, fleet, command.clone(), &tickets), &owner)?;
    }
    let mut runs: Vec<MachineRun> = Vec::new();
    let hosts: Vec<Host> = tickets.iter().map(|ticket| ticket.host.clone()).collect();
    let labels = tickets.iter().map(|ticket| ticket.labels.clone()).collect();
    for (machine, ticket) in request.machines.iter().zip(&tickets) {
        runs.push(MachineRun::new(machine.name(), ticket.run));
    }
    let mut progress = FleetProgress::new(&request.machines, ui);
    let stop = Arc::new(StopFlags::of(request.machines.len()));
    let news = visit_all(request, tickets, &stop)?;
    let near_end = NearEnd { store, fleet, command, hosts, labels, owner, stop: &stop, ui };
    let followed = near_end.follow(&news, &mut runs, &mut progress);
    progress.finish();
    followed?;
    Ok(runs)
}

/// Has the machines that are slow for their kind measure their slow results again, in three fresh runs.
fn confirm_slow(
    request: &FleetRequest,
    confirming: ConfirmingRuns,
    store: &Store,
    fleet: Id,
    ui: &Ui,
) -> Result<Exit> {
    let stored = store.fleets()?;
    let Some(stored) = stored.iter().find(|stored| stored.fleet == fleet) else {
        return Ok(Exit::Fine);
    };
    let mut machines = Vec::new();
    let mut plans = Vec::new();
    for slow in plumb_query::kinds_of_fleet(store, stored)?.iter().flat_map(slow_results) {
        let index = stored.machines.iter().position(|machine| machine.run == slow.run);
        let Some(machine) = index.and_then(|index| request.machines.get(index)) else { continue };
        let planned = plan_of_slow(&slow, confirming, store)?;
        if let Err(error) = secrets::refuse_for_other_machine(&planned.plan) {
            ui.warn(&format!("{}: not confirmed: {error}", machine.name()));
            continue;
        }
        machines.push(machine.clone());
        plans.push((slow.run, planned));
    }
    if machines.is_empty() {
        return Ok(Exit::Fine);
    }
    // These machines have a result already.
    let mut exits = vec![Exit::Fine];
    for number in 1..=CONFIRM_RUNS {
        let slow = counted(machines.len(), "machine", "machines");
        ui.say(&format!("confirming on {slow}: run {number} of {CONFIRM_RUNS}"));
        let mut work = Vec::with_capacity(plans.len());
        for (run, plan) in &plans {
            work.push(MachineWork { planned: plan.clone(), confirms: Some(*run) });
        }
        let again = FleetRequest {
            machines: machines.clone(),
            at_once: request.at_once,
            work: FleetWork::Plans(work),
            keeps_secrets: request.keeps_secrets,
            confirming: None,
            fail_on: FailPolicy::default(),
            together: false,
        };
        exits.push(exit(&carry_out(&again, store, None, ui)?));
        if exits.contains(&Exit::Interrupted) {
            break;
        }
    }
    Ok(exit_of_machines(exits.into_iter()))
}

/// The plan of a run with only its slow results.
fn plan_of_slow(
    slow: &SlowResults,
    confirming: ConfirmingRuns,
    store: &Store,
) -> Result<PlannedWork> {
    let record = store.record(slow.run)?;
    let dir = record.plan.dir.clone();
    let is_slow = |planned: &PlannedPoint| {
        let metric = planned.description.primary();
        metric.is_some_and(|metric| slow.series.contains(&planned.point.series(&metric.name)))
    };
    let points = record.plan.points.iter().filter(|planned| is_slow(planned)).cloned().collect();
    Ok(PlannedWork {
        fingerprint: record.targets.first().map(|target| target.machine.fingerprint.clone()),
        plan: Plan {
            points,
            // With the same seed, a run would draw the same orders and layouts, and not be independent.
            seed: plumb_machine::now().monotonic_ns & 0xffff_ffff,
            against_first: false,
            ..record.plan
        },
        // The same file system: the folder of the first run was made in this one.
        dir: Path::new(&dir).parent().map(Path::to_path_buf),
        waits_for_lock: confirming.wait_for_lock,
    })
}

/// This process's command line, as it is stored.
fn stored_command(request: &FleetRequest, store: &Store) -> Result<Vec<String>> {
    let typed = typed_words();
    if request.keeps_secrets {
        return Ok(typed);
    }
    Ok(secrets::without_secrets(&typed, store.secret_salt()?, &mut KnownSecrets::default()))
}

fn typed_words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What is kept of the fleet before anything is measured.
fn record(
    request: &FleetRequest,
    fleet: Id,
    command: Vec<String>,
    tickets: &[AgentTicket],
) -> FleetRecord {
    let machines = request.machines.iter().zip(tickets);
    FleetRecord {
        fleet,
        started_unix_ns: plumb_machine::now().unix_ns,
        command,
        is_running: true,
        machines: machines
            .map(|(machine, ticket)| FleetMachineRecord {
                name: machine.name().to_owned(),
                run: ticket.run,
                end: None,
            })
            .collect(),
    }
}

/// A ticket for each machine.
fn tickets(request: &FleetRequest, fleet: Option<Id>, store: &Store) -> Result<Vec<AgentTicket>> {
    let command = typed_words();
    let salt = store.secret_salt()?.digits();
    let of_fleet = fleet.map(|fleet| (FLEET_LABEL.to_owned(), short(fleet)));
    let mut tickets = Vec::with_capacity(request.machines.len());
    let ids = plumb_machine::fresh_ids(request.machines.len());
    for (index, (machine, run)) in request.machines.iter().zip(ids).enumerate() {
        let mut labels = machine.labels().clone();
        labels.extend(of_fleet.clone());
        let work = match &request.work {
            FleetWork::Command { suites } => AgentWork::Command {
                words: words_for_agents(command.get(1..).unwrap_or_default()),
                suites: suites.clone(),
            },
            FleetWork::Plans(plans) => {
                let MachineWork { planned, confirms } = &plans[index];
                labels.extend(confirms.map(|run| (CONFIRMS_LABEL.to_owned(), run.to_string())));
                AgentWork::Plan(Box::new(planned.clone()))
            }
        };
        tickets.push(AgentTicket {
            schema: TICKET_SCHEMA.to_owned(),
            nonce: plumb_machine::fresh_id().simple().to_string(),
            run,
            work,
            command: command.clone(),
            host: match machine {
                MachineAddress::Local { .. } => Host::UNKNOWN,
                MachineAddress::Ssh { name, .. } => name.parse().unwrap_or(Host::UNKNOWN),
            },
            labels,
            before: None,
            salt: salt.clone(),
            together: request.together,
        });
    }
    Ok(tickets)
}

/// Starts threads that visit the machines, in the order in which they were typed.
fn visit_all(
    request: &FleetRequest,
    tickets: Vec<AgentTicket>,
    stop: &Arc<StopFlags>,
) -> Result<Receiver<MachineNews>> {
    let visits: Vec<(usize, MachineAddress, AgentTicket)> = request
        .machines
        .iter()
        .cloned()
        .zip(tickets)
        .enumerate()
        .rev()
        .map(|(index, (machine, ticket))| (index, machine, ticket))
        .collect();
    let threads = visits.len().min(request.at_once);
    let barrier = Arc::new(StartBarrier::of(visits.len()));
    let names: Arc<[String]> =
        request.machines.iter().map(|machine| machine.name().to_owned()).collect();
    let visits = Arc::new(Mutex::new(visits));
    let (sender, news) = sync_channel(MOST_WAITING);
    for _ in 0..threads {
        let visits = Arc::clone(&visits);
        let stop = Arc::clone(stop);
        let barrier = Arc::clone(&barrier);
        let names = Arc::clone(&names);
        let sender = sender.clone();
        let visiting = move || {
            loop {
                // The guard ends with this statement: others take their next machine meanwhile.
                let next = visits.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((machine, address, ticket)) = next else { return };
                let sender = NewsSender {
                    machine,
                    names: &names,
                    sender: &sender,
                    taken: 0,
                    stop: &stop,
                    barrier: &barrier,
                    waiting_since: Instant::now(),
                    has_reported_wait: false,
                };
                sender.visit(&address, ticket);
                barrier.leave(machine, plumb_machine::now().monotonic_ns);
            }
        };
        Builder::new()
            .name("machine".to_owned())
            .spawn(visiting)
            .map_err(|error| CommandError::nothing(format!("can't start a thread: {error}")))?;
    }
    Ok(news)
}

/// Which visits are to end.
struct StopFlags {
    all: AtomicBool,
    machines: Vec<AtomicBool>,
}

impl StopFlags {
    fn of(machines: usize) -> Self {
        let machines = (0..machines).map(|_| AtomicBool::new(false)).collect();
        Self { all: AtomicBool::new(false), machines }
    }

    fn is_set(&self, machine: usize) -> bool {
        self.all.load(Ordering::Relaxed) || self.machines[machine].load(Ordering::Relaxed)
    }
}

/// Sends the news of one machine.
struct NewsSender<'s> {
    machine: usize,
    /// The names of all machines.
    names: &'s [String],
    sender: &'s SyncSender<MachineNews>,
    /// Events that came so far.
    taken: u64,
    stop: &'s StopFlags,
    barrier: &'s StartBarrier,
    /// When the machine was last ready for a start.
    waiting_since: Instant,
    /// Whether the user knows for which machines it has waited long.
    has_reported_wait: bool,
}

impl NewsSender<'_> {
    /// Measures on a machine. If the connection is lost, the run is completed by another visit.
    fn visit(mut self, address: &MachineAddress, ticket: AgentTicket) {
        let _ = self.send(NewsKind::Begun, &mut || {});
        let mut ticket = ticket;
        let mut tries = 0;
        let ended = loop {
            let taken_before = self.taken;
            let ended = self.visit_once(address, &ticket);
            if self.taken > taken_before {
                tries = 0;
            }
            let why = match &ended {
                Err(VisitFailure::Lost(why)) => why.clone(),
                // Only once it was reached can it be gone for a while.
                Err(VisitFailure::Unreachable { why, .. }) if self.taken > 0 => why.clone(),
                _ => break ended,
            };
            let Some(pause) = RECONNECT_AFTER.get(tries) else { break ended };
            tries += 1;
            self.barrier.restart(self.machine);
            let text = format!("{why}; reconnecting in {} s", pause.as_secs());
            let _ = self.send(NewsKind::Said(text), &mut || {});
            if !self.pause(*pause) {
                break Err(VisitFailure::Interrupted);
            }
            ticket.before = self.record();
        };
        let _ = self.send(NewsKind::Over(ended), &mut || {});
    }

    fn visit_once(
        &mut self,
        address: &MachineAddress,
        ticket: &AgentTicket,
    ) -> std::result::Result<AgentEnd, VisitFailure> {
        let stop = self.stop;
        let machine = self.machine;
        let is_interrupted = || stop.is_set(machine);
        if is_interrupted() {
            return Err(VisitFailure::Interrupted);
        }
        let pipes = transport_to(address, binary_for).open(&is_interrupted)?;
        visit(pipes, ticket, env!("CARGO_PKG_VERSION"), self)
    }

    /// Reports once for which machines this one has waited long.
    fn report_wait(&mut self) {
        if self.has_reported_wait || self.waiting_since.elapsed() < LONG_WAIT {
            return;
        }
        let not_ready: Vec<&str> = self
            .barrier
            .held_up_by(self.machine)
            .into_iter()
            .filter_map(|machine| self.names.get(machine).map(String::as_str))
            .collect();
        if not_ready.is_empty() {
            return;
        }
        self.has_reported_wait = true;
        let text =
            format!("still waiting for {} after {} s", not_ready.join(", "), LONG_WAIT.as_secs());
        let _ = self.send(NewsKind::Said(text), &mut || {});
    }

    /// What is stored of the run.
    fn record(&self) -> Option<RunRecord> {
        let (sender, record) = sync_channel(1);
        self.send(NewsKind::NeedsRecord(sender), &mut || {}).ok()?;
        record.recv().ok().flatten()
    }

    /// Waits; whether nobody wants to stop meanwhile.
    fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            if self.stop.is_set(self.machine) {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }

    /// Sends news as soon as there is room; calls `alive` meanwhile.
    fn send(&self, kind: NewsKind, alive: &mut dyn FnMut()) -> std::result::Result<(), String> {
        let mut news = MachineNews { machine: self.machine, kind };
        loop {
            match self.sender.try_send(news) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(back)) => news = back,
                Err(TrySendError::Disconnected(_)) => return Err("plumb has exited".to_owned()),
            }
            alive();
            thread::sleep(FULL_PAUSE);
        }
    }
}

impl VisitListener for NewsSender<'_> {
    fn take(
        &mut self,
        stamped: Stamped,
        alive: &mut dyn FnMut(),
    ) -> std::result::Result<(), String> {
        self.taken += 1;
        self.send(NewsKind::Event(Box::new(stamped)), alive)
    }

    fn say(&mut self, line: String) {
        // If nobody listens, plumb has ended.
        let _ = self.send(NewsKind::Said(line), &mut || {});
    }

    fn is_interrupted(&self) -> bool {
        self.stop.is_set(self.machine)
    }

    fn at_start(&mut self, position: StartPosition) {
        self.waiting_since = Instant::now();
        self.barrier.arrive(self.machine, position, plumb_machine::now().monotonic_ns);
    }

    fn start_ns(&mut self) -> Option<u64> {
        let start_ns = self.barrier.start_ns(self.machine);
        if start_ns.is_none() {
            self.report_wait();
        }
        start_ns
    }
}

/// The end that stores what the machines measure.
struct NearEnd<'n> {
    store: &'n Store,
    /// The fleet as which the runs are kept, if they are.
    fleet: Option<Id>,
    /// The command line for the record.
    command: Vec<String>,
    /// The names of the machines as hosts of their runs.
    hosts: Vec<Host>,
    /// The labels that the near end gives the run of each machine.
    labels: Vec<BTreeMap<String, String>>,
    owner: Owner,
    stop: &'n StopFlags,
    ui: &'n Ui,
}

impl NearEnd<'_> {
    /// Stores the news until all visits are over.
    ///
    /// # Errors
    /// When the store takes no more. All visits are over then, too.
    fn follow(
        &self,
        news: &Receiver<MachineNews>,
        runs: &mut [MachineRun],
        progress: &mut FleetProgress,
    ) -> Result<()> {
        let mut trouble = None;
        loop {
            if interrupt::is_interrupted() {
                self.stop.all.store(true, Ordering::Relaxed);
            }
            let MachineNews { machine, kind } = match news.recv_timeout(LOOK) {
                Ok(news) => news,
                Err(RecvTimeoutError::Timeout) => {
                    progress.draw();
                    continue;
                }
                // Every thread has ended.
                Err(RecvTimeoutError::Disconnected) => return trouble.map_or(Ok(()), Err),
            };
            let Some(run) = runs.get_mut(machine) else { continue };
            if let Err(error) = self.take(machine, kind, run, progress) {
                // The store is that of all machines: what the others measure could not be kept either.
                self.stop.all.store(true, Ordering::Relaxed);
                trouble.get_or_insert(error);
            }
        }
    }

    /// Takes news of a machine.
    ///
    /// # Errors
    /// When the store takes no more.
    fn take(
        &self,
        machine: usize,
        kind: NewsKind,
        run: &mut MachineRun,
        progress: &mut FleetProgress,
    ) -> Result<()> {
        match kind {
            NewsKind::Begun => {
                progress.begun(machine);
                run.begin(self.store)
            }
            NewsKind::Said(line) => {
                progress.finish();
                self.ui.say(&format!("{}: {}", run.name, plumb_text::clean(&line)));
                Ok(())
            }
            NewsKind::Event(stamped) => {
                let stamped = self.as_of_here(machine, *stamped);
                let is_taken = run.take(&stamped)?;
                if is_taken {
                    progress.take(machine, &stamped);
                } else {
                    // What this machine sends is of no use; the others go on.
                    self.stop.machines[machine].store(true, Ordering::Relaxed);
                }
                Ok(())
            }
            NewsKind::NeedsRecord(answer) => {
                let record = run.so_far(self.store);
                let (record, error) = match record {
                    Ok(record) => (record, None),
                    Err(error) => (None, Some(error)),
                };
                // The thread waits for it.
                let _ = answer.send(record);
                error.map_or(Ok(()), Err)
            }
            NewsKind::Over(ended) => {
                progress.over(machine, &ended);
                let end = self.without_secrets(run.end(ended))?;
                run.keep_end(end.clone());
                let Some(fleet) = self.fleet else { return Ok(()) };
                let now_ns = plumb_machine::now().unix_ns;
                Ok(self.store.end_machine(fleet, machine, now_ns, &end)?)
            }
        }
    }

    /// An event as this machine keeps it. Dates are by its clock, so that all runs of a store have one order; the owner of a run is
    /// the process that stores it; and which host, command and fleet it is of is not for the other machine to say.
    fn as_of_here(&self, machine: usize, stamped: Stamped) -> Stamped {
        let now_ns = plumb_machine::now().unix_ns;
        let event = match stamped.event {
            Event::RunStarted { run, mut plan, .. } => {
                plan.labels.remove(CONFIRMS_LABEL);
                plan.labels.remove(FLEET_LABEL);
                plan.labels.extend(self.labels[machine].clone());
                Event::RunStarted {
                    run,
                    started_unix_ns: now_ns,
                    plumb: env!("CARGO_PKG_VERSION").to_owned(),
                    command: self.command.clone(),
                    plan,
                }
            }
            Event::SegmentStarted { run, segment, monotonic_ns, .. } => Event::SegmentStarted {
                run,
                segment,
                started_unix_ns: now_ns,
                monotonic_ns,
                owner: self.owner.clone(),
            },
            Event::TargetReady { target, mut description } => {
                if self.hosts[machine].is_named() {
                    description.host = self.hosts[machine].clone();
                }
                Event::TargetReady { target, description }
            }
            Event::RunEnded { interrupted, .. } => {
                Event::RunEnded { ended_unix_ns: now_ns, interrupted }
            }
            other => other,
        };
        Stamped { at_ns: stamped.at_ns, event }
    }

    /// The reason of a refusal may quote a command line.
    fn without_secrets(&self, end: MachineEnd) -> Result<MachineEnd> {
        let salt = self.store.secret_salt()?;
        let mut known = KnownSecrets::default();
        let mut hidden = |text: &String| known.hide(text, &|secret| salt.digest(secret));
        Ok(MachineEnd {
            outcome: end.outcome,
            why: end.why.as_ref().map(&mut hidden),
            hints: end.hints.iter().map(&mut hidden).collect(),
        })
    }
}
