//! What is written of runs and comparisons: charts, histories, links, scorecards. One binary, because each would
//! compile and link the same libraries once more.

mod charts;
mod history;
mod links;
mod ranks;
mod scorecard;
