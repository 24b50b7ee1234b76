//! Findings as a site: pages that read well without scripts, the same in a folder and over HTTP.
//!
//! Every page is made here whole, with all its tables; the script in `plumb.js` draws the charts and lets
//! tables be sorted and searched. Pages lie flat in one folder and know each other by [`names`] alone.

mod answer;
pub mod assets;
mod figure;
mod frame;
mod html;
pub mod names;
mod parts;
mod run;
mod workload;

pub use answer::Lately;
pub use frame::{Kind, Page, Rendered};
pub use run::run_page;
pub use workload::{workload_page, workloads};
