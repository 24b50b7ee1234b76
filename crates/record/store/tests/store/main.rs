//! The store from outside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conformance;
mod counters;
mod derived;
mod events;
mod files;
mod fleets;
mod folder;
mod layers;
mod merge;
mod ops;
mod shell;
