//! A classic tool's command line, in plumb's terms.

/// The request of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// Parameters of the suite's workload, as users type them.
    pub settings: Vec<(&'static str, String)>,
    /// The target directory.
    pub dir: Option<String>,
    /// The seed of the run's random numbers.
    pub seed: Option<u32>,
    /// The exact number of processes.
    pub processes: Option<u64>,
    /// The name of the machine.
    pub name: Option<String>,
}

impl Arguments {
    /// Adds a parameter of the workload.
    pub(crate) fn set(&mut self, name: &'static str, value: impl ToString) {
        self.settings.push((name, value.to_string()));
    }
}
