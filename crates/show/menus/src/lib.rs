//! Menus on a terminal in which people make a suite, back and forth. The command line gives a [`Host`], which knows the
//! workloads and says what is wrong, and gets a draft.

mod entries;
mod fields;
mod form;
mod host;
mod menus;
mod screen;

pub use host::Host;
pub use menus::ask;
