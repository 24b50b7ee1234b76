//! The pages of a store over HTTP/1.1, read-only and for few readers.

mod api;
mod body;
mod connection;
mod events;
mod guard;
mod limits;
mod request;
mod response;
mod route;
mod server;
mod shared;
#[cfg(test)]
mod tests;
mod timed;

pub use guard::ReaderToken;
pub use limits::HttpLimits;
pub use server::{HttpServer, ServeSettings};
