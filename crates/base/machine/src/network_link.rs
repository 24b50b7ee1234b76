//! The network device that the packets to an address leave by, and what its link carries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::root::Root;

/// Bytes of a frame on the wire around its IP packet: preamble, header, check sequence, and the gap after it (IEEE 802.3, 4A.4).
const AROUND_PACKET: u64 = 8 + 14 + 4 + 12;
/// Bytes of a packet that are no payload of TCP: its header with timestamps (RFC 7323), and that of IP.
const TCP_HEADER: u64 = 20 + 12;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;

/// A link between this machine and a network.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkLink {
    /// `1000 Mbit/s of eth0`.
    pub name: String,
    /// Bytes per second of payload that TCP can send through it, at most.
    pub tcp_bytes_per_s: f64,
}

/// The link that packets to this address leave by; None if no route leads there, or if the device is software or does not know its
/// speed.
#[must_use]
pub fn network_link(root: &Root, to: IpAddr) -> Option<NetworkLink> {
    let (device, ip_header) = match to {
        IpAddr::V4(address) => (ipv4_device(root, address)?, IPV4_HEADER),
        IpAddr::V6(address) => (ipv6_device(root, address)?, IPV6_HEADER),
    };
    let folder = format!("/sys/class/net/{device}");
    // Bridges and tunnels have no link of their own, and the speed of a veth is made up.
    let has_link =
        ["device", "bonding"].iter().any(|name| root.path(&format!("{folder}/{name}")).exists());
    if !has_link {
        return None;
    }
    // -1 without a carrier, and if the device does not know.
    let mbits = root.number(&format!("{folder}/speed")).filter(|mbits| *mbits > 0)?;
    let mtu = root.number(&format!("{folder}/mtu"))?;
    let payload = mtu.checked_sub(TCP_HEADER + ip_header)?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let share = payload as f64 / (mtu + AROUND_PACKET) as f64;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let bytes_per_s = mbits as f64 * 1e6 / 8.0;
    Some(NetworkLink {
        name: format!("{mbits} Mbit/s of {device}"),
        tcp_bytes_per_s: bytes_per_s * share,
    })
}

/// The device of the most specific route in /proc/net/route: numbers in hexadecimal, in the byte order of this machine.
fn ipv4_device(root: &Root, to: Ipv4Addr) -> Option<String> {
    let text = root.text("/proc/net/route")?;
    let routes = text.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [device, destination, _, flags, _, _, metric, mask, ..] = words[..] else {
            return None;
        };
        let destination = u32::from_be(hexadecimal(destination)?);
        let mask = u32::from_be(hexadecimal(mask)?);
        let is_used = hexadecimal(flags)? & ROUTE_UP != 0 && u32::from(to) & mask == destination;
        let metric: u32 = metric.parse().ok()?;
        is_used.then(|| (mask.leading_ones(), std::cmp::Reverse(metric), device.to_owned()))
    });
    routes.max().map(|(_, _, device)| device)
}

/// The same in /proc/net/ipv6_route: destination and length of the prefix first, the device last.
fn ipv6_device(root: &Root, to: Ipv6Addr) -> Option<String> {
    let text = root.text("/proc/net/ipv6_route")?;
    let routes = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [destination, length, _, _, _, metric, _, _, flags, device] = words[..] else {
            return None;
        };
        let destination = u128::from_str_radix(destination, 16).ok()?;
        let length = hexadecimal(length)?;
        let mask = u128::MAX.checked_shl(128_u32.checked_sub(length)?).unwrap_or(0);
        let is_used = hexadecimal(flags)? & ROUTE_UP != 0 && u128::from(to) & mask == destination;
        let metric = hexadecimal(metric)?;
        is_used.then(|| (length, std::cmp::Reverse(metric), device.to_owned()))
    });
    routes.max().map(|(_, _, device)| device)
}

fn hexadecimal(word: &str) -> Option<u32> {
    u32::from_str_radix(word, 16).ok()
}

/// RTF_UP of linux/route.h.
const ROUTE_UP: u32 = 1;

#[cfg(test)]
mod tests {
    use super::network_link;
    use crate::root::{Root, plant};

    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
wlan0\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
veth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
eth1\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
";
    const ROUTES_6: &str = "\
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
20010db8000000000000000000000000 20 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
";

    fn limit(to: &str) -> Option<(String, f64)> {
        let tree = plant(&[
            ("/proc/net/route", ROUTES),
            ("/proc/net/ipv6_route", ROUTES_6),
            ("/sys/class/net/eth0/device/uevent", "DRIVER=igb\n"),
            ("/sys/class/net/eth0/speed", "1000\n"),
            ("/sys/class/net/eth0/mtu", "1500\n"),
            ("/sys/class/net/eth1/device/uevent", "DRIVER=mlx5_core\n"),
            ("/sys/class/net/eth1/speed", "25000\n"),
            ("/sys/class/net/eth1/mtu", "9000\n"),
            ("/sys/class/net/veth1/speed", "10000\n"),
            ("/sys/class/net/veth1/mtu", "1500\n"),
        ]);
        let link = network_link(&Root::at(tree.path()), to.parse().unwrap())?;
        Some((link.name, link.tcp_bytes_per_s))
    }

    #[test]
    fn the_most_specific_route_with_the_lowest_metric_counts() {
        let (name, bytes) = limit("192.0.2.1").unwrap();
        assert_eq!(name, "1000 Mbit/s of eth0");
        // The 941 Mbit/s that iperf3 reports over Gigabit Ethernet.
        assert!((bytes * 8.0 / 1e6 - 941.48).abs() < 0.01, "{bytes}");
        let (name, bytes) = limit("10.1.7.7").unwrap();
        assert_eq!(name, "25000 Mbit/s of eth1");
        assert!((bytes * 8.0 / 1e6 - 24_750.0).abs() < 2.0, "{bytes}");
        // A veth has no link.
        assert_eq!(limit("10.200.0.1"), None);
    }

    #[test]
    fn routes_of_both_protocols_are_read() {
        assert_eq!(limit("2001:db8::7").unwrap().0, "25000 Mbit/s of eth1");
        let (name, bytes) = limit("2001:4860::8888").unwrap();
        assert_eq!(name, "1000 Mbit/s of eth0");
        assert!((bytes * 8.0 / 1e6 - 928.48).abs() < 0.01, "{bytes}");
    }

    #[test]
    fn without_routes_or_a_speed_nothing_is_known() {
        let tree = plant(&[("/proc/net/route", ROUTES), ("/sys/class/net/eth0/speed", "-1\n")]);
        assert_eq!(network_link(&Root::at(tree.path()), "192.0.2.1".parse().unwrap()), None);
        let broken = ROUTES_6.replace(" 20 ", " ff ");
        let tree =
            plant(&[("/proc/net/route", "broken\nx y\n"), ("/proc/net/ipv6_route", &broken)]);
        assert_eq!(network_link(&Root::at(tree.path()), "2001:db8::7".parse().unwrap()), None);
        assert_eq!(network_link(&Root::at(tree.path()), "192.0.2.1".parse().unwrap()), None);
    }
}
