//! Starts invocations on this machine, through the keeper.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use plumb_keeper::{Keeper, PluginPreparation, SpawnOptions};
use plumb_machine::Root;
use plumb_model::{
    Companion, Description, Facts, KnownSecrets, PlannedPoint, Preparation, PreparationSlot,
    Prepared, Ready, Role, Settings, Target,
};
use plumb_protocol::{
    FAR_ADDRESS, LONGEST_TIMEOUT_S, MOST_HEARTBEATS, Reply, Request, SampleReply, Start,
};

use crate::companions::RunningCompanion;
use crate::conversation::{Conversation, DEFAULT_TIMEOUT, unexpected};
use crate::far_hosts::{FarHost, FarHosts};
use crate::fixtures::Fixtures;
use crate::launcher::{Endpoints, InvocationSession, Launcher, ProcessEnd, StartSpec};
use crate::media::{Media, MountedMedium, medium_of};
use crate::preparations::{Preparations, flag_of};
use crate::progress::ignore_progress;
use crate::refusal::LaunchRefusal;
use crate::secrets::Secrets;
use crate::slot_report::SlotReport;
use crate::validate::{self, SampleShape};

/// A sample may take this many times as long as it should before it counts as hung.
const HUNG_AFTER_TIMES: u64 = 20;

/// A trial that begins when the time of the run is over is waited for so much longer than it should take.
const LATE_TRIAL: Duration = Duration::from_secs(2);

/// What the launcher of this machine needs to know.
#[derive(Debug, Clone)]
pub struct LauncherSettings {
    /// The target directory.
    pub dir: PathBuf,
    /// The folder for keys, sockets and helpers; the keeper removes it.
    pub scratch: PathBuf,
    /// Facts for the workloads.
    pub facts: Facts,
    /// The background work next to it.
    pub companions: Vec<Companion>,
    /// The preparations of the run.
    pub preparation: Vec<Preparation>,
    /// The machine that is prepared.
    pub root: Root,
    /// Whether somebody wants the run to stop.
    pub interrupted: fn() -> bool,
    /// Seed of fixtures and companions.
    pub seed: u64,
    /// The secrets for which settings have placeholders.
    pub secrets: KnownSecrets,
}

/// Starts invocations on this machine.
#[derive(Debug)]
pub struct KeeperLauncher {
    keeper: Keeper,
    settings: LauncherSettings,
    fixtures: Fixtures,
    companions: Vec<RunningCompanion>,
    /// The companions of the invocation.
    of_invocation: Vec<RunningCompanion>,
    /// The far ends of programs that were started in a role.
    servers: Vec<Conversation>,
    preparations: Preparations,
    media: Media,
    far_hosts: FarHosts,
    /// Plug-ins that prepare a round or an invocation, while they hold.
    slotted: Vec<(PreparationSlot, usize, Conversation)>,
    /// When no answer is waited for any longer.
    until: Option<Instant>,
}

impl KeeperLauncher {
    /// A launcher over a running keeper.
    #[must_use]
    pub fn new(keeper: Keeper, settings: LauncherSettings) -> Self {
        let root = settings.root.clone();
        let planned = settings.preparation.clone();
        Self {
            keeper,
            fixtures: Fixtures::default(),
            companions: Vec::new(),
            of_invocation: Vec::new(),
            servers: Vec::new(),
            preparations: Preparations::new(root, planned, settings.interrupted),
            media: Media::default(),
            far_hosts: FarHosts::default(),
            slotted: Vec::new(),
            until: None,
            settings,
        }
    }

    /// Reaches the other machines of the run, sets what holds for all of it, and tries what is set later.
    ///
    /// # Errors
    /// Why something that the user named can't be had.
    pub fn prepare_machine(
        &mut self,
        points: &[PlannedPoint],
    ) -> Result<SlotReport, LaunchRefusal> {
        let beside = self.settings.companions.iter().map(|companion| &companion.point);
        let all = points.iter().chain(beside);
        self.far_hosts.reach(&mut self.keeper, &self.settings.scratch, all)?;
        let mut done = self.preparations.begin(&mut self.keeper, points)?;
        self.fixtures.share(points, &self.settings.preparation);
        let Self { keeper, settings, media, .. } = self;
        let settings = &*settings;
        let beside = settings.companions.iter().map(|companion| &companion.point);
        let all = points.iter().chain(beside);
        let wanted = all.filter_map(|planned| medium_of(planned, &settings.preparation));
        let dir = settings.dir.to_string_lossy();
        let built = media
            .build(keeper, wanted, |params| start_of(settings, &dir, params, Role::Preparation));
        done.extend(built?);
        // What --set cpuset or pin takes away, a workload must not plan threads for.
        if let Some(cpus) = self.preparations.cpus() {
            self.settings.facts.cpus.retain(|cpu| cpus.contains(cpu));
        }
        Ok(done)
    }

    /// The other machines of the run.
    pub fn far_ends(&self) -> impl Iterator<Item = &Target> {
        self.far_hosts.targets()
    }

    /// The keeper's process.
    #[must_use]
    pub fn keeper_pid(&self) -> u32 {
        self.keeper.pid()
    }

    /// The keeper, for conversations besides the launcher's own.
    pub fn keeper(&mut self) -> &mut Keeper {
        &mut self.keeper
    }

    /// Starts a program in a role, as a companion is: its server first, and with what its fixture gave.
    /// A preparation is applied.
    ///
    /// # Errors
    /// Why it can't be started.
    pub fn converse(
        &mut self,
        spec: StartSpec<'_>,
    ) -> Result<(Conversation, Ready), LaunchRefusal> {
        let at = self.surroundings(spec)?;
        self.set_up(spec, at, &mut ignore_progress)
    }

    /// The surroundings of a companion: the word of its fixture, and of a server that lives as long as it.
    fn surroundings(&mut self, spec: StartSpec<'_>) -> Result<Endpoints, LaunchRefusal> {
        let mut at = self.fixtures.of(spec.planned, &self.settings.preparation);
        let server = self.server(spec, &mut at)?;
        self.servers.extend(server);
        Ok(at)
    }

    /// The medium on which a program in this role works.
    fn medium(&self, role: Role, planned: &PlannedPoint) -> Option<&MountedMedium> {
        match role {
            Role::Workload | Role::Server | Role::Load => {
                self.media.at(medium_of(planned, &self.settings.preparation))
            }
            Role::Monitor | Role::Preparation => None,
        }
    }

    fn start_of(&self, spec: StartSpec<'_>, params: Settings, at: Endpoints) -> Start {
        let own = self.settings.dir.to_string_lossy();
        let dir = self.medium(spec.role, spec.planned).map_or(&*own, |medium| &medium.dir);
        let start = Start {
            seed: spec.seed,
            endpoints: at,
            extra_work: spec
                .planned
                .proof
                .filter(|_| spec.role == Role::Workload)
                .map(|proof| proof.extra_work),
            ..start_of(&self.settings, dir, params, spec.role)
        };
        match self.far_host(spec.role, spec.planned) {
            Some(host) => host.start(start),
            None => start,
        }
    }

    /// The other machine on which a program in this role is started.
    fn far_host(&self, role: Role, planned: &PlannedPoint) -> Option<&FarHost> {
        self.far_hosts.of(planned).filter(|_| role == Role::Server)
    }

    fn open(
        &mut self,
        role: Role,
        planned: &PlannedPoint,
        options: SpawnOptions,
    ) -> Result<Conversation, LaunchRefusal> {
        let timeout = timeout_of(&planned.description);
        if let Some(host) = self.far_host(role, planned) {
            let argv = host.argv(&planned.program)?;
            // Without `mounts_of`: a medium is on this machine, and the program is not.
            return Conversation::open_until(
                &mut self.keeper,
                &argv,
                &options,
                timeout,
                self.until,
            );
        }
        let mounts_of = self.medium(role, planned).and_then(MountedMedium::pid);
        let options = SpawnOptions { mounts_of, ..options };
        let argv = &planned.program.argv;
        Conversation::open_until(&mut self.keeper, argv, &options, timeout, self.until)
    }

    /// Starts a program in a role and has it set up; kills it when that fails.
    fn set_up(
        &mut self,
        spec: StartSpec<'_>,
        at: Endpoints,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Conversation, Ready), LaunchRefusal> {
        let options = self.preparations.spawn_options(spec.role, spec.planned, spec.seed);
        let (params, secrets) = Secrets::read(spec.planned, &self.settings.secrets)?;
        let mut conversation = self.open(spec.role, spec.planned, options.clone())?;
        conversation.hide(secrets);
        let start = self.start_of(spec, params, at);
        let asked = match spec.role {
            Role::Preparation => self
                .hold(&mut conversation, spec.planned, &start)
                .and_then(|()| conversation.ask_ready(Request::Prepare(start), progress)),
            Role::Workload | Role::Server | Role::Monitor | Role::Load => {
                conversation.ask_ready(Request::Start(start), progress)
            }
        };
        match asked {
            Ok(mut ready) => {
                ready.flags.extend(flag_of(&options));
                Ok((conversation, ready))
            }
            Err(refusal) => {
                // What says that it can't run here has changed nothing: there is nothing to undo at the end.
                if matches!(refusal, LaunchRefusal::Unsupported { .. }) {
                    conversation.release(&mut self.keeper)?;
                }
                let refusal = conversation.explain(refusal);
                conversation.abandon(&mut self.keeper);
                Err(refusal)
            }
        }
    }

    /// What a plug-in is about to prepare is undone, whoever is killed.
    fn hold(
        &mut self,
        conversation: &mut Conversation,
        planned: &PlannedPoint,
        start: &Start,
    ) -> Result<(), LaunchRefusal> {
        // The journal is a file: it has the place of a secret.
        let without_secrets = Start { params: planned.point.settings.clone(), ..start.clone() };
        let prepare = serde_json::to_value(without_secrets)
            .map_err(|error| LaunchRefusal::Fatal(error.to_string()))?;
        let preparation = PluginPreparation {
            name: planned.name(),
            argv: planned.program.argv.clone(),
            timeout_s: timeout_of(&planned.description).as_secs(),
            prepare,
        };
        conversation.hold(&mut self.keeper, preparation)
    }

    /// Starts the plug-ins that prepare this slot.
    fn apply_plugins(&mut self, slot: PreparationSlot) -> Result<SlotReport, LaunchRefusal> {
        let mut done = SlotReport::default();
        for (index, companion) in self.settings.companions.clone().iter().enumerate() {
            if companion.slot != slot || companion.of_points {
                continue;
            }
            let planned = &companion.point;
            let role = companion.role;
            let seed = self.settings.seed;
            let prepared = self.converse(StartSpec { planned, role, seed });
            let (conversation, ready) = prepared.map_err(|refusal| refusal.of(&planned.name()))?;
            self.slotted.push((slot, index, conversation));
            let setting = planned.name();
            let became = ready.notes.join("; ");
            done.prepared.push(Prepared { setting, was: String::new(), became });
        }
        Ok(done)
    }

    /// Has the plug-ins that prepared this slot undo it, the last one first.
    fn undo_plugins(&mut self, slot: PreparationSlot) -> Result<SlotReport, LaunchRefusal> {
        let mut done = SlotReport::default();
        while self.slotted.last().is_some_and(|(held, _, _)| *held == slot)
            && let Some((_, index, conversation)) = self.slotted.pop()
        {
            let name = self.settings.companions[index].point.name();
            let ended = conversation.clean_and_stop(&mut self.keeper);
            ended.map_err(|refusal| refusal.of(&name))?;
            done.restored.push(name);
        }
        Ok(done)
    }

    fn start_companion(
        &mut self,
        index: usize,
        companion: &Companion,
    ) -> Result<(RunningCompanion, Ready), LaunchRefusal> {
        self.prepare(&companion.point, &mut ignore_progress)?;
        let role = companion.role;
        let seed = self.settings.seed;
        let others = self.servers.len();
        let (conversation, ready) =
            self.converse(StartSpec { planned: &companion.point, role, seed })?;
        // Those that came with this companion end with it; the others stay until the end of the run.
        let servers = self.servers.split_off(others);
        Ok((RunningCompanion::begin(index, companion, &ready, conversation, servers)?, ready))
    }

    /// Ends companions, the last one first, as it found the machine changed by those before it; what could not be
    /// ended.
    fn end_all(&mut self, companions: Vec<RunningCompanion>) -> Vec<LaunchRefusal> {
        let mut failures = Vec::new();
        for running in companions.into_iter().rev() {
            let name = self.settings.companions[running.index].point.name();
            let ended = running.end(&mut self.keeper);
            failures.extend(ended.into_iter().map(|why| why.of(&name)));
        }
        failures
    }

    /// The far end of an invocation, when the workload has one.
    fn server(
        &mut self,
        spec: StartSpec<'_>,
        at: &mut Endpoints,
    ) -> Result<Option<Conversation>, LaunchRefusal> {
        if spec.role == Role::Server || !spec.planned.description.can_be(Role::Server) {
            return Ok(None);
        }
        let spec = StartSpec { role: Role::Server, ..spec };
        let (server, ready) = self.set_up(spec, at.clone(), &mut ignore_progress)?;
        // What the fixture says here no far end can replace.
        for (name, word) in ready.endpoints {
            at.entry(name).or_insert(word);
        }
        let far = self.far_hosts.of(spec.planned).map(FarHost::address);
        at.extend(far.map(|address| (FAR_ADDRESS.to_owned(), address.to_string())));
        Ok(Some(server))
    }
}

impl Launcher for KeeperLauncher {
    fn end_within(&mut self, left_ns: u64) {
        self.until = Instant::now().checked_add(Duration::from_nanos(left_ns));
    }

    fn prepare(
        &mut self,
        planned: &PlannedPoint,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<(String, Ready)>, LaunchRefusal> {
        let missing = self.fixtures.missing(planned, &self.settings.preparation);
        let Some(key) = missing else { return Ok(None) };
        let (params, secrets) = Secrets::read(planned, &self.settings.secrets)?;
        let spec = StartSpec { planned, role: Role::Workload, seed: self.settings.seed };
        let mut conversation = self.open(spec.role, planned, SpawnOptions::default())?;
        conversation.hide(secrets);
        let start = self.start_of(spec, params, Endpoints::new());
        match conversation.ask_ready(Request::Prepare(start), progress) {
            Ok(ready) => {
                self.fixtures.stands(key.clone(), conversation, ready.endpoints.clone());
                Ok(Some((key, ready)))
            }
            Err(refusal) => {
                let refusal = conversation.explain(refusal);
                conversation.abandon(&mut self.keeper);
                Err(refusal)
            }
        }
    }

    fn start(
        &mut self,
        spec: StartSpec<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Box<dyn InvocationSession + '_>, Ready), LaunchRefusal> {
        let mut at = self.fixtures.of(spec.planned, &self.settings.preparation);
        let server = self.server(spec, &mut at)?;
        match self.set_up(spec, at, progress) {
            Ok((worker, mut ready)) => {
                if let Some(far_end) = &spec.planned.far_end
                    && let Some(host) = self.far_hosts.of(spec.planned)
                {
                    ready.notes.push(format!("server: {far_end}, at {}", host.address()));
                }
                let timeout = timeout_of(&spec.planned.description);
                let shape = SampleShape::of(&spec.planned.description, &ready);
                let keeper = &mut self.keeper;
                let worker = Some(worker);
                Ok((
                    Box::new(KeptInvocation {
                        keeper,
                        worker,
                        server,
                        timeout,
                        until: self.until,
                        shape,
                        stream: None,
                    }),
                    ready,
                ))
            }
            Err(refusal) => {
                if let Some(server) = server {
                    server.abandon(&mut self.keeper);
                }
                Err(refusal)
            }
        }
    }

    fn companions(&mut self) -> Result<Vec<(usize, SampleReply)>, LaunchRefusal> {
        let mut collected = Vec::new();
        for running in self.companions.iter_mut().chain(&mut self.of_invocation) {
            let replies = running.collect().map_err(|refusal| {
                let companion = self.settings.companions.get(running.index);
                companion.map_or(refusal.clone(), |companion| refusal.of(&companion.point.name()))
            })?;
            collected.extend(replies.into_iter().map(|reply| (running.index, reply)));
        }
        Ok(collected)
    }

    fn start_companions(
        &mut self,
        point: Option<&PlannedPoint>,
    ) -> Result<Vec<(usize, Ready)>, LaunchRefusal> {
        let mut started = Vec::new();
        for (index, companion) in self.settings.companions.clone().iter().enumerate() {
            match (companion.of_points, point) {
                (true, Some(point)) if point.beside.contains(&index) => {}
                (false, None) if companion.slot == PreparationSlot::Run => {}
                // What it needs stands before anything is measured; a failure comes back where it is started.
                (true, None) => {
                    let _ = self.prepare(&companion.point, &mut ignore_progress);
                    continue;
                }
                _ => continue,
            }
            // A load next to a point works on the medium of that point, not on the run's.
            let mut beside = companion.clone();
            let media = point.iter().flat_map(|point| &point.preparation);
            beside
                .point
                .preparation
                .extend(media.filter(|preparation| preparation.medium().is_some()).cloned());
            let (running, ready) = self
                .start_companion(index, &beside)
                .map_err(|refusal| refusal.of(&companion.point.name()))?;
            match point {
                Some(_) => self.of_invocation.push(running),
                None => self.companions.push(running),
            }
            started.push((index, ready));
        }
        Ok(started)
    }

    fn end_companions(&mut self) -> Result<(), LaunchRefusal> {
        let running = std::mem::take(&mut self.of_invocation);
        self.end_all(running).into_iter().next().map_or(Ok(()), Err)
    }

    fn apply(
        &mut self,
        slot: PreparationSlot,
        point: Option<&PlannedPoint>,
    ) -> Result<SlotReport, LaunchRefusal> {
        let mut done = self.preparations.apply(&mut self.keeper, slot, point)?;
        if slot != PreparationSlot::Run {
            done.extend(self.apply_plugins(slot)?);
        }
        Ok(done)
    }

    fn undo(&mut self, slot: PreparationSlot) -> Result<SlotReport, LaunchRefusal> {
        // Its error waits: the settings below are undone in any case.
        let plugins = self.undo_plugins(slot);
        let mut done = self.preparations.undo(&mut self.keeper, slot)?;
        done.extend(plugins?);
        Ok(done)
    }

    fn finish(&mut self) -> Result<(), LaunchRefusal> {
        let mut failures = Vec::new();
        // From the inside out: each ends on a machine that is as it was when it began.
        for slot in [PreparationSlot::Invocation, PreparationSlot::Round] {
            failures.extend(self.undo_plugins(slot).err());
        }
        failures.extend(self.end_companions().err());
        let running = std::mem::take(&mut self.companions);
        failures.extend(self.end_all(running));
        for server in std::mem::take(&mut self.servers) {
            failures.extend(server.stop(&mut self.keeper).err());
        }
        for (key, (fixture, _)) in self.fixtures.take() {
            let ended = fixture.clean_and_stop(&mut self.keeper);
            failures.extend(ended.err().map(|why| why.of(&key)));
        }
        self.far_hosts.end(&mut self.keeper);
        // Media last: a filesystem on which anything still has a file open can't be unmounted.
        failures.extend(self.media.end(&mut self.keeper));
        match failures.into_iter().next() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

/// What a program is told, apart from its seed and from what others gave.
fn start_of(settings: &LauncherSettings, dir: &str, params: Settings, role: Role) -> Start {
    Start {
        role,
        params,
        dir: dir.to_owned(),
        scratch: settings.scratch.to_string_lossy().into_owned(),
        seed: settings.seed,
        endpoints: Endpoints::new(),
        facts: settings.facts.clone(),
        extra_work: None,
    }
}

/// Time limit of one message.
fn timeout_of(description: &Description) -> Duration {
    let seconds = description.timeout_s.map(|seconds| seconds.clamp(1, LONGEST_TIMEOUT_S));
    seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs)
}

/// A started invocation with its server.
struct KeptInvocation<'k> {
    keeper: &'k mut Keeper,
    worker: Option<Conversation>,
    server: Option<Conversation>,
    timeout: Duration,
    /// When no answer is waited for any longer, apart from one sample.
    until: Option<Instant>,
    /// The shape that its samples must have.
    shape: SampleShape,
    /// The request that it streams for.
    stream: Option<u64>,
}

impl KeptInvocation<'_> {
    fn ask(
        &mut self,
        request: Request,
        timeout: Duration,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Reply, LaunchRefusal> {
        let worker = self.worker()?;
        let reply = worker.ask_with_progress(request, timeout, progress);
        reply.map_err(|refusal| worker.explain(refusal))
    }

    /// The next answer may come so much after the end of the run's time; None: whenever the workload's own time limit allows.
    fn allow(&mut self, sample: Option<Duration>) -> Result<(), LaunchRefusal> {
        let until = self.until.zip(sample).and_then(|(until, sample)| until.checked_add(sample));
        self.worker()?.wait_until(until);
        Ok(())
    }

    fn worker(&mut self) -> Result<&mut Conversation, LaunchRefusal> {
        self.worker.as_mut().ok_or_else(|| LaunchRefusal::Failed("it has already ended".into()))
    }

    /// As many samples as were asked for, as declared: a workload that lies about its schema fails.
    fn complete(
        &mut self,
        reply: SampleReply,
        wanted: usize,
    ) -> Result<SampleReply, LaunchRefusal> {
        let reply = self.shape.accept(reply)?;
        match reply.samples.len() {
            got if got == wanted => Ok(reply),
            got => Err(LaunchRefusal::Failed(format!(
                "it took {got} samples, but plumb requested {wanted}"
            ))),
        }
    }
}

impl InvocationSession for KeptInvocation<'_> {
    fn pid(&self) -> Option<u32> {
        self.worker.as_ref().map(Conversation::pid)
    }

    fn calibrate(
        &mut self,
        target_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(u64, u64), LaunchRefusal> {
        match self.ask(Request::Calibrate { target_ns }, self.timeout, progress)? {
            Reply::Calibrated { iterations, elapsed_ns } => {
                validate::calibrated(iterations, elapsed_ns)
            }
            other => Err(unexpected("calibrate", &other)),
        }
    }

    fn sample(
        &mut self,
        iterations: &[u64],
        expected_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<SampleReply, LaunchRefusal> {
        let expected = Duration::from_nanos(expected_ns.saturating_mul(HUNG_AFTER_TIMES));
        let request = Request::Sample { iterations: iterations.to_vec() };
        let one_ns = expected_ns.checked_div(iterations.len() as u64).filter(|ns| *ns > 0);
        self.allow(one_ns.map(Duration::from_nanos))?;
        match self.ask(request, self.timeout.max(expected), progress)? {
            Reply::Samples(reply) => self.complete(reply, iterations.len()),
            other => Err(unexpected("sample", &other)),
        }
    }

    fn begin_stream(&mut self, interval_ns: u64, duration_ns: u64) -> Result<(), LaunchRefusal> {
        self.timeout =
            self.timeout.max(Duration::from_nanos(interval_ns.saturating_mul(HUNG_AFTER_TIMES)));
        self.allow(Some(Duration::from_nanos(interval_ns)))?;
        self.stream = Some(self.worker()?.send(Request::Stream { interval_ns, duration_ns })?);
        Ok(())
    }

    fn streamed(
        &mut self,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<SampleReply>, LaunchRefusal> {
        let (Some(id), timeout) = (self.stream, self.timeout) else { return Ok(None) };
        for _ in 0..MOST_HEARTBEATS {
            let worker = self.worker()?;
            let reply = worker.reply(id, timeout, "stream");
            match reply.map_err(|refusal| worker.explain(refusal))? {
                Reply::Samples(reply) => return self.complete(reply, 1).map(Some),
                Reply::Progress { text } => worker.take_progress(&text, progress),
                Reply::Done { .. } => {
                    self.stream = None;
                    return Ok(None);
                }
                Reply::Failed { why, wrong_result: true } => {
                    return Err(LaunchRefusal::WrongResult(why));
                }
                Reply::Failed { why, .. } => return Err(LaunchRefusal::Failed(why)),
                other => return Err(unexpected("stream", &other)),
            }
        }
        Err(LaunchRefusal::Failed(format!("it sent {MOST_HEARTBEATS} heartbeats but no sample")))
    }

    fn trial(
        &mut self,
        load: f64,
        duration_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<SampleReply, LaunchRefusal> {
        let expected = Duration::from_nanos(duration_ns.saturating_mul(HUNG_AFTER_TIMES));
        let timeout = self.timeout.max(expected);
        // A search is one sample, so it may go on after the end; each of its trials is waited for as if it were the last.
        let until = self.until.map(|until| until.max(Instant::now() + LATE_TRIAL));
        let until = until.and_then(|until| until.checked_add(Duration::from_nanos(duration_ns)));
        self.worker()?.wait_until(until);
        match self.ask(Request::Trial { load, duration_ns }, timeout, progress)? {
            Reply::Samples(reply) => self.complete(reply, 1),
            other => Err(unexpected("trial", &other)),
        }
    }

    fn stop(mut self: Box<Self>) -> Result<ProcessEnd, LaunchRefusal> {
        let stream = self.stream.take();
        let timeout = self.timeout;
        let worker = self.worker.take();
        let server = self.server.take();
        let stopped = match worker {
            Some(worker) if worker.is_late() => {
                worker.kill(self.keeper);
                Ok(ProcessEnd::default())
            }
            Some(worker) => match stream {
                Some(stream) => worker.stop_stream(stream, timeout, self.keeper),
                None => worker.stop(self.keeper),
            },
            None => Err(LaunchRefusal::Failed("it has already ended".into())),
        };
        // After its client: a server that ends first would look like a failure of the workload.
        let server = server.map_or(Ok(ProcessEnd::default()), |server| server.stop(self.keeper));
        // What is slow to end when the time is over has been killed.
        if !matches!(server, Err(LaunchRefusal::OutOfTime)) {
            server?;
        }
        match stopped {
            Err(LaunchRefusal::OutOfTime) => Ok(ProcessEnd::default()),
            stopped => stopped,
        }
    }
}

impl Drop for KeptInvocation<'_> {
    fn drop(&mut self) {
        for conversation in self.worker.take().into_iter().chain(self.server.take()) {
            conversation.abandon(self.keeper);
        }
    }
}
