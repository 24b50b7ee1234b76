//! `plumb fleet run` with a real Slurm: job arrays, named nodes, and what goes wrong.

use std::fs;

use serde_json::Value;

use crate::common::processes::wait_for;
use crate::common::{ProgramOutput, ran};
use crate::slurm_cluster::SlurmCluster;
use crate::{PATIENCE, parsed, place};

/// Options of a short run of one point. All nodes are one machine, so the measuring lock has to keep their runs apart.
const SHORT: &str = "-- --prepare none --monitor none --max-invocations 2 --invocation-time 20ms";

/// The machines of a document, each with its state.
fn states(status: &Value) -> Vec<(&str, &str)> {
    let machines = status["machines"].as_array().unwrap();
    machines
        .iter()
        .map(|machine| (machine["name"].as_str().unwrap(), machine["state"].as_str().unwrap()))
        .collect()
}

/// Collects until this many machines have an end.
#[track_caller]
fn collected(cluster: &SlurmCluster, ended: usize) -> ProgramOutput {
    let all = wait_for(PATIENCE, || {
        let ran = cluster.run("fleet collect --json -q");
        let status = parsed(&ran);
        let open = ["waiting", "pending", "running", "ended"];
        let over = states(&status).iter().filter(|(_, state)| !open.contains(state)).count();
        (over == ended).then_some(ran)
    });
    all.unwrap_or_else(|| panic!("{}", cluster.run("fleet status").stdout))
}

#[test]
fn slurm_measures_arrays_and_named_nodes() {
    let cluster = SlurmCluster::start();
    an_array_is_submitted_and_collected(&cluster);
    each_node_is_measured_and_those_out_of_service_are_named(&cluster);
    jobs_that_fail_or_are_cancelled_are_named(&cluster);
    a_store_that_is_damaged_is_measured_again(&cluster);
    what_slurm_refuses_is_reported_in_its_words(&cluster);
    assert!(wait_for(PATIENCE, || cluster.are_all_idle()).is_some());
    // A job that was killed may leave its folder; these were not.
    assert_eq!(cluster.left_on_nodes(), Vec::<String>::new());
}

fn an_array_is_submitted_and_collected(cluster: &SlurmCluster) {
    let suite = "name = \"mine\"\n[[point]]\nworkload = \"cpu.sieve\"\n";
    cluster.place.write("mine.toml", suite).unwrap();
    let run = format!("fleet run mine.toml --slurm= --any 3 --json {SHORT}");
    let shown = cluster.run(&run.replace("--json", "--dry-run")).exits(0);
    shown.shows(&[
        "#SBATCH --exclusive",
        "#SBATCH --no-requeue",
        "# sbatch --parsable --array=0-2",
    ]);
    assert_eq!(fs::read_dir(cluster.place.cwd()).unwrap().count(), 1, "a dry run made something");
    cluster.run("fleet status").exits(2).says(&["there is no store at"]);

    let submitted = parsed(&cluster.run(&run).exits(0));
    assert_eq!(submitted["schema"], "plumb.fleet-status/1");
    assert_eq!(submitted["counts"], serde_json::json!({"pending": 3}));
    let status = parsed(&cluster.run("fleet status --json").exits(0));
    assert_eq!(status["machines"].as_array().unwrap().len(), 3);
    let status = parsed(&collected(cluster, 3).exits(0));
    assert!(states(&status).iter().all(|(_, state)| *state == "complete"), "{status}");

    // The runs are ordinary ones, each with the node as its host.
    let fleet = parsed(&cluster.run("fleet show --json").exits(0));
    for machine in fleet["machines"].as_array().unwrap() {
        let run = &machine["run"];
        assert_eq!(run["targets"][0]["host"], machine["name"], "{run}");
        assert_eq!(run["run"]["suite"], "mine");
        assert!(run["run"]["labels"]["slurm_job"].is_string(), "{run}");
    }
    let id = fleet["machines"][0]["run"]["run"]["labels"]["fleet"].as_str().unwrap();
    let compared = cluster.run(&format!("compare --by host fleet={id} --json --force"));
    assert_eq!(parsed(&compared)["runs"].as_array().unwrap().len(), 3, "{}", compared.stderr);
    // Once more changes nothing.
    let again = parsed(&cluster.run("fleet collect --json").exits(0));
    assert_eq!(again["counts"], serde_json::json!({"complete": 3}));
    assert_eq!(parsed(&cluster.run("fleet show --json")), fleet);
}

fn each_node_is_measured_and_those_out_of_service_are_named(cluster: &SlurmCluster) {
    assert!(wait_for(PATIENCE, || cluster.are_all_idle()).is_some());
    cluster.slurm("scontrol", "update node=n3 state=drain reason=fan");
    // Variables of sbatch become options that later submissions have, too; options that were typed win.
    let mut plumb = cluster.plumb("fleet run cpu.sieve --slurm=-pmain --every --dry-run");
    plumb.env("SBATCH_PARTITION", "other").env("SBATCH_TIMELIMIT", "5").env("SBATCH_WAIT", "1");
    let shown = ran(&mut plumb).unwrap().exits(0);
    shown.shows(&["# sbatch --parsable --partition=main --time=5 --nodelist=n1"]);
    let run = format!("fleet run cpu.sieve --slurm=-pmain --every --queued 1 {SHORT}");
    let submitted = cluster.run(&run).exits(0).says(&["skipping n3: drained: fan"]);
    submitted.shows(&["0 of 3 machines measured", "pending 1", "unreachable 1", "waiting 1"]);
    let status = collected(cluster, 3).exits(4);
    let status = parsed(&status);
    assert_eq!(
        states(&status),
        [("n1", "complete"), ("n2", "complete"), ("n3", "unreachable")],
        "{status}"
    );
    cluster.run("fleet show").exits(0).shows(&["2 of 3 machines measured", "n3: drained: fan"]);
    cluster.slurm("scontrol", "update node=n3 state=resume");
    assert!(wait_for(PATIENCE, || cluster.are_all_idle()).is_some());
    // What waits for a node that is taken out of service later is named, too.
    cluster.run(&format!("fleet run cpu.sieve --slurm '' --every {SHORT}")).exits(2);
    cluster.run(&format!("fleet run cpu.sieve --slurm=-H --every {SHORT}")).exits(0);
    cluster.slurm("scontrol", "update node=n2 state=drain reason=disk");
    cluster.run("fleet status").exits(0).shows(&["n2: pending: drained: disk"]);
    cluster.slurm("scontrol", "update node=n2 state=resume");
    assert!(wait_for(PATIENCE, || cluster.are_all_idle()).is_some());
}

fn jobs_that_fail_or_are_cancelled_are_named(cluster: &SlurmCluster) {
    // The fleet of held jobs: one is cancelled by hand, the others by plumb.
    let first = parsed(&cluster.run("fleet status --json").exits(0));
    let job = first["machines"][0]["job"].as_str().unwrap().to_owned();
    cluster.slurm("scancel", &job);
    collected(cluster, 1).exits(130);
    cluster.run("fleet status").exits(0).shows(&["n1: interrupted: job"]);
    cluster.run("fleet cancel").exits(0).says(&["cancelled 2 jobs"]);
    collected(cluster, 3).exits(130);
    assert!(wait_for(PATIENCE, || cluster.are_all_idle()).is_some());
    // Only a node knows what it has too little memory for.
    cluster.run("fleet run cpu.sieve --slurm= -- -p threads=100000").exits(0);
    collected(cluster, 1).exits(3);
    cluster.run("fleet status").exits(0).shows(&["n1: unsupported: nothing could be measured"]);
    cluster.run("fleet show").exits(0).shows(&["0 of 1 machine measured", "the sieves need"]);
}

fn a_store_that_is_damaged_is_measured_again(cluster: &SlurmCluster) {
    let run = format!("fleet run cpu.sieve --slurm= --folder jobs/damaged --json {SHORT}");
    let submitted = parsed(&cluster.run(&run).exits(0));
    let folder = cluster.place.cwd().display().to_string();
    let shown = cluster.slurm("scontrol", "show job");
    assert!(shown.contains(&format!("WorkDir={folder}\n")), "{shown}");
    let store = format!("{}/stores/0.1.db", submitted["folder"].as_str().unwrap());
    let came = wait_for(PATIENCE, || fs::metadata(&store).is_ok().then_some(()));
    assert!(came.is_some(), "{}", cluster.run("fleet status").stdout);
    fs::write(&store, "no store").unwrap();
    let status = parsed(&collected(cluster, 1).exits(0));
    assert_eq!(status["machines"][0]["attempt"], 2, "{status}");
    assert_eq!(status["counts"], serde_json::json!({"complete": 1}));
    // Nothing needs the folder then.
    fs::remove_dir_all(submitted["folder"].as_str().unwrap()).unwrap();
    cluster.run("fleet collect").exits(0).shows(&["1 of 1 machine measured"]);
}

fn what_slurm_refuses_is_reported_in_its_words(cluster: &SlurmCluster) {
    let before = fs::read_dir(cluster.place.cwd()).unwrap().count();
    for (options, code, why) in [
        ("--slurm=-pnone", 3, "Invalid partition name specified"),
        ("--slurm=-Cnone", 3, "Invalid feature specification"),
        ("--slurm=--nodel=n1 --every", 2, "write --nodelist in full"),
        ("--slurm=--array=1-3", 2, "--array is not allowed: use --any N"),
        ("--slurm=-wn9 --every", 2, "Slurm has no node n9 in this partition"),
        ("--slurm= --folder /proc/fleet", 6, "can't write the folder /proc/fleet"),
        ("--slurm= -- --on far", 2, "--on does not apply on nodes of a cluster"),
        ("--slurm= -- --bogus", 2, "unexpected argument '--bogus' found"),
    ] {
        cluster.run(&format!("fleet run cpu.sieve {options}")).exits(code).says(&[why]);
    }
    cluster.run("fleet run cpu.sieves --slurm=").exits(2).says(&["did you mean `cpu.sieve`?"]);
    assert_eq!(fs::read_dir(cluster.place.cwd()).unwrap().count(), before, "a folder is left");
}

#[test]
fn without_slurm_plumb_says_so() {
    let place = place();
    let ended = ran(place.plumb("fleet run cpu.sieve --slurm=").env("PATH", "")).unwrap();
    ended.exits(3).says(&["is not installed here", "hint:", "slurm-client"]);
}
