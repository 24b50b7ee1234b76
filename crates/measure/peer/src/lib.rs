//! The far end that a user started (`plumb peer`), and the way to it (`--to peer:HOST`): the protocol's lines inside an
//! authenticated channel.
//!
//! Both ends have one key of 256 bits in a file. Each derives from it an Ed25519 key for either end ([`PeerKey`]), and shows its
//! own as a raw public key (RFC 7250) in the handshake of TLS 1.3 (RFC 8446), which rustls carries out: whoever has not the
//! shared key can't sign, and reads nothing. TLS and not Noise, as HTTPS needs rustls anyway: one library of that kind, with
//! the cryptography of `ring`, which plumb has.
//!
//! A connection is one thing for one run: it *stands*, and says what machine this is, or it is the three pipes of one program,
//! `plumb worker ID`, which may be a server and nothing else. When it ends, the program ends; when the one that stands ends, all
//! of its run end.

mod carry;
mod channel;
mod client;
mod door;
mod identity;
mod key;
mod program;
mod server;

pub use channel::proves;
pub use client::{PeerPipes, reach};
pub use door::PeerLimits;
pub use key::{KEY_FILE, PeerKey};
pub use server::{PeerSettings, serve};
