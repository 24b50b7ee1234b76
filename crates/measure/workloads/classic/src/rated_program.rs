//! A program that measures by itself and prints a rate; each process is a sample.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use plumb_protocol::{Batch, Failure, Instance, current_cpu, now_ns};
use plumb_workload_kit::ended;
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::processes::die_with_parent;

/// Reads the rate from the standard output of a process that took so many seconds.
pub(crate) type RateReader = Box<dyn Fn(&str, f64) -> Result<f64, Failure>>;

/// A program with its arguments, and how its figure is read.
pub(crate) struct RatedProgram {
    /// As errors call it.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// A variable of the environment, such as one with a password.
    pub(crate) variable: Option<(&'static str, String)>,
    pub(crate) read: RateReader,
    /// A folder of scripts, which goes with the program.
    pub(crate) folder: Option<Folder>,
}

/// What one process measured.
pub(crate) struct RatedProcess {
    pub(crate) rate: f64,
    begun_ns: u64,
    took_ns: u64,
}

impl RatedProgram {
    /// Runs one process to its end.
    ///
    /// # Errors
    /// If it can't be started, ends with an error, or prints no figure.
    pub(crate) fn once(&self) -> Result<RatedProcess, Failure> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.variable.clone()).stdin(Stdio::null());
        die_with_parent(&mut command);
        let begun_ns = now_ns();
        let output = ended::output(&mut command)
            .map_err(|error| Failure::io(format!("starting {}", self.name), &error))?;
        let took_ns = now_ns() - begun_ns;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().last().unwrap_or("it printed no message");
            return Err(Failure(format!("{} ended with {}: {last}", self.name, output.status)));
        }
        #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53")]
        let took_s = took_ns as f64 / 1e9;
        let rate = (self.read)(&String::from_utf8_lossy(&output.stdout), took_s)?;
        Ok(RatedProcess { rate, begun_ns, took_ns })
    }
}

impl Instance for RatedProgram {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once().map(drop)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &["rate"]
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for _ in iterations {
            let process = self.once()?;
            batch.record(process.begun_ns, process.took_ns, 1, current_cpu());
            batch.record_values(&[process.rate]);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.folder.take().map_or(Ok(()), |folder| folder.remove())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, RatedProgram};

    fn shell(script: &str) -> Result<f64, Failure> {
        let program = RatedProgram {
            name: "sh",
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            variable: Some(("FIGURE", "7".to_owned())),
            read: Box::new(|text, took_s| {
                assert!(took_s > 0.0);
                text.trim().parse().map_err(|_| Failure("sh printed no figure".to_owned()))
            }),
            folder: None,
        };
        program.once().map(|process| process.rate)
    }

    #[test]
    fn a_figure_is_read_and_an_error_has_the_last_words() {
        assert_eq!(shell("echo $FIGURE").unwrap(), 7.0);
        assert_eq!(shell("echo x").unwrap_err().0, "sh printed no figure");
        let why = shell("echo a >&2; echo b >&2; exit 3").unwrap_err().0;
        assert_eq!(why, "sh ended with exit status: 3: b");
    }
}
