//! The installed OpenSSH: a server of our own on loopback, with throw-away keys, and a client that knows nothing else.

mod account;
mod algorithms;
mod client;
mod forward;
mod key_kind;
mod sshd;
mod tools;

pub use account::UserAccount;
pub use algorithms::Algorithms;
pub use client::{SshClient, agreed, isolate, last_line};
pub use forward::SshForward;
pub use key_kind::KeyKind;
pub use sshd::{ClientElsewhere, HOST_ALIAS, KNOWN_HOSTS, Listening, Serves, Sshd, known_host};
pub use tools::{OtherPrograms, SshTools};
