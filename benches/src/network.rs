//! The workloads of the network against iperf3, sockperf and ping: what arrives a second, and a second of CPU time at both ends.

use std::fs::read_to_string;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::UsageMeter;
use serde_json::Value;

use crate::BenchResult;
use crate::pairs::{self, Done, PairRow, SECONDS, run};

/// Nothing is sent anywhere else.
const HOST: &str = "127.0.0.1";
/// Bytes of a datagram.
const DATAGRAM: f64 = 1400.0;

const ROWS: [PairRow; 8] = [
    PairRow {
        title: "TCP stream up, one end per CPU, 48 KiB blocks; iperf3, 128 KiB",
        unit: "B/s",
        ours: |plumb, folder| {
            run(plumb, folder, "network.tcp:block=48KiB,placement=cross-cpu", "throughput")
        },
        classic: |_, _| iperf3(&["-A", "1,0"]),
    },
    PairRow {
        title: "TCP stream down, one end per CPU, 48 KiB blocks; iperf3, 128 KiB",
        unit: "B/s",
        ours: |plumb, folder| {
            run(
                plumb,
                folder,
                "network.tcp:block=48KiB,placement=cross-cpu,direction=down",
                "throughput",
            )
        },
        classic: |_, _| iperf3(&["-A", "1,0", "-R"]),
    },
    PairRow {
        title: "TCP stream up, one end per CPU, 48 KiB blocks; iperf3, 48 KiB",
        unit: "B/s",
        ours: |plumb, folder| {
            run(plumb, folder, "network.tcp:block=48KiB,placement=cross-cpu", "throughput")
        },
        classic: |_, _| iperf3(&["-A", "1,0", "-l", "48K"]),
    },
    PairRow {
        title: "TCP, 4 streams; iperf3",
        unit: "B/s",
        ours: |plumb, folder| run(plumb, folder, "network.tcp:streams=4", "throughput"),
        classic: |_, _| iperf3(&["-P", "4"]),
    },
    PairRow {
        title: "1,400 B datagrams received; iperf3",
        unit: "datagrams/s",
        ours: |plumb, folder| run(plumb, folder, "network.udp", "received"),
        classic: |_, _| {
            let done = iperf3(&["-u", "-b", "0", "-l", "1400"])?;
            Ok(Done { rate: done.rate / DATAGRAM, ..done })
        },
    },
    PairRow {
        title: "1,400 B datagrams received; sockperf throughput",
        unit: "datagrams/s",
        ours: |plumb, folder| run(plumb, folder, "network.udp", "received"),
        classic: |_, _| sockperf("throughput", "1400"),
    },
    PairRow {
        title: "single 24 B datagram requests; sockperf ping-pong",
        unit: "ops/s",
        ours: |plumb, folder| {
            run(plumb, folder, "network.rr:transport=udp,request=24,answer=24", "rate")
        },
        classic: |_, _| sockperf("ping-pong", "24"),
    },
    PairRow {
        title: "ICMP replies; ping -f",
        unit: "ops/s",
        ours: |plumb, folder| run(plumb, folder, "network.icmp", "rate"),
        classic: |_, _| ping(),
    },
];

/// Measures the rows.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    Ok(format!(
        "{} Over loopback, with the tools' defaults unless noted; CPU time covers both ends.\n\n{}",
        pairs::note(),
        pairs::table(&ROWS, plumb)?
    ))
}

/// A server, ended when it is dropped.
struct IperfServer(Child);

impl Drop for IperfServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a client with its server; what it printed, and the CPU time of both.
fn beside(server: &mut Command, client: &mut Command) -> BenchResult<(String, f64)> {
    let meter = UsageMeter::start(&[]);
    let running = IperfServer(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    // The servers have no way to say that they listen: their output goes nowhere.
    sleep(Duration::from_millis(200));
    let output = client.stderr(Stdio::null()).output()?;
    drop(running);
    let usage = meter.finish(&[]);
    let cpu = Duration::from_nanos(usage.user_ns + usage.system_ns).as_secs_f64();
    Ok((String::from_utf8(output.stdout)?, cpu))
}

/// Bytes that the receiver counted.
fn iperf3(words: &[&str]) -> BenchResult<Done> {
    // A port that the kernel knows to be free; it is free again once this listener is dropped.
    let port = TcpListener::bind((HOST, 0))?.local_addr()?.port().to_string();
    let seconds = SECONDS.to_string();
    let (printed, cpu) = beside(
        Command::new("iperf3").args(["-s", "-1", "-B", HOST, "-p", &port]),
        Command::new("iperf3").args(["-c", HOST, "-p", &port, "-J", "-t", &seconds]).args(words),
    )?;
    let document: Value = serde_json::from_str(&printed)?;
    let end = &document["end"];
    // Of datagrams `sum` has the bytes that were sent, and how many packets of these were lost.
    let rate = match end.get("sum_received").filter(|_| !words.contains(&"-u")) {
        Some(received) => figure(&received["bits_per_second"])? / 8.0,
        None => {
            let sum = &end["sum"];
            figure(&sum["bits_per_second"])? / 8.0 * (1.0 - figure(&sum["lost_percent"])? / 100.0)
        }
    };
    Ok(Done {
        rate,
        cpu: cpu / figure(&end["sum_sent"]["seconds"]).or(figure(&end["sum"]["seconds"]))?,
    })
}

fn figure(value: &Value) -> BenchResult<f64> {
    Ok(value.as_f64().ok_or("iperf3 printed no figure")?)
}

/// Datagrams that the kernel gave to programs, of which ping-pong takes two a request.
fn sockperf(mode: &str, bytes: &str) -> BenchResult<Done> {
    let port = UdpSocket::bind((HOST, 0))?.local_addr()?.port().to_string();
    let seconds = SECONDS.to_string();
    let received = datagrams_received()?;
    let began = Instant::now();
    let (printed, cpu) = beside(
        Command::new("sockperf").args(["server", "-i", HOST, "-p", &port]),
        Command::new("sockperf").args([mode, "-i", HOST, "-p", &port, "-m", bytes, "-t", &seconds]),
    )?;
    let elapsed = began.elapsed().as_secs_f64();
    let received = datagrams_received()? - received;
    #[expect(clippy::cast_precision_loss, reason = "two seconds")]
    let seconds = SECONDS as f64;
    if !printed.contains("Summary") {
        return Err(format!("sockperf {mode} took {elapsed:.1} s and said: {printed}").into());
    }
    // The kernel counts the request and the answer, because both ends are on this machine.
    let each = if mode == "ping-pong" { 2.0 } else { 1.0 };
    Ok(Done { rate: received / each / seconds, cpu: cpu / seconds })
}

/// `InDatagrams` of this machine.
fn datagrams_received() -> BenchResult<f64> {
    let text = read_to_string("/proc/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Udp: "));
    let names = lines.next().unwrap_or_default();
    let values = lines.next().unwrap_or_default();
    let at = names.split_whitespace().position(|name| name == "InDatagrams");
    let value = at.and_then(|at| values.split_whitespace().nth(at)).ok_or("no InDatagrams")?;
    Ok(value.parse()?)
}

/// Replies to a flood.
fn ping() -> BenchResult<Done> {
    let meter = UsageMeter::start(&[]);
    let output =
        Command::new("ping").args(["-n", "-f", "-q", "-w", &SECONDS.to_string(), HOST]).output()?;
    let usage = meter.finish(&[]);
    let text = String::from_utf8(output.stdout)?;
    // 300000 packets transmitted, 300000 received, 0% packet loss, time 1999ms
    let received: f64 = text
        .split_once(" received")
        .and_then(|(before, _)| before.split_whitespace().last())
        .ok_or_else(|| format!("ping printed no figure: {text}"))?
        .parse()?;
    let time = text.split("time ").nth(1).and_then(|rest| rest.split("ms").next());
    let seconds = time.ok_or("ping printed no time")?.parse::<f64>()? / 1000.0;
    let cpu = Duration::from_nanos(usage.user_ns + usage.system_ns).as_secs_f64();
    Ok(Done { rate: received / seconds, cpu: cpu / seconds })
}
