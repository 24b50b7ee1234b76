//! Prints the critical values that `plumb-stats` commits, as the rows of `changes/table.rs`.

use plumb_simulate::tables::{DRAWS, critical_values};
use plumb_stats::changes::CriticalValues;

/// Takes about a minute.
pub fn run() -> Result<(), String> {
    for table in [CriticalValues::History, CriticalValues::WarmUp] {
        println!("{table:?}");
        for &(n, _) in table.rows() {
            let [twentieth, hundredth, thousandth] = critical_values(table, n, DRAWS);
            println!("    ({n}, [{twentieth:.3}, {hundredth:.3}, {thousandth:.3}]),");
        }
    }
    Ok(())
}
