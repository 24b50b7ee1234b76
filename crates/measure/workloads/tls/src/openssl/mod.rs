//! The system's libssl (OpenSSL 3 or later) as a client and a server of TLS, loaded when a workload asks for it.
//!
//! Names and arguments follow OpenSSL's manual pages (ssl(7)). A library stays loaded until the process ends: OpenSSL
//! registers exit handlers, which must not be unmapped before they run.

mod connection;
mod context;
mod functions;
mod library;

pub(crate) use connection::{TlsConnection, TlsSession};
pub(crate) use context::TlsContext;
pub(crate) use library::{Libssl, OpensslError};
