//! Commands that an agent can carry out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::ui::Ui;

/// A command that measures on the machine where it runs, whoever stores the results.
pub trait AgentCommand {
    /// Replaces suites that are files of the near end by copies.
    fn read_suites_from(&mut self, _files: &BTreeMap<String, PathBuf>) {}

    /// The job that the arguments describe; None if there is nothing to measure.
    ///
    /// # Errors
    /// When the arguments name what this machine does not have.
    fn job<'j>(
        &'j self,
        setup: &mut Setup,
        store: Option<&'j Path>,
        ui: &Ui,
    ) -> Result<Option<MeasuringJob<'j>>>;
}
