//! Plug-ins through the real binary: good ones, and all the ways of being a bad one. Each bad one costs
//! its own results, a documented exit code and a line that says what happened; never the run.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "plugins/limits.rs"]
mod limits;
#[path = "plugins/place.rs"]
mod place;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use place::{PluginFolders, assert_gone, ran, unindent};
use plumb_model::{Outcome, Role};
use plumb_protocol::{ReplyLine, RequestLine};
use serde_json::Value;

const GUIDE: &str = include_str!("../../../docs/plugins.md");

/// The reasons of the failed points by workload.
fn failures(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let failed = document["failed"].as_array().unwrap();
    failed.iter().map(|f| (text(&f["workload"]), text(&f["why"]))).collect()
}

/// Waits until something is so; in vain for no longer than `patience`.
#[track_caller]
fn wait_until(patience: Duration, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ways to go wrong after the description, with what is said of them.
const BAD: &[(&str, &str, &str)] = &[
    (
        "garbage",
        "def sample(request): print('Segmentation fault', flush=True)",
        "a line that is not a reply",
    ),
    ("binary", "def sample(request): os.write(1, b'\\xff\\xfe\\n')", "not UTF-8"),
    (
        "nan",
        "def sample(request): say(request, type='samples', **columns(request['iterations']), values=dict(x=[float('nan')]))",
        "NaN",
    ),
    ("dies", "def sample(request): os._exit(0)", "ended without answering `sample`"),
    ("crashes", "def sample(request): raise Exception('the reactor is hot')", "the reactor is hot"),
    (
        "status",
        "def sample(request):\n    ends(lambda: sys.exit(7))\n    say(request, type='samples', **columns(request['iterations']))",
        "exit status 7",
    ),
    (
        "signal",
        "def sample(request):\n    ends(lambda: os.kill(os.getpid(), 11))\n    say(request, type='samples', **columns(request['iterations']))",
        "signal 11",
    ),
    (
        "wordless",
        "def start(request):\n    global stop\n    stop = lambda request: sys.exit(0)\n    say(request, type='ready')",
        "ended without answering `stop`",
    ),
    (
        "progress",
        "def sample(request):\n    line = json.dumps(dict(id=request['id'], type='progress')) + '\\n'\n    while True: os.write(1, line.encode() * 1000)",
        "heartbeats",
    ),
    ("endless", "def sample(request): os.write(1, b'x' * (9 << 20))", "longer than 8388608 bytes"),
    ("wrong-id", "def sample(request): say(dict(id=99), type='done')", "wrong id, 99"),
    (
        "narrow",
        "def hello(request): say(request, type='hello', protocol=1, max_line=100)",
        "lines of at most 100 bytes",
    ),
    ("wrong-word", "def sample(request): say(request, type='done')", "wrong message"),
    ("says-so", "def sample(request): say(request, type='failed', why='no luck')", "no luck"),
    (
        "lengths",
        "def sample(request): say(request, type='samples', **{**columns(request['iterations']), 'cpu': [0]})",
        "column `cpu` has 1 entries",
    ),
    (
        "timeless",
        "def sample(request): say(request, type='samples', **{**columns(request['iterations']), 'elapsed_ns': [0] * len(request['iterations'])})",
        "took no time",
    ),
    (
        "seconds",
        "def sample(request): say(request, type='samples', **{**columns(request['iterations']), 'elapsed_ns': [1 << 63] * len(request['iterations'])})",
        "elapsed_ns must be in nanoseconds",
    ),
    (
        "count",
        "def sample(request): say(request, type='samples', **columns([5, 5, 5]))",
        "3 samples, but plumb requested",
    ),
    (
        "lacking",
        "MORE = dict(metrics=[dict(name='depth', unit='', better='lower')])",
        "lack the metric `depth`",
    ),
    (
        "histogram",
        "def sample(request): say(request, type='samples', **columns(request['iterations']), histograms=dict(time=['HISTAAAA'] * len(request['iterations'])))",
        "HISTEw",
    ),
    (
        "no-k",
        "def calibrate(request): say(request, type='calibrated', iterations=0, elapsed_ns=1)",
        "0 iterations",
    ),
    (
        "work",
        "def start(request): say(request, type='ready', work=dict(time=-1))",
        "work must be positive",
    ),
];

/// Each sample reports a thousand latencies, one of them of 90 µs.
const REPORTS: &str = "
    MORE = dict(metrics=[
        dict(name='time', unit='s', better='lower', source='time'),
        dict(name='latency', unit='s', better='lower', kind='histogram')])

    def sample(request):
        spread = [[1000 + i, 1] for i in range(999)] + [[90000, 1]]
        count = len(request['iterations'])
        say(request, type='samples', **columns(request['iterations']),
            histograms=dict(latency=[spread] * count))
";

#[test]
fn a_reported_distribution_has_quantiles() {
    let place = PluginFolders::new();
    let plugin = place.plugin("reports", REPORTS);
    let ran = place.plumb(&["run", "--json", "--no-lock", &plugin, "--min-invocations", "9"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran}"));
    let results = document["results"].as_array().unwrap();
    let of =
        |statistic: &str| results.iter().find(|result| result["statistic"] == statistic).unwrap();
    assert!(of("median")["primary"] == true && of("p50")["primary"] == false);
    assert_eq!(of("p50")["series"], "test.reports/latency p50");
    let value = |statistic: &str| of(statistic)["estimate"].as_f64().unwrap();
    assert!((value("p50") - 1.499e-6).abs() < 2e-9 && (value("p90") - 1.899e-6).abs() < 2e-9);
    assert!((value("max") - 9e-5).abs() < 1e-12);
    assert!(of("p99")["low"].is_number() && of("max")["low"].is_number(), "{document:#}");
    let shown = place.plumb(&["show", "--all"]);
    assert!(shown.out.contains("p99.9"), "{shown}");
}

/// Says its secret wherever it can.
const TELLS: &str = "
    MORE = dict(parameters=[dict(name='password', type='secret', default=''),
                            dict(name='fail', type='switch', default=False)])

    def start(request):
        global secret, fails
        secret, fails = request['params']['password'], request['params']['fail']
        note(len(secret))
        print('logged', secret, file=sys.stderr, flush=True)
        say(request, type='ready', notes=['told ' + secret], versions={'v': secret})

    def sample(request):
        if fails:
            say(request, type='failed', why='the password ' + secret + ' is wrong')
        else:
            say(request, type='samples', **columns(request['iterations']))
";

#[test]
fn a_secret_reaches_the_plugin_and_nothing_else() {
    const SECRET: &str = "hunter2-and-some-more";
    let place = PluginFolders::new();
    let plugin = place.plugin("tells", TELLS);
    let run = |more: &[&str]| {
        let arguments = [&["run", &plugin, "--min-invocations", "2", "--no-lock"], more].concat();
        ran(&place.command(&arguments).env("PASSWORD", SECRET).output().unwrap())
    };
    let good = run(&["-p", "password=env:PASSWORD"]);
    assert_eq!(good.code, Some(0), "{good}");
    let failed = run(&["-p", "password=env:PASSWORD", "-p", "fail=yes"]);
    assert_eq!(failed.code, Some(4), "{failed}");
    assert!(failed.to_string().contains("the password *** is wrong"), "{failed}");
    let length = SECRET.len().to_string();
    assert!(place.notes("tells").iter().all(|told| *told == length), "{:?}", place.notes("tells"));
    let all = place.plumb(&["show", "--all", "--json"]);
    assert!(all.out.contains("env:PASSWORD") || all.out.contains("***"), "{all}");
    let mut stored = String::new();
    for file in ["store.db", "store.db-wal"] {
        let bytes = fs::read(place.root.path().join(file)).unwrap_or_default();
        stored += &String::from_utf8_lossy(&bytes);
    }
    assert!(stored.contains("told ***"), "the store has what it said");
    for text in [stored, good.to_string(), failed.to_string(), all.to_string()] {
        assert!(!text.contains(SECRET));
    }
    let series = place.plumb(&["history", "--json", "test.tells/time"]);
    assert_eq!(series.code, Some(0), "a secret makes no other series: {series}");
    let typed = run(&["-p", "password=hunter2"]);
    assert_eq!(typed.code, Some(2), "{typed}");
    assert!(typed.to_string().contains("env:NAME or file:PATH"), "{typed}");
    let missing = run(&["-p", "password=env:NO_SUCH_NAME"]);
    assert_eq!(missing.code, Some(3), "{missing}");
    assert!(
        missing.to_string().contains("the environment variable NO_SUCH_NAME is not set"),
        "{missing}"
    );
}

#[test]
fn histograms_beyond_their_bounds_fail_the_invocation() {
    let place = PluginFolders::new();
    let bounded = place.plugin(
        "bounded",
        &REPORTS.replace("kind='histogram'", "kind='histogram', bounds=[1, 50000]"),
    );
    let (ran, document) = place.document(&[&bounded]);
    assert_eq!(ran.code, Some(4), "{ran}");
    let (_, why) = failures(&document).remove(0);
    assert!(
        why.contains("contains the value 90000, outside its declared bounds 1 to 50000"),
        "{why}"
    );
}

#[test]
fn a_stall_of_the_server_shows_in_the_open_loop_alone() {
    let echo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/python-echo");
    let place = PluginFolders::new();
    let point = ["-p", "rate=closed,500/s", "-p", "stall=100ms", "--min-invocations", "3"];
    let run = [&["run", "--json", "--no-lock", echo.to_str().unwrap()], &point[..]].concat();
    let ran = place.plumb(&run);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran}"));
    let results = document["results"].as_array().unwrap();
    let p90 = |rate: &str| {
        let of = |result: &&Value| {
            result["statistic"] == "p90" && result["series"].as_str().unwrap().contains(rate)
        };
        results.iter().find(of).unwrap()["estimate"].as_f64().unwrap()
    };
    let closed = p90("python.echo:stall");
    let open = p90("rate=500/s");
    assert!(open > 0.02 && closed < 0.02, "open {open} s, closed {closed} s");
    assert!(ran.out.contains("closed loop: the next message waits for the answer"), "{ran}");
}

#[test]
fn versions_of_a_plugin_stand_side_by_side_and_it_brings_suites() {
    let place = PluginFolders::new();
    let version = |n: u32| format!("ID = 'test.versioned'\nMORE = dict(version={n})");
    for n in [1, 3, 2] {
        place.plugin(&format!("v{n}"), &version(n));
    }
    let suites = place.path("v3").join("suites");
    fs::create_dir(&suites).unwrap();
    let suite = "name = 'theirs'\nsummary = 'two of them'\n\
                 [[point]]\nworkload = 'test.versioned'\n";
    fs::write(suites.join("theirs.toml"), suite).unwrap();
    let versions = |name: &str| {
        let ran = place.plumb(&["run", "--json", "--no-lock", "--min-invocations", "2", name]);
        let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran}"));
        document["results"][0]["version"].as_u64().unwrap()
    };
    assert_eq!((versions("test.versioned"), versions("test.versioned@2")), (3, 2));
    assert_eq!(versions("theirs"), 3, "a suite of a plug-in is found by its name");
    place
        .plumb(&["run", "test.versioned@7"])
        .ends(2, &["version 7 of", "available: version 1, 2, 3"]);
    place.plumb(&["run", "cpu.sieve@77"]).ends(2, &["version 77 of `cpu.sieve` is not available"]);
    let listed = place.plumb(&["list"]);
    assert!(listed.out.contains("suite: two of them"), "{listed}");
}

#[test]
fn a_run_goes_on_with_the_good_ones_and_names_every_fault() {
    let place = PluginFolders::new();
    let mut paths = vec![place.plugin("good", "")];
    paths.extend(BAD.iter().map(|(name, change, _)| place.plugin(name, change)));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let (ran, document) = place.document(&paths);
    assert_eq!(ran.code, Some(4), "{ran}");
    let failed = failures(&document);
    for (name, _, why) in BAD {
        let found = failed.iter().find(|(workload, _)| *workload == format!("test.{name}"));
        let (_, found) = found.unwrap_or_else(|| panic!("{name} did not fail\n{ran}"));
        assert!(found.contains(why), "{name}: {found}");
    }
    // A fault may be told in two ways, as more or less of a program's log had come.
    let names: BTreeSet<&String> = failed.iter().map(|(workload, _)| workload).collect();
    assert_eq!(names.len(), BAD.len(), "{failed:?}");
    assert_eq!(document["results"][0]["workload"], "test.good");
    place.assert_tidy();
}

#[test]
fn what_can_not_even_be_described_is_refused_before_anything_is_measured() {
    let place = PluginFolders::new();
    let text = "def describe(request): print('hello world', flush=True)";
    let no_json = place.plugin("no-json", text);
    place
        .run(&[&no_json])
        .ends(4, &["a line that is not a reply", "hello world", "plumb plugin check"]);
    let old = place
        .plugin("old", "def hello(request): say(request, type='hello', protocol=7, max_line=1)");
    place.run(&[&old]).ends(4, &["it uses protocol 7, plumb uses 1"]);
    let unit = "MORE = dict(metrics=[dict(name='time', unit='ms', better='lower')])";
    let milli = place.plugin("milli", unit);
    place.run(&[&milli]).ends(4, &["`time` is in `ms`", "plumb plugin check"]);
    let shadow = place.plugin("shadow", "ID = 'memory.copy'");
    place
        .run(&[&shadow])
        .ends(2, &["has the id `memory.copy` of a built-in workload", "its own id"]);
    place.run(&["memory.copy", "--dry-run"]).ends(0, &["memory.copy"]);
    let twin = place.plugin("twin", "ID = 'test.old'");
    let good = place.plugin("good", "ID = 'test.old'");
    place.run(&[&twin, &good]).ends(2, &["two plug-ins have the id `test.old`"]);
}

#[test]
fn what_can_not_be_started_says_what_to_do() {
    let place = PluginFolders::new();
    place.run(&["./nowhere"]).ends(2, &["no plug-in at ./nowhere"]);
    let locked = place.plugin("locked", "");
    let file = place.path("locked/program");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    place.run(&[&locked]).ends(2, &["is not executable", "chmod +x"]);
    let odd = place.program("odd", "#!/no/such/interpreter\n");
    place.run(&[&odd]).ends(4, &["program not found", "interpreter"]);
    let nameless = place.program("nameless", "import json\n");
    place.run(&[&nameless]).ends(4, &["first line that names its interpreter"]);
    let manifest = place.path("odd/plumb-plugin.toml");
    fs::write(&manifest, "exec = 'program'\narguemnts = []\n").unwrap();
    place.run(&[&odd]).ends(2, &["plumb-plugin.toml is malformed", "arguemnts", "exec ="]);
    fs::write(&manifest, "exec = 'gone/program'\n").unwrap();
    place.run(&[&odd]).ends(2, &["no program at", "gone/program"]);
    fs::remove_file(&manifest).unwrap();
    place.run(&[&odd]).ends(2, &["plumb-plugin.toml"]);
}

#[test]
fn silence_ends_after_the_time_that_was_declared() {
    let place = PluginFolders::new();
    let hangs = "
        MORE = dict(timeout_s=5)
        def start(request):
            child()
            time.sleep(60)
    ";
    // Long enough for Python itself to start next to other tests.
    let path = place.plugin("hangs", hangs);
    let began = Instant::now();
    let (ran, document) = place.document(&[&path]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert_eq!(failures(&document)[0].1, "it was silent for 5 s after `start`");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(place.notes("hangs").len(), 3, "given up after three failures");
    assert_gone(&place.notes("hangs"));
    place.assert_tidy();
}

#[test]
fn heartbeats_extend_the_time() {
    let place = PluginFolders::new();
    let slow = "
        MORE = dict(timeout_s=2)
        def start(request):
            for _ in range(3):
                time.sleep(.8)
                say(request, type='progress', text='wait for it')
            say(request, type='ready')
    ";
    let path = place.plugin("slow", slow);
    place.run(&[&path]).ends(0, &["slow"]);
}

#[test]
fn a_log_without_end_and_children_without_parents_do_no_harm() {
    let place = PluginFolders::new();
    let loud = "
        def shout():
            while True: os.write(2, b'all is well \\x1b[31m' * 4096)
        import threading
        threading.Thread(target=shout, daemon=True).start()
        def stop(request):
            say(request, type='done')
            os._exit(0)
    ";
    let loud = place.plugin("loud", loud);
    let leaves = "
        def start(request):
            child()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0: child()
                os._exit(0)
            os.wait()
            while sum(1 for _ in open(os.path.join(HERE, 'notes'))) % 2: time.sleep(.01)
            say(request, type='ready')
    ";
    let leaves = place.plugin("leaves", &format!("{}\n{}", unindent(TIMES), unindent(leaves)));
    let (ran, document) = place.document(&[&loud, &leaves]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    assert!(place.notes("leaves").len() >= 2);
    assert_gone(&place.notes("leaves"));
    let (ran, document) = place.check(&leaves);
    assert_eq!((ran.code, faults(&document)), (Some(4), vec!["stop"]), "{ran}");
    assert_gone(&place.notes("leaves"));
}

#[test]
fn who_failed_is_asked_to_stop_and_may_tidy_up() {
    let place = PluginFolders::new();
    let tidy = "
        def sample(request): say(request, type='failed', why='no luck')
        ends(lambda: note('tidy'))
    ";
    let tidy = place.plugin("tidy", tidy);
    place.run(&[&tidy]).ends(4, &["no luck"]);
    assert!(!place.notes("tidy").is_empty());
    assert!(place.notes("tidy").iter().all(|note| note == "tidy"));
}

#[test]
fn what_is_unsupported_says_why_and_what_would_mend_it() {
    let place = PluginFolders::new();
    let lacking = "
        def start(request):
            say(request, type='unsupported', why='no flux', fix='apt install flux-capacitor')
        prepare = start
        MORE = dict(roles=['workload', 'preparation'])
    ";
    let path = place.plugin("lacking", lacking);
    let good = place.plugin("good", "");
    place.run(&[&path]).ends(3, &["no flux", "apt install flux-capacitor"]);
    place.run(&[&path, &good]).ends(3, &["no flux", "good"]);
    place.run(&[&good, "--with", &path]).ends(3, &["test.lacking: no flux", "flux-capacitor"]);
    place.plumb(&["plugin", "check", &path]).ends(0, &["unsupported: no flux", "skipped"]);
}

#[test]
fn a_supply_is_taken_whole_and_checked() {
    let place = PluginFolders::new();
    let boots = |supply: u32| {
        format!(
            "
        MORE = dict(sample_is='process')
        def start(request):
            say(request, type='ready', supply={supply})
        left = {supply}
        def sample(request):
            global left
            left -= len(request['iterations'])
            if left < 0:
                say(request, type='failed', why='there are no more')
            else:
                say(request, type='samples', **columns(request['iterations']))
        "
        )
    };
    let path = place.plugin("boots", &boots(502));
    let (ran, document) = place.document(&[&path, "--max-invocations", "3"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let result = &document["results"][0];
    assert_eq!((&result["stop"], &result["samples"]), (&"supply".into(), &502.into()));
    place.plumb(&["plugin", "check", &path]).ends(0, &["supply", "502 samples"]);
    let none = place.plugin("none", &boots(0));
    place.run(&[&none]).ends(4, &["a supply of 0 samples instead of `unsupported`"]);
    place.plumb(&["plugin", "check", &none]).ends(4, &["a supply of 0 samples"]);
}

#[test]
fn the_plug_in_path_is_searched_and_the_current_folder_is_not() {
    let place = PluginFolders::new();
    place.plugin("good", "");
    place.plugin("sulks", "def describe(request): os._exit(1)");
    place.run(&["test.good"]).ends(0, &["good"]);
    place.plumb(&["list"]).ends(0, &["test.good", "sulks", "ended without answering `describe`"]);
    place.run(&["test.god"]).ends(2, &["did you mean `test.good`?", "sulks"]);
    let refused = place.plumb(&["ab", "--prove", "test.good", "test.good"]);
    refused.ends(2, &["plumb can't add extra work to a plug-in", "built-in workloads"]);
    let here = place.path("").to_str().unwrap().to_owned();
    let mut relative = place.command(&["run", "test.good"]);
    relative.current_dir(&here).env("PLUMB_PLUGIN_PATH", ".:good");
    ran(&relative.output().unwrap()).ends(2, &["no workload, suite or plug-in"]);
    let mut users = place.command(&["list"]);
    users.env_remove("PLUMB_PLUGIN_PATH").env("XDG_DATA_HOME", place.root.path());
    fs::create_dir(place.root.path().join("plumb")).unwrap();
    fs::rename(&here, place.root.path().join("plumb/plugins")).unwrap();
    ran(&users.output().unwrap()).ends(0, &["test.good"]);
}

#[test]
fn a_load_and_a_monitor_run_beside_and_are_stored() {
    let place = PluginFolders::new();
    let good = place.plugin("good", "def sample(request):\n    time.sleep(.2)\n    say(request, type='samples', **columns(request['iterations']))");
    place.plugin("burn", "MORE = dict(roles=['load'])\ndef start(request):\n    child()\n    say(request, type='ready')");
    let watch = "
        MORE = dict(roles=['monitor'], metrics=[dict(name='depth', unit='', better='neither')])
        def stream(request):
            while True:
                say(request, type='samples', **columns([1]), values=dict(depth=[7.0]))
                time.sleep(.5)
    ";
    place.plugin("watch", watch);
    let with = ["--with", "test.burn", "--with", "test.watch", "--min-time", "2500ms"];
    let (ran, document) = place.document(&[&[good.as_str()], &with[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(document.to_string().contains("with-load"), "{ran}");
    let record = place.record();
    let of = |role| record.invocations.iter().find(|i| i.role == role).unwrap();
    assert!(!of(Role::Load).samples.is_empty());
    let depth = &of(Role::Monitor).samples.values["depth"];
    assert!(depth.len() >= 3 && depth.iter().all(|d| (*d - 7.0).abs() < 1e-9), "{depth:?}");
    assert_gone(&place.notes("burn"));
    place.assert_tidy();
}

#[test]
fn companions_that_go_wrong_end_the_run_by_name() {
    let place = PluginFolders::new();
    let good = place.plugin("good", "");
    let changes = [
        ("ends", "def stream(request): say(request, type='done')", "ended its stream too early"),
        ("dies", "def stream(request): os._exit(3)", "ended without answering `stream`"),
        (
            "lies",
            "def stream(request): say(request, type='samples', **columns([0]))",
            "samples are invalid",
        ),
    ];
    for (name, change, why) in changes {
        place.plugin(name, &format!("MORE = dict(roles=['load'])\n{change}"));
        let name = format!("test.{name}");
        let with = ["--with", &name, "--min-time", "20s"];
        place.run(&[&[good.as_str()], &with[..]].concat()).ends(4, &[&name, why]);
    }
    let flood = "def stream(request):\n    while True: say(request, type='progress', text='fine')";
    place.plugin("flood", &format!("MORE = dict(roles=['load'])\n{flood}"));
    place.run(&[&good, "--with", "test.flood"]).ends(0, &["with-load"]);
    place.run(&["test.ends"]).ends(2, &["it is not a workload", "--with test.ends"]);
    place.run(&[&good, "--with", &good]).ends(2, &["can't run in the background", "role load"]);
    place.assert_tidy();
}

#[test]
fn a_preparation_is_applied_before_and_undone_after_whatever_happens() {
    let place = PluginFolders::new();
    let tunes = "
        MORE = dict(roles=['preparation'])
        def prepare(request):
            note('prepare ' + request['role'])
            say(request, type='ready')
        def clean(request):
            note('clean')
            say(request, type='done')
        def stop(request):
            note('stop')
            say(request, type='done')
            sys.exit(0)
    ";
    place.plugin("tunes", tunes);
    let good = place.plugin("good", "");
    let bad = place.plugin("bad", "def sample(request): os._exit(1)");
    place.run(&[&good, &bad, "--with", "test.tunes"]).ends(4, &["test.bad"]);
    let leaves = place.plugin(
        "leaves",
        "MORE = dict(roles=['preparation'])\ndef clean(request): say(request, type='failed', why='it is stuck')",
    );
    place
        .run(&[&good, "--with", &leaves])
        .ends(4, &["could not clean up: test.leaves: it is stuck", "good"]);
    // A fresh process was stuck, too: whoever comes next tries again, until the plug-in is mended.
    place.plumb(&["tune"]).ends(0, &["plug-in test.leaves", "plumb tune --restore"]);
    place
        .plumb(&["tune", "--restore"])
        .ends(4, &["plug-in test.leaves could not undo its change: it is stuck"]);
    std::fs::remove_dir_all(place.path("leaves")).unwrap();
    place.plumb(&["tune", "--restore"]).ends(0, &["plug-in test.leaves no longer exists"]);
    // The first stop is that of the description.
    assert_eq!(place.notes("tunes"), ["stop", "prepare preparation", "clean", "stop"]);
    place
        .plumb(&["plugin", "check", &format!("{}", place.path("tunes").display())])
        .ends(0, &["applied by `prepare`", "undone"]);
}

#[test]
fn a_preparation_holds_for_its_slot() {
    let place = PluginFolders::new();
    let tunes = "
        MORE = dict(roles=['preparation'])
        def prepare(request):
            note('prepare')
            say(request, type='ready')
        def clean(request):
            note('clean')
            say(request, type='done')
        def stop(request):
            say(request, type='done')
            sys.exit(0)
    ";
    place.plugin("tunes", tunes);
    let good = place.plugin("good", "");
    let twice = ["--min-invocations", "2", "--no-lock", "-q", "--set", "test.tunes@round"];
    place.plumb(&[&["run", &good], &twice[..]].concat()).ends(0, &[]);
    assert_eq!(place.notes("tunes"), ["prepare", "clean", "prepare", "clean"]);
    place
        .run(&[&good, "--set", "test.good"])
        .ends(2, &["needs the role load, monitor or preparation"]);
    let stuck = "MORE = dict(roles=['preparation'])\ndef prepare(request): say(request, type='failed', why='no room')";
    let stuck = place.plugin("stuck", stuck);
    let at_each = format!("{stuck}@invocation");
    place.run(&[&good, "--set", &at_each]).ends(4, &["test.stuck", "no room"]);
    place.assert_tidy();
}

#[test]
fn an_interrupt_ends_a_plug_in_that_hangs() {
    let place = PluginFolders::new();
    let hangs = "
        def sample(request):
            child()
            note('hangs')
            time.sleep(60)
    ";
    let path = place.plugin("hangs", hangs);
    let mut command = place.command(&["run", &path, "--no-lock"]);
    let plumb = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while place.notes("hangs").len() < 2 {
        assert!(Instant::now() < deadline, "it did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = Command::new("kill").args(["-INT", &plumb.id().to_string()]).status().unwrap();
    assert!(kill.success());
    ran(&plumb.wait_with_output().unwrap()).ends(130, &[]);
    assert_gone(&place.notes("hangs")[..1]);
    place.assert_tidy();
}

/// The names of the failed checks.
fn faults(document: &Value) -> Vec<&str> {
    let checks = document["checks"].as_array().unwrap();
    checks.iter().filter(|c| c["ok"] == false).map(|c| c["name"].as_str().unwrap()).collect()
}

/// The names of the checks that only warn.
fn warnings(document: &Value) -> Vec<&str> {
    let checks = document["checks"].as_array().unwrap();
    let warn = checks.iter().filter(|c| c["state"] == "warning");
    warn.map(|c| c["name"].as_str().unwrap()).collect()
}

const TIMES: &str = "
    def columns(iterations):
        times = []
        for k in iterations:
            start = time.monotonic_ns()
            while time.monotonic_ns() < start + 10000 * k: pass
            times.append((start, time.monotonic_ns() - start))
        return dict(start_ns=[t[0] for t in times], elapsed_ns=[t[1] for t in times],
                    iterations=iterations, cpu=[-1] * len(times))
    def calibrate(request): say(request, type='calibrated', iterations=1000, elapsed_ns=10000000)
";

#[test]
fn the_check_names_the_rule_that_is_broken() {
    let place = PluginFolders::new();
    let cases = [
        ("plain", "", &[][..]),
        ("mute", "def hello(request): os._exit(0)", &["hello"][..]),
        (
            "picky",
            "def describe(r, right=describe):\n    assert set(r) == {'id', 'type'}\n    right(r)",
            &["unknown-fields"],
        ),
        ("rude", "def stop(request): os._exit(3)", &["exit", "stop"]),
        ("zero", "MORE = dict(version=0)", &["version"]),
        (
            "choosy",
            "MORE = dict(parameters=[dict(name='n', type='integer', default=3, allowed=[1])])",
            &["parameters"],
        ),
        (
            "units",
            "MORE = dict(metrics=[dict(name='t', unit='ms', better='lower', source='time')])",
            &["units"],
        ),
        ("built", "ID = 'cpu.sieve'", &["built-in"]),
        ("short", "def sample(request): say(request, type='samples', **columns([1]))", &["sample"]),
        ("worker", "def start(request): say(request, type='ready', work=dict(tmie=3))", &["work"]),
        (
            "micro",
            "columns_ = columns\ndef columns(its): return {**columns_(its), 'elapsed_ns': [10**9] * len(its)}",
            &["times"],
        ),
        (
            "epoch",
            "columns_ = columns\ndef columns(its): return {**columns_(its), 'start_ns': [time.time_ns()] * len(its)}",
            &["times"],
        ),
        (
            "fixed",
            "MORE = dict(fixture=[])\ndef prepare(request): say(request, type='failed', why='x')",
            &["prepare"],
        ),
        (
            "untidy",
            "MORE = dict(fixture=[])\ndef clean(request): say(request, type='failed', why='x')",
            &["clean"],
        ),
        (
            "spout",
            "MORE = dict(roles=['load'])\ndef stream(request): say(request, type='ready')",
            &["stream-load"],
        ),
        (
            "tune",
            "MORE = dict(roles=['preparation'])\ndef clean(request): say(request, type='ready')",
            &["undone"],
        ),
    ];
    for (name, change, wanted) in cases {
        let path = place.plugin(name, &format!("{}\n{change}", unindent(TIMES)));
        let (ran, document) = place.check(&path);
        assert_eq!(document["schema"], "plumb.plugin-check/1");
        assert_eq!(faults(&document), wanted, "{name}: {ran}");
        assert_eq!(ran.code, Some(if wanted.is_empty() { 0 } else { 4 }), "{name}: {ran}");
    }
    place.plumb(&["plugin", "check", "./nowhere"]).ends(2, &["no plug-in at ./nowhere"]);
    place.assert_tidy();
}

#[test]
fn a_curve_is_over_numbers_and_of_a_known_kind() {
    let place = PluginFolders::new();
    let cases = [
        ("straight", "type='integer', default=3, curve='line'", &[][..], "n: line"),
        ("curvy", "type='text', default='3', curve='line'", &["curves"], "is not a number"),
        (
            "wavy",
            "type='integer', default=3, curve='wave'",
            &["describe"],
            "unknown variant `wave`",
        ),
    ];
    for (name, parameter, wanted, said) in cases {
        let change = format!("MORE = dict(parameters=[dict(name='n', {parameter})])");
        let path = place.plugin(name, &format!("{}\n{change}", unindent(TIMES)));
        let (ran, document) = place.check(&path);
        assert_eq!(faults(&document), wanted, "{name}: {ran}");
        assert!(document.to_string().contains(said), "{name}: {ran}");
    }
}

#[test]
fn the_check_warns_of_work_outside_of_the_iterations() {
    let place = PluginFolders::new();
    let change = format!(
        "{}\ncolumns_ = columns\ndef columns(its):\n    c = columns_(its)\n    c['elapsed_ns'] = [5000000] * len(its)\n    return c",
        unindent(TIMES)
    );
    let (ran, document) = place.check(&place.plugin("flat", &change));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(warnings(&document).contains(&"twice"), "{ran}");
}

/// The fenced blocks of the guide with this word after the fence.
fn blocks(word: &str) -> Vec<&'static str> {
    let fence = format!("```{word}\n");
    let starts = GUIDE.match_indices(&fence).map(|(at, _)| at + fence.len());
    starts.map(|start| GUIDE[start..].split("\n```").next().unwrap()).collect()
}

#[test]
fn every_line_of_the_guide_is_what_the_protocol_says() {
    let requests = blocks("json request");
    let kinds: std::collections::BTreeSet<String> = requests
        .iter()
        .flat_map(|block| block.lines())
        .map(|line| {
            let parsed: RequestLine = serde_json::from_str(line).expect(line);
            assert_eq!(serde_json::from_str::<Value>(line).unwrap()["id"], parsed.id);
            serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned()
        })
        .collect();
    let all = [
        "calibrate",
        "clean",
        "describe",
        "hello",
        "prepare",
        "sample",
        "start",
        "stop",
        "stream",
        "trial",
    ];
    assert!(kinds.iter().map(String::as_str).eq(all), "{kinds:?}");
    let replies = blocks("json reply");
    let mut kinds = std::collections::BTreeSet::new();
    for line in replies.iter().flat_map(|block| block.lines()) {
        let parsed: ReplyLine = serde_json::from_str(line).expect(line);
        if let plumb_protocol::Reply::Samples(reply) = parsed.reply {
            reply.samples.check().expect(line);
        }
        let document: Value = serde_json::from_str(line).unwrap();
        kinds.insert(document["type"].as_str().unwrap().to_owned());
    }
    let all = [
        "calibrated",
        "description",
        "done",
        "failed",
        "hello",
        "progress",
        "ready",
        "samples",
        "unsupported",
    ];
    assert!(kinds.iter().map(String::as_str).eq(all), "{kinds:?}");
    for line in blocks("json check") {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["schema"], "plumb.plugin-check/1");
    }
}

#[test]
fn the_smallest_plug_in_of_the_guide_works() {
    let place = PluginFolders::new();
    let text = blocks("python plug-in")[0];
    let folder = place.program("sha256", text);
    let manifest = blocks("toml manifest")[0];
    fs::write(Path::new(&folder).join("plumb-plugin.toml"), manifest).unwrap();
    fs::rename(Path::new(&folder).join("program"), Path::new(&folder).join("sha256")).unwrap();
    let (ran, document) = place.check(&folder);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(faults(&document).is_empty());
    let file = format!("{folder}/sha256");
    let (ran, document) = place.document(&[&file, "-p", "size=4KiB,64KiB"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(document["results"][0]["series"], "example.sha256:size=4KiB/bandwidth");
    assert_eq!(document["results"][1]["unit"], "B/s");
}

#[test]
fn the_examples_work() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins");
    let place = PluginFolders::new();
    for entry in fs::read_dir(&examples).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.join("README.md").is_file(), "{}", path.display());
        let (ran, document) = place.check(path.to_str().unwrap());
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!(faults(&document).is_empty(), "{ran}");
    }
    let sort = examples.join("python-sort");
    let point = ["-p", "order=sorted", "-p", "n=100"];
    let (ran, document) = place.document(&[&[sort.to_str().unwrap()], &point[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(document["results"][0]["series"], "python.sort:n=100,order=sorted/elements");
    let gzip = examples.join("shell-gzip");
    let (ran, document) = place.document(&[gzip.to_str().unwrap(), "-p", "size=64KiB"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(document.to_string().contains("\"overhead\""), "{ran}");
    let ballast = examples.join("memory-ballast");
    let set = format!("{}@invocation", ballast.display());
    let (ran, document) = place.document(&["cpu.sieve", "--set", &set, "--prepare", "none"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let made = &document["preparations"][0];
    assert_eq!(made["setting"], "preparation.ballast", "{made}");
    assert_eq!(made["became"], "16777216 bytes held", "{made}");
    assert!(made["restored_ns"].as_u64() > made["at_ns"].as_u64(), "{made}");
    place.assert_tidy();
}

#[test]
fn what_a_plugin_says_of_itself_is_asked_again_only_when_it_changed() {
    const NOTES: &str =
        "was = describe\ndef describe(request):\n    note('asked')\n    was(request)";
    let place = PluginFolders::new();
    let path = place.plugin("cached", NOTES);
    let asked = || place.notes("cached").len();
    for _ in 0..2 {
        place.plumb(&["list"]).ends(0, &[]);
        place.run(&[&path]).ends(0, &[]);
    }
    assert_eq!(asked(), 1, "asked once by four commands");

    let program = Path::new(&path).join("program");
    let text = fs::read_to_string(&program).unwrap().replace("a test", "another");
    fs::write(&program, text).unwrap();
    let listed = place.plumb(&["list"]);
    assert!(listed.out.contains("another"), "{listed}");
    assert_eq!(asked(), 2, "asked again, because it changed");

    place.check(&path);
    assert!(asked() > 2, "a check always asks");

    let kept = place.root.path().join(".cache/plumb/describe");
    let before = asked();
    for file in fs::read_dir(&kept).unwrap() {
        fs::write(file.unwrap().path(), "{spoiled").unwrap();
    }
    place.plumb(&["list"]).ends(0, &[]);
    assert_eq!(asked(), before + 1, "what is spoiled is asked for again");

    fs::remove_dir_all(&kept).unwrap();
    fs::write(&kept, "no folder").unwrap();
    place.plumb(&["list"]).ends(0, &[]);
    place.plumb(&["list"]).ends(0, &[]);
    assert_eq!(asked(), before + 3, "without a cache it is asked every time");
}

/// Hashes on each CPU in turn and compares with the known digest. In its second process, a bit flips on the last CPU.
const FLIPS_A_BIT: &str = "
    import hashlib
    CPUS = sorted(os.sched_getaffinity(0))
    KNOWN = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

    def start(request):
        global flip
        note('started')
        flip = open(os.path.join(HERE, 'notes')).read().count('started') == 2
        say(request, type='ready')

    def sample(request):
        for cpu in CPUS:
            os.sched_setaffinity(0, [cpu])
            value = int(hashlib.sha256(b'abc').hexdigest(), 16)
            got = '%064x' % (value ^ 16 if flip and cpu == CPUS[-1] else value)
            if got != KNOWN:
                return say(request, type='failed', wrong_result=True,
                           why=f'on CPU {cpu}: sha256 of abc: expected {KNOWN}, got {got}')
        say(request, type='samples', **columns(request['iterations']))
";

#[test]
fn a_bit_that_flips_once_on_one_cpu_is_reported_and_not_excluded() {
    let place = PluginFolders::new();
    let flips = place.plugin("flips", FLIPS_A_BIT);
    let five = ["--min-invocations", "5", "--max-invocations", "5"];
    let ran = place.plumb(&[&["run", "--no-lock", "--quiet"], &five[..], &[&flips]].concat());
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let last = allowed.trim().rsplit([',', '-']).next().unwrap();
    ran.ends(
        4,
        &[
            &format!("on CPU {last}: sha256 of abc"),
            "expected ba7816bf",
            "0015ad, got ba7816bf",
            "0015bd",
            "(1 of 6 invocations)",
        ],
    );
    let failed: Vec<_> = place
        .record()
        .invocations
        .into_iter()
        .filter(|invocation| !invocation.is_workload_done())
        .collect();
    assert_eq!((failed.len(), failed[0].excluded_by.as_deref()), (1, None));
    let outcome = failed[0].end.as_ref().map(|end| &end.outcome);
    assert!(matches!(outcome, Some(Outcome::WrongResult(_))), "{outcome:?}");
}
