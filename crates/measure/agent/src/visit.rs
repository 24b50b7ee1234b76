//! The near end of a run: it passes on the events of an agent until the log ends.

use std::time::{Duration, Instant};

use plumb_model::{SharedStart, Stamped};
use plumb_protocol::LineError;

use crate::checked_events::CheckedEvents;
use crate::clock_offset::{ClockExchange, ClockOffset, EXCHANGES, offset};
use crate::log_line::{AgentEnd, EVENTS_SCHEMA, LogLine, StartPosition};
use crate::near_end::{BEAT, CLOCK, STOP, announcement};
use crate::ticket::AgentTicket;
use crate::transport::{AgentPipes, VisitFailure};

/// Time between two signs of life. The agent waits three times as long.
const BEAT_EVERY: Duration = Duration::from_secs(3);
/// The near end looks this often whether it has to do something else.
const LOOK: Duration = Duration::from_millis(200);
/// So much of a time two clocks may drift apart, in thousandths: each is slewed by half of it at most, and its crystal is off by less.
const MOST_DRIFT_PER_MILLE: u64 = 1;
/// The near end looks this often whether a start is announced: it is announced longer ahead.
const LOOK_FOR_START: Duration = Duration::from_millis(5);
/// The agent begins its log within this time.
const BEGIN_WITHIN: Duration = Duration::from_secs(60);
/// The agent takes its ticket within this time.
const TICKET_WITHIN: Duration = Duration::from_secs(600);
/// An agent that was asked to stop ends its run within this time: a workload may have to finish a sample, and the machine is restored.
const STOP_WITHIN: Duration = Duration::from_secs(60);

/// Who hears of a visit.
pub trait VisitListener {
    /// Takes the events in order. It may block for a while, but calls `alive` at least every few seconds.
    ///
    /// # Errors
    /// When it takes no more.
    fn take(&mut self, stamped: Stamped, alive: &mut dyn FnMut()) -> Result<(), String>;

    /// Takes the lines that the agent writes to stderr.
    fn say(&mut self, line: String);

    /// Whether somebody wants to stop.
    fn is_interrupted(&self) -> bool;

    /// The agent waits at this position for the other machines.
    fn at_start(&mut self, position: StartPosition);

    /// When the samples at that position begin, on CLOCK_MONOTONIC of this machine, in nanoseconds; None until that is known.
    fn start_ns(&mut self) -> Option<u64>;
}

/// Gives a ticket to an agent of this version of plumb, and passes on what happens, until its log ends.
///
/// # Errors
/// When the agent refuses, breaks the rules of the log, or ends early. The events before stay valid.
pub fn visit(
    pipes: AgentPipes,
    ticket: &AgentTicket,
    plumb: &str,
    listener: &mut dyn VisitListener,
) -> Result<AgentEnd, VisitFailure> {
    let beat_at = Instant::now();
    let mut visit =
        AgentVisit { pipes, ticket, plumb, listener, beat_at, stop_by: None, waited_at: None };
    let ended = visit.run();
    if matches!(ended, Err(VisitFailure::Failed(_) | VisitFailure::Unsupported { .. })) {
        visit.pipes.abandon();
    }
    ended
}

/// A visit under way.
struct AgentVisit<'v> {
    pipes: AgentPipes,
    ticket: &'v AgentTicket,
    plumb: &'v str,
    listener: &'v mut dyn VisitListener,
    /// When the last sign of life was given.
    beat_at: Instant,
    /// When the agent has ended its run, if it was asked to stop.
    stop_by: Option<Instant>,
    /// Where the agent waited last.
    waited_at: Option<StartPosition>,
}

impl AgentVisit<'_> {
    fn run(&mut self) -> Result<AgentEnd, VisitFailure> {
        let mut ticket = serde_json::to_vec(self.ticket)
            .map_err(|error| VisitFailure::Failed(error.to_string()))?;
        ticket.push(b'\n');
        if let Err(error) = self.pipes.write(&ticket, TICKET_WITHIN) {
            return Err(self.lost(&error));
        }
        self.begin()?;
        let mut events = CheckedEvents::of(self.ticket.run, self.ticket.before.as_ref());
        loop {
            self.attend()?;
            let line = match self.pipes.line(LOOK) {
                Ok(line) => line,
                Err(LineError::Timeout | LineError::Interrupted) => continue,
                Err(error) => return Err(self.lost(&error)),
            };
            match parsed(&line)? {
                LogLine::Begin { .. } => {
                    return Err(VisitFailure::Failed("the agent began its log again".to_owned()));
                }
                LogLine::Event { segment, ordinal, stamped } => {
                    events.accept(segment, ordinal, &stamped).map_err(VisitFailure::Failed)?;
                    self.take(stamped)?;
                }
                LogLine::AtStart(position) => {
                    if let Some(end) = self.start(position)? {
                        return self.ended(end);
                    }
                }
                LogLine::Clock { .. } => {
                    return Err(VisitFailure::Failed(
                        "the agent told the time, but was not asked".to_owned(),
                    ));
                }
                LogLine::Ended(end) => return self.ended(end),
                LogLine::Refused { exit, message, hints } => {
                    return Err(VisitFailure::Refused { exit, message, hints });
                }
            }
        }
    }

    /// Passes on what the agent writes to stderr and what the user wants, and gives signs of life.
    fn attend(&mut self) -> Result<(), VisitFailure> {
        for line in self.pipes.new_words() {
            self.listener.say(line);
        }
        if self.stop_by.is_none() && self.listener.is_interrupted() {
            self.stop_by = Some(Instant::now() + STOP_WITHIN);
            self.send(STOP)?;
        }
        if self.stop_by.is_some_and(|by| Instant::now() > by) {
            return Err(VisitFailure::Interrupted);
        }
        self.beat()
    }

    /// The end of the log, unless the agent ended because it heard nothing any more.
    fn ended(&self, end: AgentEnd) -> Result<AgentEnd, VisitFailure> {
        if end.near_end_gone && self.stop_by.is_none() {
            return Err(VisitFailure::Lost("the connection was lost there".to_owned()));
        }
        Ok(end)
    }

    /// Announces the start of the samples that the agent is ready for, once the other machines are ready, too. The end of the log
    /// if the agent ends instead of waiting.
    fn start(&mut self, position: StartPosition) -> Result<Option<AgentEnd>, VisitFailure> {
        if !self.ticket.together {
            let text = "the agent waits for other machines, but measures alone";
            return Err(VisitFailure::Failed(text.to_owned()));
        }
        // One that goes back would always be the first, and the others would wait for it for ever.
        if self.waited_at.is_some_and(|last| position <= last) {
            let text = "the agent waits at a position that was before";
            return Err(VisitFailure::Failed(text.to_owned()));
        }
        self.waited_at = Some(position);
        let ClockOffset { ahead_ns, error_ns } = self.clock_offset()?;
        let compared_ns = plumb_machine::now().monotonic_ns;
        self.listener.at_start(position);
        loop {
            self.attend()?;
            // An agent that was asked to stop does not wait.
            if self.stop_by.is_some() {
                return Ok(None);
            }
            if let Some(start_ns) = self.listener.start_ns() {
                let at_ns = start_ns.saturating_add_signed(ahead_ns);
                // The kernel lets no clock run faster or slower by more (adjtimex).
                let drift_ns = start_ns.saturating_sub(compared_ns) / 1000 * MOST_DRIFT_PER_MILLE;
                let error_ns = error_ns.saturating_add(drift_ns);
                self.send(&announcement(SharedStart { at_ns, ahead_ns, error_ns }))?;
                return Ok(None);
            }
            // A connection that is lost meanwhile must not hold the other machines up.
            match self.pipes.line(LOOK_FOR_START) {
                Err(LineError::Timeout | LineError::Interrupted) => {}
                Err(error) => return Err(self.lost(&error)),
                Ok(line) => match parsed(&line)? {
                    LogLine::Ended(end) => return Ok(Some(end)),
                    _ => {
                        let text = "the agent did not wait for the other machines";
                        return Err(VisitFailure::Failed(text.to_owned()));
                    }
                },
            }
        }
    }

    /// How far the clock of the agent's machine is ahead of the one here.
    fn clock_offset(&mut self) -> Result<ClockOffset, VisitFailure> {
        let mut exchanges = Vec::new();
        for number in 0..EXCHANGES {
            let sent_ns = plumb_machine::now().monotonic_ns;
            self.send(&format!("{CLOCK} {number}"))?;
            let line = self.clock_line()?;
            let answered_ns = plumb_machine::now().monotonic_ns;
            match parsed(&line)? {
                LogLine::Clock { number: answered, monotonic_ns } if answered == number => {
                    exchanges.push(ClockExchange { sent_ns, there_ns: monotonic_ns, answered_ns });
                }
                _ => {
                    let text = "the agent did not tell the time when it was asked";
                    return Err(VisitFailure::Failed(text.to_owned()));
                }
            }
        }
        offset(&exchanges)
            .ok_or_else(|| VisitFailure::Failed("the agent's clock cannot be right".to_owned()))
    }

    /// The next line, which a signal to this process does not make impossible.
    fn clock_line(&mut self) -> Result<String, VisitFailure> {
        loop {
            match self.pipes.line(BEAT_EVERY) {
                Ok(line) => return Ok(line),
                Err(LineError::Interrupted) => {}
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    /// Waits for the first line of the log.
    fn begin(&mut self) -> Result<(), VisitFailure> {
        let listener = &*self.listener;
        let is_interrupted = || listener.is_interrupted();
        let first = self.pipes.first_line(BEGIN_WITHIN, &is_interrupted, |line| {
            let line = serde_json::from_str(line).ok()?;
            matches!(line, LogLine::Begin { .. } | LogLine::Refused { .. }).then_some(line)
        });
        let fix = "both ends need the same plumb";
        match first.map_err(|error| error.of(&mut self.pipes, fix))? {
            LogLine::Refused { exit, message, hints } => {
                Err(VisitFailure::Refused { exit, message, hints })
            }
            LogLine::Begin { schema, nonce, plumb } => {
                if nonce != self.ticket.nonce {
                    return Err(VisitFailure::Failed(
                        "the agent does not know its ticket".to_owned(),
                    ));
                }
                if schema != EVENTS_SCHEMA || plumb != self.plumb {
                    return Err(VisitFailure::Unsupported {
                        why: format!(
                            "plumb there is {plumb} ({schema}), here {} ({EVENTS_SCHEMA})",
                            self.plumb
                        ),
                        fix: fix.to_owned(),
                    });
                }
                Ok(())
            }
            other => Err(VisitFailure::Failed(format!("unexpected first line: {other:?}"))),
        }
    }

    /// Passes an event on; signs of life go on meanwhile.
    fn take(&mut self, stamped: Stamped) -> Result<(), VisitFailure> {
        let pipes = &mut self.pipes;
        let beat_at = &mut self.beat_at;
        let mut lost = None;
        let mut alive = || {
            if lost.is_none()
                && let Err(error) = give_sign(pipes, beat_at)
            {
                lost = Some(error);
            }
        };
        let taken = self.listener.take(stamped, &mut alive).map_err(VisitFailure::NotTaken);
        match lost {
            // The log may still have its last lines in the pipe, and they say more.
            Some(LineError::Closed(_)) | None => taken,
            Some(error) => taken.and(Err(self.lost(&error))),
        }
    }

    fn beat(&mut self) -> Result<(), VisitFailure> {
        match give_sign(&mut self.pipes, &mut self.beat_at) {
            // An agent that has ended does not read: its last lines may still be in the pipe.
            Ok(()) | Err(LineError::Closed(_) | LineError::Interrupted) => Ok(()),
            Err(error) => Err(self.lost(&error)),
        }
    }

    fn send(&mut self, word: &str) -> Result<(), VisitFailure> {
        match self.pipes.write(format!("{word}\n").as_bytes(), BEAT_EVERY) {
            Ok(()) | Err(LineError::Closed(_) | LineError::Interrupted) => Ok(()),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// The agent is gone, or cannot be understood.
    fn lost(&self, error: &LineError) -> VisitFailure {
        let said = self.pipes.last_words();
        match (error, said) {
            (LineError::Closed(_), Some(said)) => {
                VisitFailure::Lost(format!("the connection was lost: {said}"))
            }
            (LineError::Closed(_), None) => {
                VisitFailure::Lost("the agent ended without a last line".to_owned())
            }
            (LineError::Timeout, _) => {
                VisitFailure::Lost("the agent does not read its input".to_owned())
            }
            (error, _) => VisitFailure::Failed(format!("the agent cannot be understood: {error}")),
        }
    }
}

/// Gives a sign of life if it is time for one.
fn give_sign(pipes: &mut AgentPipes, beat_at: &mut Instant) -> Result<(), LineError> {
    if beat_at.elapsed() < BEAT_EVERY {
        return Ok(());
    }
    *beat_at = Instant::now();
    pipes.write(format!("{BEAT}\n").as_bytes(), BEAT_EVERY)
}

fn parsed(line: &str) -> Result<LogLine, VisitFailure> {
    serde_json::from_str(line).map_err(|error| {
        let beginning: String = line.chars().take(80).collect();
        VisitFailure::Failed(format!("not a line of an event log ({error}): `{beginning}`"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use plumb_model::{Event, Host, Id, Stamped};

    use super::{VisitListener, visit};
    use crate::log_line::{AgentEnd, StartPosition};
    use crate::ticket::{AgentTicket, AgentWork, TICKET_SCHEMA};
    use crate::transport::{AgentTransport, LocalProcess, VisitFailure};

    const BEGIN: &str = r#"{"line":"begin","schema":"plumb.events/1","nonce":"n","plumb":"1"}"#;
    const END: &str = r#"{"line":"ended","interrupted":false,"measured":1,"failed":0,"unsupported":0,"unclean":null,"explicit":true,"near_end_gone":false}"#;

    const BEFORE_EVENTS: [&str; 3] = [
        r#"{"line":"event","segment":0,"ordinal":0,"stamped":{"at_ns":0,"event":{"run-started":{"run":"00000000-0000-0000-0000-000000000000","started_unix_ns":0,"plumb":"1","command":[],"plan":{"suite":null,"points":[],"goal":{"strategy":"soak"},"budget_ns":null,"seed":0,"dir":"/"}}}}}"#,
        r#"{"line":"event","segment":0,"ordinal":1,"stamped":{"at_ns":0,"event":{"segment-started":{"run":"00000000-0000-0000-0000-000000000000","segment":0,"started_unix_ns":0,"monotonic_ns":0,"owner":{"pid":1,"start_ticks":0,"boot_id":""}}}}}"#,
        r#"{"line":"event","segment":0,"ordinal":2,"stamped":{"at_ns":0,"event":{"target-ready":{"target":0,"description":{"name":"local","host":null,"machine":{"fingerprint":"","facts":{}},"environment":{"fingerprint":"","facts":{}}}}}}}"#,
    ];

    /// The log event of this number, from 0.
    fn event(number: u64) -> String {
        format!(
            r#"{{"line":"event","segment":0,"ordinal":{},"stamped":{{"at_ns":7,"event":{{"log":{{"text":"{number}"}}}}}}}}"#,
            number + 3
        )
    }

    /// The begin of a log, until the machine is known.
    fn begun() -> String {
        printing(&[BEGIN]) + &printing(&BEFORE_EVENTS)
    }

    /// Counts the events, and wants to stop after a time.
    struct CountingListener {
        events: usize,
        stop_at: Option<Instant>,
        /// Whether the other machines get ready.
        others_are_ready: bool,
    }

    impl VisitListener for CountingListener {
        fn take(&mut self, stamped: Stamped, _: &mut dyn FnMut()) -> Result<(), String> {
            if let Event::Log { text } = &stamped.event {
                assert_eq!(*text, self.events.to_string());
                self.events += 1;
            }
            Ok(())
        }

        fn say(&mut self, _: String) {}

        fn is_interrupted(&self) -> bool {
            self.stop_at.is_some_and(|at| Instant::now() > at)
        }

        fn at_start(&mut self, position: StartPosition) {
            assert_eq!((position.round, position.turn), (2, 1));
        }

        fn start_ns(&mut self) -> Option<u64> {
            self.others_are_ready.then_some(5_000_000_000)
        }
    }

    /// A visit to a script in place of the agent, after it has read its ticket.
    fn visited(
        script: &str,
        stop_after: Option<Duration>,
    ) -> (Result<AgentEnd, VisitFailure>, usize) {
        visited_with(script, stop_after, false, true)
    }

    /// The same of an agent that measures together with others, or alone.
    fn visited_with(
        script: &str,
        stop_after: Option<Duration>,
        together: bool,
        others_are_ready: bool,
    ) -> (Result<AgentEnd, VisitFailure>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agent");
        fs::write(&file, format!("#!/bin/sh\nread ticket\n{script}\n")).unwrap();
        let shell = LocalProcess::new(Path::new("/bin/sh"), &[file.to_str().unwrap()]);
        let pipes = shell.open(&|| false).unwrap();
        let ticket = AgentTicket {
            schema: TICKET_SCHEMA.to_owned(),
            nonce: "n".to_owned(),
            run: Id::nil(),
            work: AgentWork::Command { words: Vec::new(), suites: [].into() },
            command: Vec::new(),
            host: Host::UNKNOWN,
            labels: [].into(),
            before: None,
            salt: String::new(),
            together,
        };
        let stop_at = stop_after.map(|after| Instant::now() + after);
        let mut listener = CountingListener { events: 0, stop_at, others_are_ready };
        let ended = visit(pipes, &ticket, "1", &mut listener);
        (ended, listener.events)
    }

    fn printing(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("echo '{line}'\n")).collect()
    }

    #[track_caller]
    fn fails(script: &str, why: &str) {
        let (ended, _) = visited(script, None);
        let error = ended.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn events_come_in_order_after_the_chatter_of_a_shell() {
        let script = printing(&["welcome"]) + &begun() + &printing(&[&event(0), &event(1), END]);
        let (ended, events) = visited(&script, None);
        assert_eq!((ended.unwrap().measured, events), (1, 2));
    }

    #[test]
    fn a_log_that_breaks_the_rules_fails_that_machine_and_keeps_what_came_before() {
        let (ended, events) = visited(&(begun() + &printing(&[&event(0), "garbage"])), None);
        assert!(ended.unwrap_err().to_string().contains("not a line of an event log"));
        assert_eq!(events, 1);
        let after_begin = |lines: &[&str], why: &str| fails(&(begun() + &printing(lines)), why);
        after_begin(&[&event(1)], "event 4 of the log came where 3 was expected");
        after_begin(&[&event(0), &event(0)], "event 3 of the log");
        after_begin(&[BEGIN], "began its log again");
        after_begin(&[], "ended without a last line");
        fails(&format!("{}echo oops >&2", begun()), "connection was lost: oops");
        let first = event(0).replace("\"ordinal\":3", "\"ordinal\":0");
        fails(&printing(&[BEGIN, &first]), "does not begin with its run");
        let other_run = BEFORE_EVENTS[0].replace("0000-000000000000", "0000-000000000001");
        fails(&printing(&[BEGIN, &other_run]), "of another run");
        let again = BEFORE_EVENTS[2].replace("\"ordinal\":2", "\"ordinal\":3");
        after_begin(&[&again], "begins a second time");
        fails(&format!("{}tr '\\0' x </dev/zero", begun()), "longer than 33554432 bytes");
        fails("tr '\\0' 'x\\n' </dev/zero | fold -w 80", "prints more than 64 KiB");
        fails("exit 0", "the login shell ended with code 0: it ended without a message");
        fails("exit 255", "cannot be reached: it ended without a message");
    }

    #[test]
    fn another_version_is_unsupported_and_a_refusal_is_passed_on() {
        let other = BEGIN.replace(r#""plumb":"1""#, r#""plumb":"2""#);
        fails(&printing(&[&other]), "plumb there is 2 (plumb.events/1), here 1 (plumb.events/1)");
        fails(&printing(&[&BEGIN.replace(r#""n""#, r#""x""#)]), "does not know its ticket");
        let refused =
            r#"{"line":"refused","exit":2,"message":"no such workload","hints":["list"]}"#;
        let (ended, _) = visited(&printing(&[refused]), None);
        let refusal = VisitFailure::Refused {
            exit: 2,
            message: "no such workload".to_owned(),
            hints: vec!["list".to_owned()],
        };
        assert_eq!(ended.unwrap_err(), refusal);
    }

    #[test]
    fn an_agent_is_asked_to_stop_and_hears_signs_of_life() {
        let script = format!(
            "{}while read word; do [ $word = stop ] && break; done; {}",
            printing(&[BEGIN]),
            printing(&[END])
        );
        let (ended, _) = visited(&script, Some(Duration::from_millis(100)));
        assert_eq!(ended.unwrap().measured, 1);
        let beats =
            format!("{}read word; [ $word = beat ] && {}", printing(&[BEGIN]), printing(&[END]));
        assert_eq!(visited(&beats, None).0.unwrap().measured, 1);
    }

    #[test]
    fn an_agent_that_waits_for_others_tells_the_time_and_hears_when_to_start() {
        let at_start = r#"{"line":"at-start","round":2,"turn":1}"#;
        // It answers with the time of a clock that is an hour ahead or so, and says what it is told at last.
        let answers = |number: &str| {
            format!(
                "{}while read word number rest; do case $word in clock) \
                 echo '{{\"line\":\"clock\",\"number\":'{number}',\"monotonic_ns\":9000000000000000000}}';; \
                 start) [ ${{#number}} = 19 ] || exit 1; break;; esac; done; {}",
                begun() + &printing(&[at_start]),
                printing(&[END])
            )
        };
        let (ended, _) = visited_with(&answers("$number"), None, true, true);
        assert_eq!(ended.unwrap().measured, 1);
        let fails = |script: &str, together, why: &str| {
            let (ended, _) = visited_with(script, None, together, true);
            let error = ended.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        fails(&answers("99"), true, "did not tell the time when it was asked");
        fails(&answers("$number"), false, "waits for other machines, but measures alone");
        let clock = r#"{"line":"clock","number":0,"monotonic_ns":1}"#;
        fails(&(begun() + &printing(&[clock])), true, "but was not asked");
    }

    #[test]
    fn an_agent_that_is_lost_or_goes_on_while_it_waits_for_others_ends_its_visit_at_once() {
        // It tells the time 16 times, and then it should wait.
        let instead = |then: &str| {
            begun()
                + &printing(&[r#"{"line":"at-start","round":2,"turn":1}"#])
                + "while read word number; do [ $word = clock ] || continue; \
                   echo '{\"line\":\"clock\",\"number\":'$number',\"monotonic_ns\":9000000000000000000}'; \
                   [ $number = 15 ] && break; done; "
                + then
        };
        let (lost, _) = visited_with(&instead("exit 0"), None, true, false);
        assert!(matches!(lost, Err(VisitFailure::Lost(_))), "{lost:?}");
        let (ended, _) = visited_with(&instead(&printing(&[END])), None, true, false);
        assert_eq!(ended.unwrap().measured, 1);
        let (went_on, _) = visited_with(&instead(&printing(&[&event(0)])), None, true, false);
        let error = went_on.unwrap_err().to_string();
        assert!(error.contains("did not wait for the other machines"), "{error}");
    }
}
