//! `plumb doctor`: what is wrong with this machine, how small a change it can show, and what monitors cost.

pub mod audit;
pub mod diagnose;
pub mod monitors;
