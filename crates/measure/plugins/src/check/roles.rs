//! The checks of a plug-in in the roles that run next to a workload, and of its fixture.

use std::time::{Duration, Instant};

use plumb_launch::{
    Conversation, KeeperLauncher, LaunchRefusal, Launcher, SampleShape, StartSpec, ignore_progress,
};
use plumb_model::Role;
use plumb_protocol::{Reply, Request};

use crate::check::checklist::{CheckOutcome, Checklist};
use crate::check::outcomes::{ended, note};

/// Length of one sample of the stream, in nanoseconds; a run asks for one a second.
const INTERVAL_NS: u64 = 200_000_000;
/// Samples that the stream has time for.
const INTERVALS: u64 = 5;
/// A stream that goes on for so much longer does not look at `duration_ns`.
const LATE: Duration = Duration::from_secs(3);

/// `prepare` of a fixture; whether it stands.
pub fn fixture(
    launcher: &mut KeeperLauncher,
    spec: StartSpec<'_>,
    list: &mut Checklist<'_>,
) -> Result<bool, LaunchRefusal> {
    match launcher.prepare(spec.planned, &mut ignore_progress) {
        Ok(Some((key, ready))) => {
            let on_disk = ready.bytes_on_disk;
            list.add("prepare", CheckOutcome::Ok, format!("fixture `{key}`, {on_disk} B on disk"));
            Ok(true)
        }
        Ok(None) => Ok(true),
        Err(refusal) => note(list, "prepare", &refusal).map(|()| false),
    }
}

/// `clean` of everything that was prepared.
pub fn clean(launcher: &mut KeeperLauncher, list: &mut Checklist<'_>) -> Result<(), LaunchRefusal> {
    match launcher.finish() {
        Ok(()) => list.add("clean", CheckOutcome::Ok, "fixture and server cleaned, exit status 0"),
        Err(refusal) => note(list, "clean", &refusal)?,
    }
    Ok(())
}

/// `start`, `stream`, `stop` of a load or a monitor.
pub fn stream(
    launcher: &mut KeeperLauncher,
    spec: StartSpec<'_>,
    list: &mut Checklist<'_>,
) -> Result<(), LaunchRefusal> {
    let name = if spec.role == Role::Load { "stream-load" } else { "stream-monitor" };
    let (mut conversation, ready) = match launcher.converse(spec) {
        Ok(started) => started,
        Err(refusal) => return note(list, name, &refusal),
    };
    match count(&mut conversation, SampleShape::of(&spec.planned.description, &ready)) {
        Ok(samples) => {
            // The end may cut an interval short: one sample more is not a fault.
            let enough = samples > 0 && samples <= INTERVALS as usize + 1;
            let seen = format!("{samples} samples in {INTERVALS} intervals of 0.2 s");
            list.advise(name, if enough { Ok(seen) } else { Err(seen) });
            ended(list, "stream-exit", conversation.stop(launcher.keeper()))
        }
        Err(refusal) => {
            let refusal = conversation.explain(refusal);
            conversation.kill(launcher.keeper());
            note(list, name, &refusal)
        }
    }
}

/// The samples of a short stream up to its `done`.
fn count(conversation: &mut Conversation, mut shape: SampleShape) -> Result<usize, LaunchRefusal> {
    let duration_ns = INTERVAL_NS * INTERVALS;
    let deadline = Instant::now() + Duration::from_nanos(duration_ns) + LATE;
    let id = conversation.send(Request::Stream { interval_ns: INTERVAL_NS, duration_ns })?;
    let mut samples = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let late = LATE.as_secs();
            let why = format!(
                "its stream continued for {late} s after duration_ns; it must end with `done`"
            );
            return Err(LaunchRefusal::Failed(why));
        }
        match conversation.reply(id, left, "stream")? {
            Reply::Samples(reply) => samples += shape.accept(reply)?.samples.len(),
            Reply::Progress { .. } => {}
            Reply::Done { .. } => return Ok(samples),
            Reply::Failed { why, .. } => return Err(LaunchRefusal::Failed(why)),
            other => {
                let start: String = format!("{other:?}").chars().take(80).collect();
                let why = format!("it answered `stream` with the wrong message: {start}");
                return Err(LaunchRefusal::Failed(why));
            }
        }
    }
}

/// `prepare`, `clean`, `stop` of a preparation: the change is made and undone.
pub fn preparation(
    launcher: &mut KeeperLauncher,
    spec: StartSpec<'_>,
    list: &mut Checklist<'_>,
) -> Result<(), LaunchRefusal> {
    const NAME: &str = "preparation";
    match launcher.converse(spec) {
        Ok((conversation, _)) => {
            list.add(NAME, CheckOutcome::Ok, "applied by `prepare`");
            ended(list, "undone", conversation.clean_and_stop(launcher.keeper()))
        }
        Err(refusal) => note(list, NAME, &refusal),
    }
}
