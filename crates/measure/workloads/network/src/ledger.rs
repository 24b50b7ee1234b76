//! Where datagrams that did not arrive were dropped: counters of the kernel in the network namespace of the calling thread.
#![expect(unsafe_code, reason = "SO_MEMINFO has no safe form")]

use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;

use plumb_workload_kit::ended;
use plumb_workload_kit::tool::tool;
use serde_json::Value;

/// Of linux/sock_diag.h: numbers of `SO_MEMINFO`, and the place of the drops in them.
const MEMINFO: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// If no path was made: the loopback device has a backlog only, and what comes from elsewhere may come by any device.
const LOOPBACK: &str = "lo";

/// Packets that a device dropped before they came to a socket: where its queue was full.
pub(crate) fn received_drops(device: &str) -> u64 {
    let devices = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    if device == LOOPBACK {
        return backlog_drops() + receive_drops_of(&devices, |_| true);
    }
    receive_drops_of(&devices, |name| name == device)
}

/// The column `drop` of `Receive` in /proc/net/dev, of these devices.
fn receive_drops_of(devices: &str, are: impl Fn(&str) -> bool) -> u64 {
    let of_devices = devices.lines().filter_map(|line| line.split_once(':'));
    let of_these = of_devices.filter(|(name, _)| are(name.trim()));
    of_these.filter_map(|(_, numbers)| numbers.split_whitespace().nth(3)?.parse::<u64>().ok()).sum()
}

/// Packets of the whole machine for which the queue of a CPU had no room.
fn backlog_drops() -> u64 {
    let of_cpus = fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    second_columns(&of_cpus)
}

fn second_columns(of_cpus: &str) -> u64 {
    // The second number of each line, in hexadecimal digits, counts what the backlog of a CPU dropped.
    of_cpus
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok())
        .sum()
}

/// Packets that the queue of a device dropped before it sent them; 0 if there is no `tc` to ask.
pub(crate) fn queue_drops(device: &str) -> u64 {
    let mut ask: Command = tool("tc");
    let told = ended::output(ask.args(["-s", "-j", "qdisc", "show", "dev", device]));
    told.ok().and_then(|told| drops_of_queues(&told.stdout)).unwrap_or(0)
}

fn drops_of_queues(told: &[u8]) -> Option<u64> {
    let queues: Value = serde_json::from_slice(told).ok()?;
    let queues = queues.as_array()?;
    Some(queues.iter().filter_map(|queue| queue.get("drops")?.as_u64()).sum())
}

/// Datagrams for which the buffer of a socket had no room.
pub(crate) fn socket_drops(socket: &UdpSocket) -> u64 {
    let mut numbers = [0_u32; MEMINFO];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    let socket = socket.as_raw_fd();
    let into = numbers.as_mut_ptr().cast();
    // SAFETY: the kernel writes no more than `length` bytes.
    let told = unsafe {
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, into, &raw mut length)
    };
    if told < 0 { 0 } else { u64::from(numbers[MEMINFO_DROPS]) }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::{drops_of_queues, receive_drops_of, second_columns, socket_drops};

    #[test]
    fn counters_are_found_in_what_the_kernel_says() {
        let devices = "Inter-|   Receive                          |  Transmit\n \
            face |bytes packets errs drop fifo frame compressed multicast|bytes\n\
            \x20   lo: 1 2 3 4 5 6 7 8 9 10\n  far: 100 20 0 17 0 0 0 0 5 6 0 8\n";
        let of = |wanted: &str| receive_drops_of(devices, |name| name == wanted);
        assert_eq!((of("far"), of("x"), receive_drops_of(devices, |_| true)), (17, 0, 21));
        assert_eq!(second_columns("00ff 0000000a 0\n00ff 00000001 0\n"), 11);
        let told = br#"[{"kind":"tbf","handle":"8001:","drops":12},{"kind":"noqueue"}]"#;
        assert_eq!(drops_of_queues(told), Some(12));
    }

    #[test]
    fn a_full_socket_counts_what_it_drops() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let before = socket_drops(&socket);
        for _ in 0..2000 {
            sender.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        }
        assert_eq!(before, 0);
        assert!(socket_drops(&socket) > 100, "{}", socket_drops(&socket));
    }
}
