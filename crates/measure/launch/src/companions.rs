//! Intended background work next to the measured workloads: loads, monitors and preparations (`--with`).

use plumb_keeper::Keeper;
use plumb_model::{Companion, Ready, Role};
use plumb_protocol::{MOST_HEARTBEATS, Reply, Request, SampleReply};

use crate::conversation::{Conversation, unexpected};
use crate::refusal::LaunchRefusal;
use crate::validate::SampleShape;

/// A load and a monitor report once in this time, in nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;
/// The stream of a companion is as long as a run can be: a month, in nanoseconds.
const DURATION_NS: u64 = 31 * 86_400 * 1_000_000_000;

/// A started companion.
#[derive(Debug)]
pub struct RunningCompanion {
    /// Its index in the plan.
    pub index: usize,
    role: Role,
    conversation: Conversation,
    /// Its far ends.
    servers: Vec<Conversation>,
    stream: u64,
    shape: SampleShape,
}

impl RunningCompanion {
    /// Makes a started program a companion: a preparation is applied already, anything else streams.
    pub fn begin(
        index: usize,
        companion: &Companion,
        ready: &Ready,
        mut conversation: Conversation,
        servers: Vec<Conversation>,
    ) -> Result<Self, LaunchRefusal> {
        let role = companion.role;
        let stream = match role {
            Role::Preparation => 0,
            Role::Workload | Role::Server | Role::Monitor | Role::Load => conversation
                .send(Request::Stream { interval_ns: INTERVAL_NS, duration_ns: DURATION_NS })?,
        };
        let shape = SampleShape::of(&companion.point.description, ready);
        Ok(Self { index, role, conversation, servers, stream, shape })
    }

    /// What it reported since the last call, without waiting. Of one that sends faster than it is read, only so many
    /// lines are taken: the rest waits in its pipe, and holds it up.
    pub fn collect(&mut self) -> Result<Vec<SampleReply>, LaunchRefusal> {
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
                    return Err(LaunchRefusal::Failed("it ended its stream too early".into()));
                }
                Reply::Failed { why, .. } => return Err(LaunchRefusal::Failed(why)),
                other => return Err(unexpected("stream", &other)),
            }
        }
        Ok(collected)
    }

    /// Undoes a preparation, ends anything else, and its far ends; what could not be ended.
    pub fn end(self, keeper: &mut Keeper) -> Vec<LaunchRefusal> {
        let undone = match self.role {
            Role::Preparation => self.conversation.clean_and_stop(keeper).map(|_| ()),
            Role::Workload | Role::Server | Role::Monitor | Role::Load => {
                self.conversation.kill(keeper);
                Ok(())
            }
        };
        let stopped = self.servers.into_iter().map(|server| server.stop(keeper).map(|_| ()));
        [undone].into_iter().chain(stopped).filter_map(Result::err).collect()
    }
}
