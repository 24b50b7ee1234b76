//! The journal of changes to the machine: what was, written down and synced before anything is changed.
//!
//! One file a keeper, under the state folder, locked (`flock`) for as long as its keeper lives. First
//! line: the boot and the owner. Then a line a change (what, was, is to be), after it what became of it,
//! as it reads back. A change is undone by writing the old value, and its lines are cut off; an empty
//! journal is removed. So whatever is killed, whenever:
//!
//! - before a change's line is whole, it was not made: a torn last line is ignored;
//! - after it, it may have been made: the old value is written if it is not there already;
//! - a journal whose lock is free belongs to nobody: whoever comes next restores it ([`recover`]);
//! - values of another boot are never written: the kernel has forgotten the changes by itself.
//!
//! A value that is no longer what plumb made of it was changed by somebody else, who may rely on it; it
//! is left, and said so. A setting that a living journal holds is refused to all others: what they would
//! take for the old value is not. Looking at the other journals and adding a line is one step under the
//! folder's lock.

mod file;
mod held;
#[expect(clippy::module_inception, reason = "the journal itself")]
pub mod journal;
pub mod settled;

pub use held::{HeldChange, held};
pub use journal::{Journal, recover};
pub use settled::{ChangeMade, Settled};
