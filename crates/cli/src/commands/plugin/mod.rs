//! `plumb plugin check`: talks to a plug-in as plumb would, and says what is wrong with it.

pub mod check;
mod checklist;
mod roles;
mod workload;
