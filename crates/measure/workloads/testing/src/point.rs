//! A point of a workload: set up, started, or refused.

use std::path::Path;

use plumb_model::{Facts, Point, Ready, Role, Settings, Value};
use plumb_protocol::{Held, Start, StartError, StartedWorkload, Workload};

/// A workload with settings, and what its invocations share. Dropping it ends that.
pub struct TestPoint<'w> {
    workload: &'w dyn Workload,
    /// What the workload is started with.
    pub start: Start,
    /// The reply of the fixture.
    pub fixture: Ready,
    held: Vec<Box<dyn Held>>,
}

/// Why a workload does not take these settings.
///
/// # Panics
/// If it takes them.
#[must_use]
pub fn refused_settings(
    family: &[&'static dyn Workload],
    id: &str,
    settings: &[(&str, &str)],
) -> String {
    let Some(workload) = family.iter().find(|workload| workload.describe().id == id) else {
        panic!("{id} is not listed")
    };
    match Point::new(&workload.describe(), &typed(settings), 2) {
        Ok(point) => panic!("{id} takes {:?}", point.settings),
        Err(error) => error.to_string(),
    }
}

/// Settings as they are typed.
fn typed(settings: &[(&str, &str)]) -> Settings {
    let typed = settings.iter();
    typed.map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned()))).collect()
}

impl<'w> TestPoint<'w> {
    /// The workload of this id among those of a family, with settings as they are typed.
    #[must_use]
    pub fn new(
        family: &'w [&'static dyn Workload],
        id: &str,
        settings: &[(&str, &str)],
    ) -> TestPoint<'w> {
        let found = family.iter().find(|workload| workload.describe().id == id);
        let Some(workload) = found else { panic!("{id} is not listed") };
        let point = Point::new(&workload.describe(), &typed(settings), 2)
            .unwrap_or_else(|error| panic!("{id} {settings:?}: {error:?}"));
        let start = Start {
            role: Role::Workload,
            params: point.settings,
            dir: "/".into(),
            scratch: String::new(),
            seed: 42,
            endpoints: [].into(),
            facts: facts(),
            extra_work: None,
        };
        TestPoint { workload: *workload, start, fixture: Ready::default(), held: Vec::new() }
    }

    /// In this folder: its target directory, and its scratch folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.start.dir = folder.display().to_string();
        self.start.scratch.clone_from(&self.start.dir);
        self
    }

    /// Lays out the fixture.
    ///
    /// # Errors
    /// Those of the workload.
    pub fn prepare(&mut self) -> Result<(), StartError> {
        let (ready, held) = self.workload.prepare(&self.start)?;
        self.start.endpoints.extend(ready.endpoints.clone());
        self.fixture = ready;
        self.held.push(held);
        Ok(())
    }

    /// Starts the far end.
    ///
    /// # Errors
    /// Those of the workload.
    pub fn serve(&mut self) -> Result<(), StartError> {
        let (ready, held) = self.workload.start_server(&self.start)?;
        self.start.endpoints.extend(ready.endpoints);
        self.held.push(held);
        Ok(())
    }

    /// Starts an invocation.
    ///
    /// # Errors
    /// Those of the workload.
    pub fn try_start(&self) -> Result<StartedWorkload, StartError> {
        self.workload.start(&self.start)
    }

    /// Starts an invocation, which must work.
    #[must_use]
    pub fn started(&self) -> StartedWorkload {
        self.try_start().unwrap_or_else(|error| panic!("{:?}: {error:?}", self.start.params))
    }

    /// Ends fixture and far end, as at the end of a run.
    pub fn clean(&mut self) {
        for held in self.held.drain(..) {
            held.clean().unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

/// A small machine with two CPUs.
fn facts() -> Facts {
    Facts {
        cpus: vec![0, 1],
        l1d_bytes: 32 << 10,
        l2_bytes: 1 << 20,
        llc_bytes: 32 << 20,
        memory_bytes: 1 << 30,
        page_bytes: 4096,
        ..Facts::default()
    }
}

/// Why it is unsupported, and what would mend it. Anything else is wrong.
#[must_use]
pub fn unsupported<T>(what: &str, result: Result<T, StartError>) -> (String, String) {
    match result {
        Err(StartError::Unsupported { why, fix }) => (why, fix),
        Err(StartError::Failed(why)) => panic!("{what} failed: {why}"),
        Ok(_) => panic!("{what} started"),
    }
}

/// Why it failed to start. Anything else is wrong.
#[must_use]
pub fn refusal<T>(what: &str, result: Result<T, StartError>) -> String {
    match result {
        Err(StartError::Failed(why)) => why,
        Err(StartError::Unsupported { why, .. }) => panic!("{what} is unsupported: {why}"),
        Ok(_) => panic!("{what} started"),
    }
}
