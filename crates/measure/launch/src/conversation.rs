//! A conversation with one started program: a request, then the reply with its id.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use plumb_keeper::{Keeper, PluginPreparation, ProcessExit, SpawnOptions, Unchanged};
use plumb_model::Ready;
use plumb_protocol::{
    EXIT_TIMEOUT, LineError, LineReader, LineWriter, MAX_LINE, MOST_HEARTBEATS, PROTOCOL, Reply,
    ReplyLine, Request, RequestLine,
};
use serde::Serialize;

use crate::launcher::ProcessEnd;
use crate::log::StderrLog;
use crate::progress::{ProgressThrottle, ignore_progress};
use crate::refusal::LaunchRefusal;
use crate::secrets::Secrets;
use crate::validate;

/// One message may take this long when the workload states nothing.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// A program may take this long for its end if the time of the run is over.
const LATE_END: Duration = Duration::from_secs(1);
/// So much of a program's last line of log goes into a failure, in characters.
const LOG_LINE: usize = 300;
/// So much of a line that is not a reply is shown, in characters, and so much of it before the fault.
const LINE_SHOWN: usize = 80;
const LINE_BEFORE: usize = 20;

/// A started program.
#[derive(Debug)]
pub struct Conversation {
    pid: u32,
    stdin: Option<LineWriter<OwnedFd>>,
    lines: LineReader<OwnedFd>,
    log: StderrLog,
    /// Whether it has closed its stdout, or exited.
    has_ended: bool,
    /// Whether it has answered all that it was asked.
    is_idle: bool,
    timeout: Duration,
    /// When all waiting for it ends, whatever its time limit.
    until: Option<Instant>,
    /// Whether an answer was not waited for any longer.
    is_late: bool,
    last_id: u64,
    /// The longest line that it accepts, in bytes.
    max_line: usize,
    /// The name by which the keeper holds what it prepared.
    held: Option<String>,
    secrets: Secrets,
    progress: ProgressThrottle,
}

impl Conversation {
    /// Starts a program with these options and exchanges `hello`; one message may take `timeout`.
    ///
    /// # Errors
    /// When it can't be started or greets wrongly.
    pub fn open(
        keeper: &mut Keeper,
        argv: &[String],
        options: &SpawnOptions,
        timeout: Duration,
    ) -> Result<Self, LaunchRefusal> {
        Self::open_until(keeper, argv, options, timeout, None)
    }

    /// [`Conversation::open`], in which no answer is waited for after `until`.
    ///
    /// # Errors
    /// As for [`Conversation::open`].
    pub fn open_until(
        keeper: &mut Keeper,
        argv: &[String],
        options: &SpawnOptions,
        timeout: Duration,
        until: Option<Instant>,
    ) -> Result<Self, LaunchRefusal> {
        let pipes = keeper.spawn(argv, None, options)?;
        let stdin = LineWriter::new(pipes.stdin).map_err(|error| {
            LaunchRefusal::Fatal(format!("plumb can't use a worker's stdin: {error}"))
        })?;
        let mut conversation = Self {
            pid: pipes.pid,
            stdin: Some(stdin),
            lines: LineReader::new(pipes.stdout, MAX_LINE),
            // Drained from the start: a program that fills the pipe (64 KiB) would block on its own messages.
            log: StderrLog::drain(pipes.stderr),
            has_ended: false,
            is_idle: false,
            timeout,
            until,
            is_late: false,
            last_id: 0,
            max_line: MAX_LINE,
            held: None,
            secrets: Secrets::default(),
            progress: ProgressThrottle::default(),
        };
        match conversation.greet() {
            Ok(()) => Ok(conversation),
            Err(refusal) => {
                let refusal = conversation.explain(refusal);
                conversation.kill(keeper);
                Err(refusal)
            }
        }
    }

    fn greet(&mut self) -> Result<(), LaunchRefusal> {
        let hello = Request::Hello { protocol: PROTOCOL, max_line: MAX_LINE };
        match self.ask(hello, self.timeout)? {
            Reply::Hello { protocol: PROTOCOL, max_line } => {
                self.max_line = max_line;
                Ok(())
            }
            Reply::Hello { protocol, .. } => Err(LaunchRefusal::Failed(format!(
                "it uses protocol {protocol}, plumb uses {PROTOCOL}"
            ))),
            other => Err(unexpected("hello", &other)),
        }
    }

    /// Strikes these out of all that it says from now on.
    pub fn hide(&mut self, secrets: Secrets) {
        self.log.hide(secrets.clone().with_environment());
        self.secrets = secrets;
    }

    /// The number of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The time limit of a message.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// From now on no answer is waited for after `until`.
    pub fn wait_until(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Whether it still owes an answer for which the time of the run was too short.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.is_late
    }

    /// A time limit, cut to what the run has left.
    fn cut(&self, timeout: Duration) -> Duration {
        match self.until {
            Some(until) => timeout.min(until.saturating_duration_since(Instant::now())),
            None => timeout,
        }
    }

    /// It is about to be ended: that gets some time also if the run has none left.
    fn wait_for_end(&mut self) {
        self.until = self.until.map(|until| until.max(Instant::now() + LATE_END));
    }

    /// Sends a request and waits for its reply; heartbeats extend the time limit.
    ///
    /// # Errors
    /// When it is silent, ends, says what is not a message, or answers that it failed.
    pub fn ask(&mut self, request: Request, timeout: Duration) -> Result<Reply, LaunchRefusal> {
        self.ask_with_progress(request, timeout, &mut ignore_progress)
    }

    /// [`Conversation::ask`], which passes on what the program says meanwhile that it is doing.
    ///
    /// # Errors
    /// As for [`Conversation::ask`].
    pub fn ask_with_progress(
        &mut self,
        request: Request,
        timeout: Duration,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Reply, LaunchRefusal> {
        let word = word(&request);
        let id = self.send(request)?;
        self.answer(id, timeout, word, progress)
    }

    /// [`Conversation::ask`] with a field that no version of the protocol has: a program must ignore it,
    /// so that later versions can add fields.
    ///
    /// # Errors
    /// As for [`Conversation::ask`].
    pub fn ask_with_unknown_field(
        &mut self,
        request: Request,
        timeout: Duration,
    ) -> Result<Reply, LaunchRefusal> {
        let word = word(&request);
        self.is_idle = false;
        self.last_id += 1;
        let mut line = serde_json::to_value(RequestLine { id: self.last_id, request })
            .map_err(|error| unwritable(&error))?;
        line["x_unknown"] = serde_json::json!({ "ignore": ["this"] });
        self.write(&line)?;
        self.answer(self.last_id, timeout, word, &mut ignore_progress)
    }

    fn answer(
        &mut self,
        id: u64,
        timeout: Duration,
        word: &str,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Reply, LaunchRefusal> {
        // Each heartbeat renews the time limit, so without a bound a program could keep plumb waiting for ever.
        for _ in 0..MOST_HEARTBEATS {
            self.pass_on_waiting(timeout, word, progress)?;
            match self.reply(id, timeout, word)? {
                Reply::Progress { text } => self.take_progress(&text, progress),
                reply => {
                    self.progress.forget();
                    self.is_idle = true;
                    return match reply {
                        Reply::Failed { why, wrong_result: true } => {
                            Err(LaunchRefusal::WrongResult(why))
                        }
                        Reply::Failed { why, .. } => Err(LaunchRefusal::Failed(why)),
                        reply => Ok(reply),
                    };
                }
            }
        }
        Err(LaunchRefusal::Failed(format!(
            "it sent {MOST_HEARTBEATS} heartbeats but no answer to `{word}`"
        )))
    }

    /// Passes on what the program says that it is doing, unless it has said something just before.
    pub fn take_progress(&mut self, text: &str, progress: &mut dyn FnMut(&str)) {
        if let Some(shown) = self.progress.take(text, Instant::now()) {
            progress(&shown);
        }
    }

    /// Passes on what the program said last, once it may, unless the program says something new before that.
    fn pass_on_waiting(
        &mut self,
        timeout: Duration,
        word: &str,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), LaunchRefusal> {
        let Some(wait) = self.progress.due_in(Instant::now()) else { return Ok(()) };
        let is_ready = self.lines.is_ready_within(wait);
        if is_ready.map_err(|error| no_line(error, timeout, word))? {
            return Ok(());
        }
        if let Some(shown) = self.progress.release(Instant::now()) {
            progress(&shown);
        }
        Ok(())
    }

    /// Sends a request without waiting; its id.
    ///
    /// # Errors
    /// When it is gone or does not read its stdin.
    pub fn send(&mut self, request: Request) -> Result<u64, LaunchRefusal> {
        self.is_idle = false;
        self.last_id += 1;
        self.write(&RequestLine { id: self.last_id, request })?;
        Ok(self.last_id)
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), LaunchRefusal> {
        let mut text = serde_json::to_vec(line).map_err(|error| unwritable(&error))?;
        if text.len() > self.max_line {
            let needed = text.len();
            let most = self.max_line;
            return Err(LaunchRefusal::Failed(format!(
                "it accepts lines of at most {most} bytes, but this request needs {needed}"
            )));
        }
        text.push(b'\n');
        let limit = self.cut(self.timeout);
        let stdin = self
            .stdin
            .as_mut()
            .ok_or_else(|| LaunchRefusal::Failed("it has already ended".into()))?;
        match stdin.write_line(&text, limit) {
            Ok(()) => Ok(()),
            Err(LineError::Interrupted) => Err(LaunchRefusal::Interrupted),
            Err(LineError::Timeout) if limit < self.timeout => {
                self.is_late = true;
                Err(LaunchRefusal::OutOfTime)
            }
            Err(LineError::Timeout) => {
                let seconds = self.timeout.as_secs();
                Err(LaunchRefusal::Failed(format!("it did not read its stdin for {seconds} s")))
            }
            Err(_) => Err(LaunchRefusal::Failed("it closed its stdin".into())),
        }
    }

    /// Whether a line waits to be read.
    pub fn is_ready(&mut self) -> bool {
        self.lines.is_ready()
    }

    /// The next line, which must be a reply to `id`; `word` names the request in errors.
    ///
    /// # Errors
    /// As for [`Conversation::ask`].
    pub fn reply(
        &mut self,
        id: u64,
        timeout: Duration,
        word: &str,
    ) -> Result<Reply, LaunchRefusal> {
        let limit = self.cut(timeout);
        let line = match self.lines.next_line(Some(limit)) {
            Ok(line) => line,
            Err(LineError::Timeout) if limit < timeout => {
                self.is_late = true;
                return Err(LaunchRefusal::OutOfTime);
            }
            Err(error) => {
                self.has_ended |= matches!(error, LineError::Closed(_));
                return Err(no_line(error, timeout, word));
            }
        };
        let reply = self
            .understood(&line)
            .map_err(|error| garbage(word, &self.secrets.hide(line.clone()), &error))?;
        match reply.id {
            got if got == id => {
                // Samples and progress may be followed by more.
                self.is_idle |= matches!(reply.reply, Reply::Failed { .. } | Reply::Done { .. });
                Ok(reply.reply)
            }
            got => {
                Err(LaunchRefusal::Failed(format!("it answered `{word}` with the wrong id, {got}")))
            }
        }
    }

    fn understood(&self, line: &str) -> serde_json::Result<ReplyLine> {
        // Straight into its type: the detour through a document would build every batch twice.
        if self.secrets.is_empty() {
            return serde_json::from_str(line);
        }
        let mut reply = serde_json::from_str(line)?;
        self.secrets.hide_in_reply(&mut reply);
        serde_json::from_value(reply)
    }

    /// Asks for set-up (`start`, `prepare`) and takes its `ready`.
    ///
    /// # Errors
    /// As for [`Conversation::ask`], and when it can't run here.
    pub fn ask_ready(
        &mut self,
        request: Request,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Ready, LaunchRefusal> {
        let word = word(&request);
        match self.ask_with_progress(request, self.timeout, progress)? {
            Reply::Ready(ready) => validate::ready(&ready).map(|()| ready),
            Reply::Unsupported { why, fix } => Err(LaunchRefusal::Unsupported { why, fix }),
            other => Err(unexpected(word, &other)),
        }
    }

    /// Has the keeper write down how what this program is about to prepare is undone.
    ///
    /// # Errors
    /// When that can't be written down.
    pub fn hold(
        &mut self,
        keeper: &mut Keeper,
        preparation: PluginPreparation,
    ) -> Result<(), LaunchRefusal> {
        self.held = Some(preparation.name.clone());
        let held = keeper.hold(preparation)?;
        held.map_err(|Unchanged { why, fix }| LaunchRefusal::Unsupported { why, fix })
    }

    /// Tells the keeper that nothing of what this program prepared is left.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn release(&mut self, keeper: &mut Keeper) -> Result<(), LaunchRefusal> {
        match self.held.take() {
            Some(name) => Ok(keeper.release(&name)?),
            None => Ok(()),
        }
    }

    /// Says `clean` and `stop`. A signal does not keep it from waiting: what is left undone would stay.
    ///
    /// # Errors
    /// As for [`Conversation::ask`] and [`Conversation::stop`].
    pub fn clean_and_stop(mut self, keeper: &mut Keeper) -> Result<ProcessEnd, LaunchRefusal> {
        match self.clean() {
            Ok(()) => {
                self.release(keeper)?;
                self.stop(keeper)
            }
            Err(refusal) => {
                let refusal = self.explain(refusal);
                self.kill(keeper);
                Err(refusal)
            }
        }
    }

    fn clean(&mut self) -> Result<(), LaunchRefusal> {
        // The end of the run's time does not keep it from waiting, either.
        self.until = None;
        let id = self.send(Request::Clean { prepared: None })?;
        loop {
            match self.answer(id, self.timeout, "clean", &mut ignore_progress) {
                Ok(Reply::Done { .. }) => return Ok(()),
                Ok(other) => return Err(unexpected("clean", &other)),
                Err(LaunchRefusal::Interrupted) => {}
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Says `stop`, waits for the exit, and judges both.
    ///
    /// # Errors
    /// When its last word or its exit status is wrong, or it does not exit.
    pub fn stop(mut self, keeper: &mut Keeper) -> Result<ProcessEnd, LaunchRefusal> {
        self.wait_for_end();
        let said = self.ask(Request::Stop, self.timeout);
        self.stopped(said, keeper)
    }

    /// Ends it while it still streams for this request: what it still sends of that is not taken. Who is interrupted
    /// doesn't wait for it, and kills it.
    ///
    /// # Errors
    /// As for [`Conversation::stop`].
    pub fn stop_stream(
        mut self,
        stream: u64,
        timeout: Duration,
        keeper: &mut Keeper,
    ) -> Result<ProcessEnd, LaunchRefusal> {
        self.wait_for_end();
        let said = self.last_word_of_stream(stream, timeout);
        if matches!(said, Err(LaunchRefusal::Interrupted)) {
            self.kill(keeper);
            return Ok(ProcessEnd { log: self.log.last_words(), ..ProcessEnd::default() });
        }
        self.stopped(said, keeper)
    }

    /// Says `stop` and takes the answer, after what the stream still sends.
    fn last_word_of_stream(
        &mut self,
        stream: u64,
        timeout: Duration,
    ) -> Result<Reply, LaunchRefusal> {
        let stop = self.send(Request::Stop)?;
        loop {
            match self.reply(stream, timeout, "stream")? {
                Reply::Samples(_) | Reply::Progress { .. } => {}
                Reply::Done { .. } => break,
                other => return Err(unexpected("stream", &other)),
            }
        }
        self.answer(stop, timeout, "stop", &mut ignore_progress)
    }

    /// Waits for its end, which it has announced.
    fn stopped(
        mut self,
        said: Result<Reply, LaunchRefusal>,
        keeper: &mut Keeper,
    ) -> Result<ProcessEnd, LaunchRefusal> {
        let said = match said {
            Ok(Reply::Done { .. }) => Ok(()),
            Ok(other) => Err(unexpected("stop", &other)),
            Err(refusal) => Err(refusal),
        };
        // A program that waits for another request sees the end of its stdin.
        self.stdin = None;
        // Also if its last word is wrong: no process may be left when this returns.
        let exit = self.wait_or_kill(keeper);
        self.has_ended = true;
        said.map_err(|refusal| self.explain(refusal))?;
        let exit = exit?;
        if exit.status != Some(0) {
            let how = exit.words();
            return Err(self.explain(LaunchRefusal::Failed(format!("it ended with {how}"))));
        }
        let mut log = self.log.last_words();
        if exit.orphans > 0 {
            log.push_str(&format!(
                "\nplumb: it left {} processes behind, which plumb killed",
                exit.orphans
            ));
        }
        Ok(ProcessEnd { peak_memory_bytes: exit.peak_memory_bytes, log, left_behind: exit.orphans })
    }

    fn wait_or_kill(&self, keeper: &mut Keeper) -> Result<ProcessExit, LaunchRefusal> {
        let deadline = Instant::now() + self.cut(EXIT_TIMEOUT).max(LATE_END);
        // A signal makes `wait` return early: asked again until the time is really over.
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            if let Some(exit) = keeper.wait(self.pid, left)? {
                return Ok(exit);
            }
        }
        self.kill(keeper);
        let seconds = EXIT_TIMEOUT.as_secs();
        Err(LaunchRefusal::Failed(format!("it did not exit within {seconds} s of its last reply")))
    }

    /// Ends it when something went wrong. If it waits for a request it is told to stop, so that it takes away what it laid out;
    /// otherwise it is killed.
    pub fn abandon(mut self, keeper: &mut Keeper) {
        if self.is_idle && self.says_that_it_stops() {
            self.stdin = None;
            // Killed if it does not exit.
            let _ = self.wait_or_kill(keeper);
        } else {
            self.kill(keeper);
        }
    }

    /// Asks it to stop; whether it answers in time.
    fn says_that_it_stops(&mut self) -> bool {
        self.wait_for_end();
        let deadline = Instant::now() + EXIT_TIMEOUT;
        let Ok(id) = self.send(Request::Stop) else { return false };
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.reply(id, left, "stop") {
                Ok(Reply::Progress { .. }) => {}
                other => return other.is_ok(),
            }
        }
        false
    }

    /// Kills it with all that it started.
    pub fn kill(&self, keeper: &mut Keeper) {
        if keeper.kill(self.pid).is_ok() {
            let _ = keeper.wait(self.pid, EXIT_TIMEOUT);
        }
    }

    /// Adds the end of its log to a failure.
    #[must_use]
    pub fn explain(&self, refusal: LaunchRefusal) -> LaunchRefusal {
        match refusal {
            LaunchRefusal::Failed(why) => {
                let log = if self.has_ended { self.log.last_words() } else { self.log.text() };
                match log.trim().lines().last() {
                    Some(last) if !last.is_empty() => {
                        let last: String = last.chars().take(LOG_LINE).collect();
                        LaunchRefusal::Failed(format!("{why} (its log ends: {last})"))
                    }
                    _ => LaunchRefusal::Failed(why),
                }
            }
            other => other,
        }
    }
}

fn no_line(error: LineError, timeout: Duration, word: &str) -> LaunchRefusal {
    let why = match error {
        LineError::Interrupted => return LaunchRefusal::Interrupted,
        LineError::Timeout => format!("it was silent for {} s after `{word}`", timeout.as_secs()),
        LineError::Closed(_) => format!("it ended without answering `{word}`"),
        other => format!("after `{word}`: {other}"),
    };
    LaunchRefusal::Failed(why)
}

fn unwritable(error: &serde_json::Error) -> LaunchRefusal {
    LaunchRefusal::Fatal(format!("plumb can't write a request as JSON: {error}"))
}

/// What is not a reply, with the text around the place where it stops being one.
fn garbage(word: &str, line: &str, error: &serde_json::Error) -> LaunchRefusal {
    let error_text = error.to_string();
    let what = error_text.split(" at line ").next().unwrap_or_default();
    let mut from = error.column().saturating_sub(LINE_BEFORE).min(line.len());
    while !line.is_char_boundary(from) {
        from -= 1;
    }
    let shown: String = line[from..].chars().take(LINE_SHOWN).collect();
    LaunchRefusal::Failed(format!(
        "it answered `{word}` with a line that is not a reply: {what}: `{shown}`"
    ))
}

/// A reply that does not belong to the request.
pub(super) fn unexpected(word: &str, reply: &Reply) -> LaunchRefusal {
    let mut got = format!("{reply:?}");
    got.truncate(got.char_indices().nth(80).map_or(got.len(), |(i, _)| i));
    LaunchRefusal::Failed(format!("it answered `{word}` with the wrong message: {got}"))
}

fn word(request: &Request) -> &'static str {
    match request {
        Request::Hello { .. } => "hello",
        Request::Describe => "describe",
        Request::Prepare(_) => "prepare",
        Request::Clean { .. } => "clean",
        Request::Start(_) => "start",
        Request::Calibrate { .. } => "calibrate",
        Request::Sample { .. } => "sample",
        Request::Trial { .. } => "trial",
        Request::Stream { .. } => "stream",
        Request::Stop => "stop",
    }
}
