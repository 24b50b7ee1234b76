//! What runs beside the measured workloads on purpose: loads, monitors and preparations (`--with`).

use plumb_host::Keeper;
use plumb_model::{Companion, Ready, Role};
use plumb_protocol::{Reply, Request, SampleReply, Start};

use super::Refusal;
use super::conversation::{Conversation, MOST_HEARTBEATS, unexpected};
use super::sound::Shape;

/// A load and a monitor report once in this time, in nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;
/// The stream of a companion is as long as a run can be: a month, in nanoseconds.
const DURATION_NS: u64 = 31 * 86_400 * 1_000_000_000;

/// A started companion.
#[derive(Debug)]
pub struct Running {
    /// Its index in the plan.
    pub index: usize,
    role: Role,
    conversation: Conversation,
    stream: u64,
    shape: Shape,
}

impl Running {
    /// Sets a started program up as a companion: a preparation is applied, anything else streams.
    pub fn begin(
        index: usize,
        companion: &Companion,
        mut conversation: Conversation,
        start: Start,
        keeper: &mut Keeper,
    ) -> Result<(Self, Ready), Refusal> {
        let role = companion.role;
        match set_up(role, &mut conversation, start) {
            Ok((ready, stream)) => {
                let shape = Shape::of(&companion.point.description);
                Ok((Self { index, role, conversation, stream, shape }, ready))
            }
            Err(refusal) => {
                let refusal = conversation.explain(refusal);
                conversation.kill(keeper);
                Err(refusal)
            }
        }
    }

    /// What it reported since the last call, without waiting.
    pub fn collect(&mut self) -> Result<Vec<SampleReply>, Refusal> {
        let mut collected = Vec::new();
        for _ in 0..MOST_HEARTBEATS {
            if self.role == Role::Preparation || !self.conversation.is_ready() {
                return Ok(collected);
            }
            let timeout = self.conversation.timeout();
            let reply = self.conversation.reply(self.stream, timeout, "stream");
            match reply.map_err(|refusal| self.conversation.explain(refusal))? {
                Reply::Samples(reply) => collected.push(self.shape.accept(reply)?),
                Reply::Progress { .. } => {}
                Reply::Done { .. } => {
                    return Err(Refusal::Failed("it ended its stream by itself".into()));
                }
                Reply::Failed { why } => return Err(Refusal::Failed(why)),
                other => return Err(unexpected("stream", &other)),
            }
        }
        Err(Refusal::Failed(format!("it sent {MOST_HEARTBEATS} lines at once")))
    }

    /// Undoes a preparation, ends anything else.
    pub fn end(mut self, keeper: &mut Keeper) -> Result<(), Refusal> {
        if self.role != Role::Preparation {
            self.conversation.kill(keeper);
            return Ok(());
        }
        let timeout = self.conversation.timeout();
        match self.conversation.ask(Request::Clean, timeout)? {
            Reply::Done { .. } => self.conversation.stop(keeper).map(|_| ()),
            other => Err(unexpected("clean", &other)),
        }
    }
}

/// Its word, and the id of its stream; a preparation has none.
fn set_up(
    role: Role,
    conversation: &mut Conversation,
    start: Start,
) -> Result<(Ready, u64), Refusal> {
    if role == Role::Preparation {
        return Ok((conversation.ask_ready(Request::Prepare(start))?, 0));
    }
    let ready = conversation.ask_ready(Request::Start(start))?;
    let stream = Request::Stream { interval_ns: INTERVAL_NS, duration_ns: DURATION_NS };
    Ok((ready, conversation.send(stream)?))
}
