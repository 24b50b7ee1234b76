//! The near end: starts an agent on each machine, and stores and shows what they measure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use plumb_agent::{
    AgentEnd, AgentTicket, MachineAddress, TICKET_SCHEMA, VisitFailure, VisitListener,
    transport_to, visit,
};
use plumb_model::{
    Event, FleetMachineRecord, FleetRecord, Host, Id, KnownSecrets, Owner, RunRecord, Stamped,
};
use plumb_store::{Store, short};

use crate::error::{CommandError, Exit, Result};
use crate::fleet::binaries::binary_for;
use crate::fleet::outcome::{MachineRun, exit};
use crate::fleet::progress::FleetProgress;
use crate::fleet::show::show_fleet;
use crate::fleet::typed_words::words_for_agents;
use crate::planning::secrets;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// Events that wait for the store at most, of all machines together. An event has at most 8 MiB, and hardly one has a thousandth.
const MOST_WAITING: usize = 8;
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

/// The option by which secrets stay in command lines.
const KEEP_SECRETS: &str = "--keep-secrets";

/// What is measured where.
pub struct FleetRequest {
    /// The machines, each once.
    pub machines: Vec<MachineAddress>,
    /// How many of them measure at the same time at most.
    pub at_once: usize,
    /// The texts of suites that are files here, by the names that were typed.
    pub suites: BTreeMap<String, String>,
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

/// Measures on these machines, as this process's command line says.
///
/// # Errors
/// When the store cannot be opened or written, or the command cannot be carried out anywhere.
pub fn measure_on(request: FleetRequest, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    interrupt::listen();
    let store = Store::open(locate::store(store)?)?;
    let fleet = plumb_machine::fresh_id();
    let tickets = tickets(&request, fleet, &store)?;
    store.begin_fleet(&record(&request, fleet, &tickets, &store)?)?;
    let mut runs: Vec<MachineRun> = Vec::new();
    for (machine, ticket) in request.machines.iter().zip(&tickets) {
        runs.push(MachineRun::new(machine.name(), ticket.run, store.writer()?));
    }
    let mut progress = FleetProgress::new(&request.machines, ui);
    let stop = Arc::new(AtomicBool::new(false));
    let news = visit_all(&request, tickets, &stop)?;
    let followed = follow(&news, (&store, fleet), &mut runs, &mut progress, &stop, ui);
    progress.finish();
    followed?;
    let stored = store.fleets()?;
    if let Some(stored) = stored.iter().find(|stored| stored.fleet == fleet) {
        show_fleet(&store, stored, ui)?;
    }
    Ok(exit(&runs))
}

/// What is kept of the fleet before anything is measured.
fn record(
    request: &FleetRequest,
    fleet: Id,
    tickets: &[AgentTicket],
    store: &Store,
) -> Result<FleetRecord> {
    let salt = store.secret_salt()?;
    let mut command = tickets.first().map(|ticket| ticket.command.clone()).unwrap_or_default();
    if !command.iter().any(|word| word == KEEP_SECRETS) {
        command = secrets::without_secrets(&command, salt, &mut KnownSecrets::default());
    }
    let machines = request.machines.iter().zip(tickets);
    Ok(FleetRecord {
        fleet,
        started_unix_ns: plumb_machine::now().unix_ns,
        command,
        machines: machines
            .map(|(machine, ticket)| FleetMachineRecord {
                name: machine.name().to_owned(),
                run: ticket.run,
                end: None,
            })
            .collect(),
    })
}

/// A ticket for each machine.
fn tickets(request: &FleetRequest, fleet: Id, store: &Store) -> Result<Vec<AgentTicket>> {
    let typed: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let words = words_for_agents(typed.get(1..).unwrap_or_default());
    let salt = store.secret_salt()?.digits();
    let ticket = |machine: &MachineAddress| AgentTicket {
        schema: TICKET_SCHEMA.to_owned(),
        nonce: plumb_machine::fresh_id().simple().to_string(),
        run: plumb_machine::fresh_id(),
        words: words.clone(),
        command: typed.clone(),
        suites: request.suites.clone(),
        host: match machine {
            MachineAddress::Local => Host::UNKNOWN,
            MachineAddress::Ssh { name, .. } => name.parse().unwrap_or(Host::UNKNOWN),
        },
        labels: [("fleet".to_owned(), short(fleet))].into(),
        before: None,
        salt: salt.clone(),
    };
    Ok(request.machines.iter().map(ticket).collect())
}

/// Starts threads that visit the machines, in the order in which they were typed.
fn visit_all(
    request: &FleetRequest,
    tickets: Vec<AgentTicket>,
    stop: &Arc<AtomicBool>,
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
    let visits = Arc::new(Mutex::new(visits));
    let (sender, news) = sync_channel(MOST_WAITING);
    for _ in 0..threads {
        let visits = Arc::clone(&visits);
        let stop = Arc::clone(stop);
        let sender = sender.clone();
        let visiting = move || {
            loop {
                // The guard ends with this statement: others take their next machine meanwhile.
                let next = visits.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((machine, address, ticket)) = next else { return };
                NewsSender { machine, sender: &sender, stop: &stop }.visit(&address, ticket);
            }
        };
        Builder::new()
            .name("machine".to_owned())
            .spawn(visiting)
            .map_err(|error| CommandError::nothing(format!("can't start a thread: {error}")))?;
    }
    Ok(news)
}

/// Sends the news of one machine.
struct NewsSender<'s> {
    machine: usize,
    sender: &'s SyncSender<MachineNews>,
    /// Whether all visits are to end.
    stop: &'s AtomicBool,
}

impl NewsSender<'_> {
    /// Measures on a machine. If the connection is lost, the run is completed by another visit.
    fn visit(mut self, address: &MachineAddress, ticket: AgentTicket) {
        let _ = self.send(NewsKind::Begun, &mut || {});
        let mut ticket = ticket;
        let mut pauses = RECONNECT_AFTER.iter();
        let mut was_lost = false;
        let ended = loop {
            let ended = self.visit_once(address, &ticket);
            let why = match &ended {
                Err(VisitFailure::Lost(why)) => why.clone(),
                // Only once it was reached can it be gone for a while.
                Err(VisitFailure::Unreachable { why, .. }) if was_lost => why.clone(),
                _ => break ended,
            };
            was_lost = true;
            let Some(pause) = pauses.next() else { break ended };
            let text = format!("{why}; connecting again in {} s", pause.as_secs());
            let _ = self.send(NewsKind::Said(text), &mut || {});
            if !self.pause(*pause) {
                break Err(VisitFailure::Interrupted);
            }
            ticket.before = self.record().map(Box::new);
        };
        let _ = self.send(NewsKind::Over(ended), &mut || {});
    }

    fn visit_once(
        &mut self,
        address: &MachineAddress,
        ticket: &AgentTicket,
    ) -> std::result::Result<AgentEnd, VisitFailure> {
        let is_interrupted = || self.stop.load(Ordering::Relaxed);
        if is_interrupted() {
            return Err(VisitFailure::Interrupted);
        }
        let pipes = transport_to(address, binary_for).open(&is_interrupted)?;
        visit(pipes, ticket, env!("CARGO_PKG_VERSION"), self)
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
            if self.stop.load(Ordering::Relaxed) {
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
                Err(TrySendError::Disconnected(_)) => return Err("plumb has ended".to_owned()),
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
        self.send(NewsKind::Event(Box::new(stamped)), alive)
    }

    fn say(&mut self, line: String) {
        // If nobody listens, plumb has ended.
        let _ = self.send(NewsKind::Said(line), &mut || {});
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Stores the news until all visits are over.
///
/// # Errors
/// When the store takes no more. All visits are over then, too.
fn follow(
    news: &Receiver<MachineNews>,
    (store, fleet): (&Store, Id),
    runs: &mut [MachineRun],
    progress: &mut FleetProgress,
    stop: &AtomicBool,
    ui: &Ui,
) -> Result<()> {
    let owner = plumb_machine::owner(&locate::root());
    let mut trouble = None;
    loop {
        if interrupt::is_interrupted() {
            stop.store(true, Ordering::Relaxed);
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
        match kind {
            NewsKind::Begun => progress.begun(machine),
            NewsKind::Said(line) => {
                progress.finish();
                ui.say(&format!("{}: {}", run.name, plumb_text::clean(&line)));
            }
            NewsKind::Event(stamped) => {
                let stamped = as_of_here(*stamped, &owner);
                if trouble.is_none()
                    && let Err(error) = run.take(&stamped)
                {
                    // The store is that of all machines: what the others measure could not be kept either.
                    stop.store(true, Ordering::Relaxed);
                    trouble = Some(error);
                }
                progress.take(machine, &stamped);
            }
            NewsKind::NeedsRecord(answer) => {
                let record = match run.so_far(store) {
                    Ok(record) => record,
                    Err(error) => {
                        trouble.get_or_insert(error);
                        stop.store(true, Ordering::Relaxed);
                        None
                    }
                };
                // The thread waits for it.
                let _ = answer.send(record);
            }
            NewsKind::Over(ended) => {
                progress.over(machine, &ended);
                let end = run.end(ended);
                let now_ns = plumb_machine::now().unix_ns;
                if let Err(error) = store.end_machine(fleet, machine, now_ns, &end) {
                    stop.store(true, Ordering::Relaxed);
                    trouble.get_or_insert(error.into());
                }
            }
        }
    }
}

/// An event as this machine keeps it: dates are by its clock, so that all runs of a store have one order, and the owner of a run is
/// the process that stores it.
fn as_of_here(stamped: Stamped, owner: &Owner) -> Stamped {
    let now_ns = plumb_machine::now().unix_ns;
    let event = match stamped.event {
        Event::RunStarted { run, plumb, command, plan, .. } => {
            Event::RunStarted { run, started_unix_ns: now_ns, plumb, command, plan }
        }
        Event::SegmentStarted { run, segment, monotonic_ns, .. } => Event::SegmentStarted {
            run,
            segment,
            started_unix_ns: now_ns,
            monotonic_ns,
            owner: owner.clone(),
        },
        Event::RunEnded { interrupted, .. } => {
            Event::RunEnded { ended_unix_ns: now_ns, interrupted }
        }
        other => other,
    };
    Stamped { at_ns: stamped.at_ns, event }
}
