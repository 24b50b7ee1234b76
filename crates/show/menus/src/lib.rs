//! Menus on a terminal in which people make a suite, back and forth. The command line gives a [`Planner`], which knows the
//! workloads and says what is wrong, and gets a draft.

mod entries;
mod fields;
mod form;
mod menus;
mod planner;
mod screen;

pub use menus::ask;
pub use planner::Planner;
