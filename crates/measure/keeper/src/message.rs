//! Messages between plumb and its keeper: one JSON document per packet.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exit::ProcessExit;
use crate::journal::settled::{ChangeMade, Settled};
use crate::plugin::PluginPreparation;
use crate::setting::SystemSetting;
use crate::spawn_options::SpawnOptions;
use crate::unchanged::Unchanged;

/// Longest packet, in bytes: below the kernel's default socket buffer.
const MAX_PACKET: usize = 160 * 1024;

/// The requests of plumb to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToKeeper {
    /// Start a program; its stdin, stdout and stderr come as descriptors with the packet.
    Spawn {
        /// Executable and arguments.
        argv: Vec<String>,
        /// Its working directory; None means the keeper's.
        cwd: Option<String>,
        /// Other options of its start.
        #[serde(default)]
        options: SpawnOptions,
    },
    /// Change a setting of the machine; undone at the end, whatever happens.
    Change {
        /// The setting to change.
        setting: SystemSetting,
        /// Its new value.
        to: String,
    },
    /// A plug-in is about to prepare the machine; have it undone at the end, whatever happens.
    Hold {
        /// The data that its undo needs.
        preparation: PluginPreparation,
    },
    /// The plug-in has undone it by itself.
    Release {
        /// Name of the preparation, as in `Hold`.
        name: String,
    },
    /// Undo the latest changes.
    Restore {
        /// So many are left.
        left: usize,
    },
    /// Kill a started program and all its descendants.
    Kill {
        /// Process id of the started program.
        pid: u32,
    },
    /// Remove this folder at the end, whatever happens.
    Own {
        /// Path of the folder.
        path: String,
    },
    /// Remove this folder now.
    Remove {
        /// Path of a folder that may be owned by the keeper.
        path: String,
    },
}

/// The keeper's answers, in order, except `Exited`, which comes at any time.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromKeeper {
    /// Answers `Spawn`: the program runs.
    Spawned {
        /// Its process id.
        pid: u32,
    },
    /// Answers `Spawn`: the program could not be started.
    NotSpawned {
        /// Why not, from the system.
        why: String,
        /// Whether the executable does not exist.
        missing: bool,
    },
    /// Answers `Own` and `Remove`.
    Noted,
    /// Answers `Change`: it was made.
    Changed {
        /// The changed setting.
        change: ChangeMade,
        /// Changes that are not undone.
        left: usize,
    },
    /// Answers `Hold` and `Release`.
    Holding {
        /// Changes that are not undone.
        left: usize,
    },
    /// Answers `Change` and `Hold`: nothing was changed, and why.
    Unchanged(Unchanged),
    /// Answers `Restore`: the latest changes are undone, or left with a reason.
    Settled {
        /// The outcome of each change that was not undone already.
        settled: Vec<Settled>,
        /// Changes that are not undone.
        left: usize,
    },
    /// A started process ended and was waited for.
    Exited(ProcessExit),
    /// Before all others: the keeper could not be set up, and ends.
    NotServing {
        /// The number of the system's error.
        errno: i32,
    },
}

/// Sends a document with descriptors.
pub fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let packet = serde_json::to_vec(message).map_err(io::Error::other)?;
    if packet.len() > MAX_PACKET {
        return Err(io::Error::other(format!("a message of {} bytes is too long", packet.len())));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(socket, &[io::IoSlice::new(&packet)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a document with descriptors; None at the end.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut packet = vec![0; MAX_PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [io::IoSliceMut::new(&mut packet)];
    // Without close-on-exec a program would inherit another's pipes, whose end would then never be seen.
    let received = recvmsg(socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            descriptors.extend(fds);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let message = serde_json::from_slice(&packet[..received.bytes]).map_err(io::Error::other)?;
    Ok(Some((message, descriptors)))
}
