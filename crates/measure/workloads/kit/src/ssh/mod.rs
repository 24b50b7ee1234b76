//! The installed OpenSSH: a server of our own on loopback, with throw-away keys, and a client that knows nothing else.

mod account;
mod client;
mod key_kind;
mod sshd;
mod tools;

pub use account::UserAccount;
pub use client::{SshClient, agreed, isolate, last_line};
pub use key_kind::KeyKind;
pub use sshd::{ClientElsewhere, HOST_ALIAS, KNOWN_HOSTS, Listening, Serves, Sshd, known_host};
pub use tools::SshTools;
