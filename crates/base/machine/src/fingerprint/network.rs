//! Network devices that are more than software.

use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;

const BASE: &str = "/sys/class/net";

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    let mut names = root.names(BASE);
    // Bridges, tunnels and the like have no device behind them.
    names.retain(|name| root.path(&format!("{BASE}/{name}/device")).exists());
    let devices: Vec<String> = names.iter().map(|name| device(root, name)).collect();
    facts.put("network_devices", (!devices.is_empty()).then(|| devices.join("; ")));
}

/// `eth0: virtio_net, 10000 Mbit/s full duplex, MTU 1500, offloads rx tx sg tso gso gro`.
fn device(root: &Root, name: &str) -> String {
    let says = |file: &str| root.text(&format!("{BASE}/{name}/{file}"));
    let driver = says("device/uevent").and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned)
    });
    // -1 if there is no link, or if the device does not know.
    let speed = says("speed").filter(|speed| !speed.starts_with('-'));
    let duplex = says("duplex").filter(|duplex| duplex != "unknown");
    let speed = speed.map(|speed| {
        let duplex = duplex.map_or_else(String::new, |duplex| format!(" {duplex} duplex"));
        format!("{speed} Mbit/s{duplex}")
    });
    // An ioctl asks the machine that plumb runs on, even if the files are a copy from another one.
    let offloads = if root.is_live() { offloads::of(name) } else { None };
    let parts = [
        driver,
        speed,
        says("mtu").map(|mtu| format!("MTU {mtu}")),
        offloads.map(|offloads| format!("offloads {offloads}")),
    ];
    format!("{name}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Offloads of a device, read by ethtool's ioctl.
#[expect(unsafe_code, reason = "SIOCETHTOOL has no wrapper")]
mod offloads {
    use std::os::fd::AsRawFd;

    /// Commands of linux/ethtool.h that answer with 0 or 1.
    const OFFLOADS: [(&str, u32); 6] =
        [("rx", 0x14), ("tx", 0x16), ("sg", 0x18), ("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];
    const SIOCETHTOOL: libc::Ioctl = 0x8946;

    /// The kernel's `struct ethtool_value`: a command, and its answer.
    #[repr(C)]
    struct EthtoolValue {
        command: u32,
        data: u32,
    }

    /// `struct ifreq` of net/if.h with a pointer to data, as large as the largest of its forms.
    #[repr(C)]
    struct InterfaceRequest {
        name: [u8; libc::IFNAMSIZ],
        data: *mut EthtoolValue,
        rest: [u64; 2],
    }

    /// The offloads that are on; None if the device can't be asked.
    pub fn of(device: &str) -> Option<String> {
        // The ioctl takes any socket; this kind needs no privileges.
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").ok()?;
        let on: Vec<bool> = OFFLOADS
            .iter()
            .map(|(_, command)| ask(&socket, device, *command))
            .collect::<Option<_>>()?;
        let mut names = Vec::new();
        for ((name, _), on) in OFFLOADS.iter().zip(on) {
            if on {
                names.push(*name);
            }
        }
        Some(if names.is_empty() { "none".to_owned() } else { names.join(" ") })
    }

    fn ask(socket: &std::net::UdpSocket, device: &str, command: u32) -> Option<bool> {
        let mut answer = EthtoolValue { command, data: 0 };
        let mut name = [0; libc::IFNAMSIZ];
        // The last byte stays zero.
        let space = name.get_mut(..device.len()).filter(|space| space.len() < libc::IFNAMSIZ)?;
        space.copy_from_slice(device.as_bytes());
        let mut request = InterfaceRequest { name, data: &raw mut answer, rest: [0; 2] };
        // SAFETY: the socket is open, and both structures live until the call has returned.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        (done == 0).then_some(answer.data != 0)
    }
}
