//! The trait of a tool, and how it becomes a workload.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use plumb_classics::ImportedSeries;
use plumb_model::{AuditClass, Description, Metric, Parameter, Ready, Requirement, Role, SampleIs};
use plumb_protocol::{Failure, Held, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::workload;
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::memory_floor;
use plumb_workload_kit::spawn::{
    OutputPipe, SpawnedProgram, VALUES_OF_TOOLS, find_program, metrics,
};

use crate::named::ToolNames;
use crate::runs::{Settling, ToolRun};

/// A program that was built for this.
pub(crate) struct Built {
    pub path: PathBuf,
    /// What it lies in, which goes with it.
    pub folder: Folder,
}

/// How one process of a tool is started.
#[derive(Default)]
pub(crate) struct Call {
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// A variable of its environment: `NAME=VALUE`.
    pub variable: Option<String>,
    /// Whether it says its figure on stderr.
    pub on_stderr: bool,
    /// The folder in which it is started; None for that of plumb.
    pub folder: Option<String>,
    /// What is started instead of the tool: what the tool has built.
    pub built: Option<Built>,
    /// The CPU that it is kept to; None for all.
    pub cpu: Option<usize>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

impl Call {
    /// With these arguments.
    pub(crate) fn with<S: Into<OsString>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self { arguments: arguments.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// A tool that is started once a sample, and prints one figure.
pub(crate) trait Tool: Sync {
    /// What does not depend on a setting.
    fn named(&self) -> ToolNames;

    /// The figure that it prints, as the workload of plumb calls it that measures the same.
    fn metric(&self) -> Metric;

    /// Its settings, with the names and values of that workload.
    fn parameters(&self) -> Vec<Parameter>;

    /// Adds to the description: roles, fixture.
    fn describe(&self, description: Description) -> Description {
        description
    }

    /// The version of the program at `path`.
    ///
    /// # Errors
    /// When it does not report: then it is another program.
    fn version(&self, path: &Path) -> Result<String, StartError>;

    /// How it is started with these settings, given its version.
    ///
    /// # Errors
    /// When it can't run with them here.
    fn call(&self, start: &Start, version: &str) -> Result<Call, StartError>;

    /// Whether this of what it printed is the test that was asked for.
    fn is_asked(&self, _start: &Start, _series: &ImportedSeries) -> bool {
        true
    }

    /// The factor for the figure that it prints.
    fn times(&self, _start: &Start) -> f64 {
        1.0
    }

    /// Which of the passes that it prints do not count; None if all do.
    fn settling(&self, _start: &Start) -> Option<Settling> {
        None
    }

    /// Starts the server of the tool, as [`Workload::start_server`] does.
    fn start_server(
        &self,
        _path: &Path,
        _start: &Start,
    ) -> Result<(Ready, Box<dyn Held>), StartError> {
        Err(StartError::Failed("this tool has no server".into()))
    }

    /// As [`Workload::prepare`], with the program's path.
    fn prepare(&self, _path: &Path, _start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        Err(StartError::Failed("this tool has no fixture".into()))
    }
}

/// A tool as a workload.
pub(crate) struct Classic<T>(pub T);

impl<T: Tool> Classic<T> {
    fn path(&self) -> Result<std::path::PathBuf, StartError> {
        let named = self.0.named();
        find_program(named.program).map_err(|_| named.missing())
    }
}

impl<T: Tool + Clone + Send + 'static> Workload for Classic<T> {
    fn describe(&self) -> Description {
        let named = self.0.named();
        let mut all = vec![self.0.metric()];
        all.extend(metrics(VALUES_OF_TOOLS));
        self.0.describe(Description {
            roles: vec![Role::Workload],
            parameters: self.0.parameters(),
            metrics: all,
            requirements: vec![Requirement {
                needs: named.program.into(),
                why: "plumb measures the installed tool".into(),
                fix: named.fix(),
            }],
            sample_is: SampleIs::Process,
            timeout_s: Some(600),
            audit_class: Some(AuditClass::Process),
            ..workload(named.id, named.summary)
        })
    }

    fn manual(&self) -> &'static str {
        self.0.named().manual
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if start.far_address().is_some() {
            let program = self.0.named().program;
            return Err(StartError::unsupported(
                format!("{program}'s server accepts any client, so it listens only on loopback"),
                "leave out --to, or measure network.tcp",
            ));
        }
        self.0.start_server(&self.path()?, start)
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        self.0.prepare(&self.path()?, start)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let named = self.0.named();
        let path = self.path()?;
        let version = self.0.version(&path)?;
        let call = self.0.call(start, &version)?;
        let output = OutputPipe::new()?;
        let started = call.built.as_ref().map_or(&path, |built| &built.path);
        let argv = argv(started, &call)?;
        let program = find_program(&argv[0].to_string_lossy())?;
        let pipe = Some(output.end());
        let program = if call.on_stderr {
            SpawnedProgram::with_stderr(&program, &argv, pipe, start.seed)?
        } else {
            SpawnedProgram::new(&program, &argv, pipe, start.seed)?
        };
        let before = CpuSet::current()?;
        let mut ready = Ready { notes: call.notes.clone(), ..Ready::default() };
        ready.notes.push(format!("program {}", started.display()));
        ready.notes.push(memory_floor::note(program.rehearse()));
        ready.versions.insert(named.program.into(), version.clone());
        let tool = self.0.clone();
        let asked = start.clone();
        let is_asked = Box::new(move |series: &ImportedSeries| tool.is_asked(&asked, series));
        let runs = ToolRun {
            program,
            output,
            named,
            version,
            is_asked,
            times: self.0.times(start),
            settling: self.0.settling(start),
            before,
            _folder: call.built.map(|built| built.folder),
        };
        if let Some(cpu) = call.cpu {
            CpuSet::only(cpu).apply()?;
        }
        Ok(StartedWorkload { instance: Box::new(runs), ready })
    }
}

/// Program and arguments; if a variable or a folder is set, `env` sets it and becomes the program.
fn argv(path: &Path, call: &Call) -> Result<Vec<OsString>, Failure> {
    let mut argv = Vec::new();
    if call.variable.is_some() || call.folder.is_some() {
        argv.push(find_program("env")?.into_os_string());
        argv.extend(call.folder.iter().map(|folder| format!("--chdir={folder}").into()));
        argv.extend(call.variable.iter().map(Into::into));
    }
    argv.push(path.as_os_str().to_owned());
    argv.extend(call.arguments.iter().cloned());
    Ok(argv)
}
