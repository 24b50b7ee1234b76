//! Findings as a site: pages that read well without scripts, the same in a folder and over HTTP.
//!
//! Every page is made here whole, with all its tables; the script in `plumb.js` draws the charts and lets
//! tables be sorted and searched. Pages lie flat in one folder and know each other by [`names`] alone.

mod anchors;
mod answer;
pub mod assets;
mod compare;
mod curves;
mod figure;
mod fleet;
mod frame;
mod history;
mod html;
mod index;
mod live;
mod machine;
mod method;
mod monitors;
pub mod names;
mod parts;
mod previous_run;
mod results;
mod run;
mod script;
mod search;
mod workload;

pub use compare::compare_page;
pub use fleet::fleet_page;
pub use frame::{Page, PageSubject, Rendered};
pub use history::{histories_page, history_page};
pub use index::{RunLine, VerdictCounts, index_page};
pub use live::{entrance_page, live_page, message_page};
pub use machine::{MachineAtRun, machine_page};
pub use method::method_page;
pub use monitors::monitors_page;
pub use names::LinkedPages;
pub use run::run_page;
pub use search::SearchIndex;
pub use workload::{workload_page, workloads};
