//! A command on another machine: a ticket goes in, an event log comes out.
//!
//! The *near end* is the plumb that the user started. It starts plumb as an *agent* on the other machine (or as a process on this
//! one), writes one [`AgentTicket`], and reads the log: JSON Lines of [`LogLine`], schema `plumb.events/1`. The agent plans and
//! measures as plumb does there by hand. The near end stores the events, so nothing has to be fetched afterwards.
//!
//! ```text
//! near end → agent    ticket, then `beat` every few seconds, or `stop`
//! agent → near end    begin, event…, ended or refused
//! ```
//!
//! If machines measure together, an agent stops before the samples of each invocation until the near end announces when they begin:
//!
//! ```text
//! agent → near end    at-start
//! near end → agent    clock N, 16 times; each is answered with the agent's clock
//! near end → agent    start AT AHEAD ERROR
//! ```
//!
//! sshd keeps a command running after the connection is lost. So the agent ends by itself if its input ends or if it hears nothing
//! for [`SILENCE`].

mod as_value;
mod checked_events;
mod clock_offset;
mod destination;
mod inventory;
mod log_line;
mod near_end;
mod spool;
mod ticket;
mod transport;
mod visit;

pub use checked_events::CheckedEvents;
pub use destination::MachineAddress;
pub use inventory::{Inventory, InventoryError, read_inventory, read_yaml_inventory};
pub use log_line::{AgentEnd, EVENTS_SCHEMA, LogLine, MOST_LINE, StartPosition};
pub use near_end::{NearRequest, SILENCE, read_ticket, watch};
pub use spool::{EventSpool, SharedSpool};
pub use ticket::{AgentTicket, AgentWork, PlannedWork, TICKET_SCHEMA};
pub use transport::{
    AgentPipes, AgentTransport, LocalProcess, SshHost, VisitFailure, transport_to,
};
pub use visit::{VisitListener, visit};
