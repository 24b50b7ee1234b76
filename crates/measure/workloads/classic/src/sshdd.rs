//! `classic.sshdd`: `dd | ssh HOST 'cat >/dev/null'`, with the login taken out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumb_model::{AuditClass, Better, Description, Ready, Requirement, Role, SampleIs};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload, current_cpu,
    now_ns,
};
use plumb_workload_kit::declare::{between, bytes, choice, reported, workload};
use plumb_workload_kit::processes::die_with_parent;
use plumb_workload_kit::spawn::find_program;
use plumb_workload_kit::ssh::{
    Listening, OtherPrograms, Serves, SshClient, SshTools, Sshd, UserAccount,
};

const MIB: u64 = 1 << 20;
/// What the shorter of two transfers carries: enough for the session to reach its speed.
const SHORT_MIB: u64 = 64;
/// What the session runs.
const SINK: &str = "cat >/dev/null";

/// The workload `classic.sshdd`: its parameters and metrics, and how it starts.
pub(crate) struct SshDd;

impl Workload for SshDd {
    fn describe(&self) -> Description {
        let ciphers = [
            "aes128-gcm@openssh.com",
            "aes256-gcm@openssh.com",
            "chacha20-poly1305@openssh.com",
            "aes128-ctr",
            "aes256-ctr",
        ];
        let size = bytes("size", 1 << 30, "how much more the longer transfer carries");
        Description {
            roles: vec![Role::Workload],
            parameters: vec![
                choice("cipher", &ciphers, "cipher of the session (-c)"),
                choice(
                    "mac",
                    &["hmac-sha2-256", "umac-64@openssh.com"],
                    "message authentication code (-m)",
                ),
                between(256 << 20, 64 << 30, size),
            ],
            metrics: vec![reported(
                "throughput",
                "B/s",
                Better::Higher,
                "difference in bytes of two transfers over their difference in time",
            )],
            requirements: vec![Requirement {
                needs: "dd, ssh and sshd".into(),
                why: "plumb measures the installed programs".into(),
                fix: "apt install openssh-server openssh-client".into(),
            }],
            fixture: Some(Vec::new()),
            sample_is: SampleIs::Process,
            timeout_s: Some(600),
            audit_class: Some(AuditClass::Process),
            ..workload("classic.sshdd", "dd | ssh HOST 'cat >/dev/null', without the login")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("sshdd.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let tools = SshTools::find(OtherPrograms::default())?;
        let user = UserAccount::current()?;
        let serves = (Serves::Commands, &Listening::default());
        let sshd = Sshd::start(Path::new(&start.scratch), &tools, &user, serves)?;
        let endpoints = [
            ("server", sshd.address().to_string()),
            ("folder", sshd.folder().display().to_string()),
        ];
        let endpoints =
            endpoints.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new(sshd)))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let tools = SshTools::find(OtherPrograms::default())?;
        let (version, _) = tools.client_versions()?;
        let folder = PathBuf::from(endpoint(start, "folder")?);
        let server = endpoint(start, "server")?
            .parse()
            .map_err(|_| Failure("sshd reported no address".to_owned()))?;
        let client = SshClient::of_folder(tools.ssh, server, folder)?;
        let transfers = SshTransfers {
            dd: find_program("dd")?,
            client,
            cipher: start.text("cipher").to_owned(),
            mac: start.text("mac").to_owned(),
            more_mib: start.integer("size") / MIB,
        };
        let versions = [("openssh".to_owned(), version)].into();
        let ready = Ready { versions, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(transfers), ready })
    }
}

fn endpoint<'s>(start: &'s Start, name: &str) -> Result<&'s str, StartError> {
    let found = start.endpoints.get(name).map(String::as_str);
    found.ok_or_else(|| StartError::Failed("no server was started".to_owned()))
}

/// Two transfers a sample, of different sizes.
struct SshTransfers {
    dd: PathBuf,
    client: SshClient,
    cipher: String,
    mac: String,
    /// What the longer one carries more than the shorter.
    more_mib: u64,
}

impl SshTransfers {
    /// One transfer, from the start of dd to the end of ssh, in nanoseconds.
    fn transfer(&self, mebibytes: u64) -> Result<u64, Failure> {
        let mut dd = Command::new(&self.dd);
        dd.args(["if=/dev/zero", "bs=1M", &format!("count={mebibytes}")]);
        dd.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        die_with_parent(&mut dd);
        let mut ssh = self.client.command(&["-c", &self.cipher, "-m", &self.mac]);
        ssh.arg(SINK).stdout(Stdio::null()).stderr(Stdio::null());
        let begun = now_ns();
        let mut source = dd.spawn().map_err(|error| Failure::io("starting dd", &error))?;
        let pipe = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let ended = ssh.stdin(pipe).status();
        let took = now_ns() - begun;
        let of_source = source.wait().map_err(|error| Failure::io("waiting for dd", &error))?;
        let status = ended.map_err(|error| Failure::io("starting ssh", &error))?;
        if status.success() && of_source.success() {
            return Ok(took);
        }
        Err(Failure(format!("dd ended with {of_source}, ssh with {status}")))
    }

    /// Bytes per second without the login, which both transfers have.
    #[expect(clippy::cast_precision_loss, reason = "bytes and times stay far below 2^53")]
    fn throughput(&self) -> Result<f64, Failure> {
        let short_ns = self.transfer(SHORT_MIB)?;
        let long_ns = self.transfer(SHORT_MIB + self.more_mib)?;
        let more_ns = long_ns.checked_sub(short_ns).filter(|more| *more > 0).ok_or_else(|| {
            Failure("the longer transfer took no longer: set a larger `size`".to_owned())
        })?;
        Ok((self.more_mib * MIB) as f64 / (more_ns as f64 / 1e9))
    }
}

impl Instance for SshTransfers {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.throughput().map(drop)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &["throughput"]
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for _ in iterations {
            let begun = now_ns();
            let throughput = self.throughput()?;
            batch.record(begun, now_ns() - begun, 1, current_cpu());
            batch.record_values(&[throughput]);
        }
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}
