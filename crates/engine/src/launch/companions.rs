//! What runs beside the measured workloads on purpose: loads, monitors and preparations (`--with`).

use plumb_host::Keeper;
use plumb_model::{Companion, Ready, Role};
use plumb_protocol::{Reply, Request, SampleReply};

use super::Refusal;
use super::conversation::{Conversation, unexpected};

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
}

impl Running {
    /// Sets a started program up as a companion: a preparation is applied, anything else streams.
    pub fn begin(
        index: usize,
        companion: &Companion,
        mut conversation: Conversation,
        start: plumb_protocol::Start,
    ) -> Result<(Self, Ready), Refusal> {
        let role = companion.role;
        let (ready, stream) = if role == Role::Preparation {
            (conversation.ask_ready(Request::Prepare(start))?, 0)
        } else {
            let ready = conversation.ask_ready(Request::Start(start))?;
            let stream = Request::Stream { interval_ns: INTERVAL_NS, duration_ns: DURATION_NS };
            (ready, conversation.send(stream)?)
        };
        Ok((Self { index, role, conversation, stream }, ready))
    }

    /// What it reported since the last call, without waiting.
    pub fn collect(&mut self) -> Result<Vec<SampleReply>, Refusal> {
        let mut collected = Vec::new();
        while self.role != Role::Preparation && self.conversation.is_ready() {
            let timeout = self.conversation.timeout();
            match self.conversation.reply(self.stream, timeout, "stream")? {
                Reply::Samples(reply) => collected.push(checked(reply)?),
                Reply::Progress { .. } => {}
                Reply::Done { .. } => {
                    return Err(Refusal::Failed("it ended its stream by itself".into()));
                }
                Reply::Failed { why } => return Err(Refusal::Failed(why)),
                other => return Err(unexpected("stream", &other)),
            }
        }
        Ok(collected)
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

/// Samples that keep the rules; a broken column fails the program that sent it.
pub fn checked(reply: SampleReply) -> Result<SampleReply, Refusal> {
    match reply.samples.check() {
        Ok(()) => Ok(reply),
        Err(error) => Err(Refusal::Failed(format!("its samples are no samples: {error}"))),
    }
}
