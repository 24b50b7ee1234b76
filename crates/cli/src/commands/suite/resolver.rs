//! Drafts of suites, resolved as `run` would.

use std::io::{self, ErrorKind, IsTerminal};

use plumb_menus::Planner;
use plumb_model::Description;
use plumb_suite::Suite;
use plumb_text::Colour;

use crate::commands::suite::file::refuse_file;
use crate::error::{CommandError, Exit, Result};
use crate::interrupt;
use crate::measuring::setup::Setup;
use crate::planning::arguments::PrepareArgs;
use crate::planning::monitors::monitors;
use crate::planning::{catalogue, dry_run, points, prepare};
use crate::ui::Ui;

/// What knows the workloads, this machine and its user.
pub struct Resolver<'r> {
    setup: Setup,
    ui: &'r Ui,
    force: bool,
}

impl<'r> Resolver<'r> {
    /// Starts the keeper, which asks plug-ins what they are; `force` takes files that exist.
    pub fn start(ui: &'r Ui, force: bool) -> Result<Self> {
        Ok(Self { setup: Setup::start()?, ui, force })
    }
}

/// Whether there is somebody to ask.
pub fn has_terminal(ui: &Ui) -> bool {
    ui.is_live() && !ui.wants_json() && io::stdin().is_terminal()
}

impl Planner for Resolver<'_> {
    type Error = CommandError;

    fn duration(&mut self, draft: &Suite) -> Result<String> {
        let all = self.setup.all_threads();
        let keeper = &mut self.setup.keeper;
        // As `plumb run` will read it: what is written here is then known to be readable.
        let mut named = points::resolve_suite(keeper, &draft.name, &draft.toml(), all)?;
        points::companions(keeper, &named.with(&[]), all)?;
        prepare::for_named(keeper, &named, &PrepareArgs::default(), all)?;
        for suite in &named.suites {
            monitors("--monitor", suite.monitors.clone())?;
        }
        dry_run::suite_duration(&mut named)
    }

    fn workloads(&mut self) -> Vec<Description> {
        let builtin = plumb_workloads::builtin().into_iter().map(|workload| workload.describe());
        let (plugins, _) = catalogue::all_plugins(&mut self.setup.keeper);
        builtin.chain(plugins.into_iter().map(|entry| entry.description)).collect()
    }

    fn describe(&mut self, workload: &str) -> Result<Description> {
        Ok(catalogue::find(&mut self.setup.keeper, workload)?.description)
    }

    fn check_file(&self, file: &str) -> Result<()> {
        refuse_file(file, self.force)
    }

    fn told(&self, error: CommandError) -> Result<String> {
        match error.exit() {
            Exit::Interrupted | Exit::Bug => Err(error),
            _ => Ok(self.ui.error_text(&error)),
        }
    }

    fn lost(&self, error: io::Error) -> CommandError {
        if error.kind() == ErrorKind::Interrupted || interrupt::is_interrupted() {
            return CommandError::interrupted("interrupted; the suite was not saved");
        }
        CommandError::file(format!("can't prompt on this terminal: {error}"))
    }

    fn has_colours(&self) -> bool {
        self.ui.talk_terminal().colour != Colour::Plain
    }
}
