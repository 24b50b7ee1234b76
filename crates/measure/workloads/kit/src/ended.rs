//! The output of a program that has ended, whatever it left running.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::process::{Command, Output, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};

/// Runs a program without input and returns its output as soon as it has ended itself.
///
/// [`Command::output`] reads two pipes to their ends, so it also waits for every process in the background that inherited
/// them: a server that a script starts would never let it return. Here both go to memory, and such a process can go on
/// writing.
///
/// # Errors
/// When the program can't be started, or the system has no memory for its output.
pub fn output(command: &mut Command) -> io::Result<Output> {
    output_for(command, &[])
}

/// The same for a program that reads `input`.
///
/// # Errors
/// Those of [`output`].
pub fn output_for(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let stdout = in_memory()?;
    let stderr = in_memory()?;
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    if input.is_empty() {
        command.stdin(Stdio::null());
    } else {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says why in its output.
        let _ = stdin.write_all(input);
    }
    let status = child.wait()?;
    Ok(Output { status, stdout: written(&stdout)?, stderr: written(&stderr)? })
}

fn in_memory() -> io::Result<File> {
    Ok(memfd_create(c"output", MemfdFlags::CLOEXEC)?.into())
}

/// The content of the file so far. The processes that write share its offset, which stays where it is.
fn written(file: &File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{output, output_for};

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn both_outputs_and_the_status_come_back() {
        let ended = output(&mut shell("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!((ended.status.code(), ended.stdout, ended.stderr), {
            (Some(3), b"out\n".to_vec(), b"err\n".to_vec())
        });
        assert_eq!(output_for(&mut shell("cat"), b"text").unwrap().stdout, b"text");
        assert_eq!(output(&mut shell("cat")).unwrap().stdout, b"");
        assert!(output(&mut Command::new("/nowhere")).is_err());
    }

    #[test]
    fn processes_in_the_background_are_not_waited_for() {
        let begun = Instant::now();
        let ended = output(&mut shell("sleep 20 & echo $!")).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10));
        let id = String::from_utf8(ended.stdout).unwrap();
        assert!(output(&mut shell(&format!("kill {id}"))).unwrap().status.success());
    }
}
