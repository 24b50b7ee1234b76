//! A C program next to a copy that is linked again: the same instructions at other addresses.

use std::path::{Path, PathBuf};

use plumb_model::{PlannedPoint, Settings, Value};
use plumb_relink::{CompiledProgram, Layout, RelinkError, TEST_PROGRAM};

use crate::error::Result;
use crate::planning::command::{self, TypedCommand};

/// The folder of sources and objects.
const FOLDER: &str = "layout";

/// What both sides are called in their own argv[0], with the rounds of about 25 ms.
const COMMAND_LINE: &str = "layout-test 20";

/// Builds both sides in a scratch folder, under names of one length.
///
/// # Errors
/// When there is no compiler, or it fails.
pub fn build(scratch: &Path, seed: u64) -> std::result::Result<[PathBuf; 2], RelinkError> {
    let program = CompiledProgram::compile(&scratch.join(FOLDER), &TEST_PROGRAM)?;
    let files = ["side-000", "side-001"].map(|name| scratch.join(name));
    program.link(Layout::AsGiven, &files[0])?;
    program.link(Layout::Seeded(seed), &files[1])?;
    Ok(files)
}

/// The points that start both sides.
///
/// # Errors
/// When a command can't be a point.
pub fn sides([first, again]: &[PathBuf; 2]) -> Result<Vec<PlannedPoint>> {
    Ok(vec![side("first link", first)?, side("linked again", again)?])
}

fn side(title: &str, file: &Path) -> Result<PlannedPoint> {
    let program = Value::Text(file.to_string_lossy().into_owned());
    let settings: Settings = [("program".to_owned(), program)].into();
    let typed = TypedCommand::new(COMMAND_LINE, false)?;
    let planned = command::point(&typed, false, settings, &[])?;
    Ok(PlannedPoint { title: Some(title.to_owned()), ..planned })
}
