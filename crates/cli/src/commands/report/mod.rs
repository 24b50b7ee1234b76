//! `plumb report`: pages, or one chart, as files.

pub mod charts;
mod pages;
