//! A real Slurm cluster on loopback: a controller and three nodes, which are all this machine.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::common::processes::{describe, family, marked, signal, wait_for};
use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{PATIENCE, place};

/// The nodes; `nodes` in the configuration names them.
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// A running cluster, and a place whose plumb uses it.
pub struct SlurmCluster {
    pub place: TestEnvironment,
    daemons: Vec<Child>,
}

impl SlurmCluster {
    /// With all nodes idle.
    pub fn start() -> Self {
        let place = place();
        let root = place.root().display().to_string();
        for folder in ["munge", "state", "log", "spool"] {
            fs::create_dir(place.root().join(folder)).unwrap();
        }
        for node in NODES {
            fs::create_dir(place.root().join("spool").join(node)).unwrap();
        }
        let key: Vec<u8> = fs::read("/proc/sys/kernel/random/uuid").unwrap().repeat(4);
        fs::write(place.root().join("munge/key"), key).unwrap();
        let private = Command::new("chmod").args(["600", &format!("{root}/munge/key")]).status();
        assert!(private.unwrap().success());
        fs::write(place.root().join("slurm.conf"), configuration(&root)).unwrap();
        let mut cluster = Self { place, daemons: Vec::new() };
        let munge = ["key", "socket", "pid", "log", "seed"].map(|file| {
            let option = if file == "socket" { "socket" } else { &format!("{file}-file") };
            format!("--{option}={root}/munge/{file}")
        });
        let munge: Vec<&str> = munge.iter().map(String::as_str).collect();
        cluster.daemon("munged", &[&["--foreground"], &munge[..]].concat());
        let socket = cluster.place.root().join("munge/socket");
        assert!(wait_for(PATIENCE, || socket.exists().then_some(())).is_some(), "no munged");
        cluster.daemon("slurmctld", &["-D"]);
        for node in NODES {
            cluster.daemon("slurmd", &["-D", "-N", node]);
        }
        let idle = wait_for(PATIENCE, || cluster.are_all_idle());
        assert!(idle.is_some(), "{}", cluster.slurm("sinfo", "-N -l"));
        cluster
    }

    /// Whether all nodes respond, and wait for jobs.
    pub fn are_all_idle(&self) -> Option<()> {
        (self.slurm("sinfo", "-h -N -o %T").trim() == "idle\nidle\nidle").then_some(())
    }

    /// Starts a program that ends with this test, however that ends.
    fn daemon(&mut self, program: &str, arguments: &[&str]) {
        let root = self.place.root();
        let log = fs::File::create(root.join("log").join(format!("{program}.out"))).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let child = self
            .place
            .program("setpriv")
            .args(["--pdeathsig", "KILL", program])
            .args(arguments)
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .env("SLURM_CONF", root.join("slurm.conf"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.daemons.push(child.unwrap());
    }

    /// What one of Slurm's commands prints.
    pub fn slurm(&self, program: &str, arguments: &str) -> String {
        let mut command = self.place.program(program);
        command.args(arguments.split(' ').filter(|word| !word.is_empty()));
        command.env("SLURM_CONF", self.place.root().join("slurm.conf"));
        ran(&mut command).unwrap().stdout
    }

    /// plumb on the login node.
    pub fn plumb(&self, arguments: &str) -> Command {
        let mut command = self.place.marked(arguments);
        command.env("SLURM_CONF", self.place.root().join("slurm.conf"));
        // The jobs inherit it; without it, root's would use the folder of the whole machine.
        command.env("PLUMB_JOURNALS", self.place.root().join("journals"));
        command
    }

    /// What plumb prints and how it ends.
    pub fn run(&self, arguments: &str) -> ProgramOutput {
        ran(&mut self.plumb(arguments)).unwrap()
    }

    /// What jobs left on the nodes.
    pub fn left_on_nodes(&self) -> Vec<String> {
        let files = fs::read_dir(self.place.tmp()).unwrap().flatten();
        files.map(|entry| entry.path().display().to_string()).collect()
    }
}

impl Drop for SlurmCluster {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            for (pid, _) in family(daemon.id()) {
                let _ = signal("KILL", pid);
            }
            let _ = daemon.wait();
        }
        // The batches of nodes whose daemon is gone go on: their stepd is no descendant of it.
        let root = self.place.root().display().to_string();
        for pid in marked("", &root) {
            let _ = signal("KILL", pid);
        }
        let gone = wait_for(PATIENCE, || marked("", &root).is_empty().then_some(()));
        if gone.is_none() && !std::thread::panicking() {
            let left: Vec<String> = marked("", &root).into_iter().map(describe).collect();
            panic!("still running: {left:?}");
        }
    }
}

/// A cluster without services of the system: no control groups, no accounting, nodes told apart by their ports.
fn configuration(root: &str) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    let user = Command::new("id").arg("-un").output().unwrap();
    let user = String::from_utf8(user.stdout).unwrap();
    let user = user.trim();
    let mut lines = vec![
        "ClusterName=test".to_owned(),
        format!("SlurmctldHost={host}(127.0.0.1)"),
        format!("SlurmctldPort={}", free_port()),
        format!("SlurmUser={user}"),
        format!("SlurmdUser={user}"),
        "AuthType=auth/munge".to_owned(),
        format!("AuthInfo=socket={root}/munge/socket"),
        "CredType=cred/munge".to_owned(),
        format!("StateSaveLocation={root}/state"),
        format!("SlurmdSpoolDir={root}/spool/%n"),
        format!("SlurmctldPidFile={root}/spool/controller.pid"),
        format!("SlurmdPidFile={root}/spool/%n.pid"),
        format!("SlurmctldLogFile={root}/log/controller.log"),
        format!("SlurmdLogFile={root}/log/%n.log"),
        "ProctrackType=proctrack/pgid".to_owned(),
        "TaskPlugin=task/none".to_owned(),
        "JobAcctGatherType=jobacct_gather/none".to_owned(),
        "MpiDefault=none".to_owned(),
        "ReturnToService=2".to_owned(),
        "SelectType=select/cons_tres".to_owned(),
        "SelectTypeParameters=CR_Core".to_owned(),
        "SlurmdParameters=config_overrides".to_owned(),
        "SlurmdTimeout=10".to_owned(),
        "SchedulerParameters=sched_interval=1,batch_sched_delay=0".to_owned(),
    ];
    for node in NODES {
        lines.push(format!(
            "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=2 State=UNKNOWN",
            free_port()
        ));
    }
    lines.push("PartitionName=main Nodes=ALL Default=YES State=UP".to_owned());
    lines.join("\n") + "\n"
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
