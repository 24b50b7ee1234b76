//! Whether a process listens on a port of the loopback, by the tables of the kernel: a server would take a connection for a
//! client, and another program may have taken the port.

use std::fs;
use std::net::Ipv4Addr;

/// The transport of a server.
#[derive(Debug, Clone, Copy)]
pub enum ListenerTransport {
    /// The server waits for TCP connections.
    Tcp,
    /// The server waits for UDP datagrams.
    Udp,
}

/// Whether this process listens on this port of 127.0.0.1.
#[must_use]
pub fn listens(process: u32, transport: ListenerTransport, port: u16) -> bool {
    let Some(inode) = socket(transport, port) else { return false };
    let wanted = format!("socket:[{inode}]");
    fs::read_dir(format!("/proc/{process}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|link| fs::read_link(link.path()).is_ok_and(|target| target.as_os_str() == &*wanted))
}

/// The inode of the socket that listens on this port.
fn socket(transport: ListenerTransport, port: u16) -> Option<String> {
    // States of include/net/tcp_states.h: TCP_LISTEN, and TCP_CLOSE, which a UDP socket without a peer has.
    let (table, state) = match transport {
        ListenerTransport::Tcp => ("/proc/net/tcp", "0A"),
        ListenerTransport::Udp => ("/proc/net/udp", "07"),
    };
    let table = fs::read_to_string(table).unwrap_or_default();
    let address = u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets());
    let local = format!("{address:08X}:{port:04X}");
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_wanted = fields.get(1) == Some(&&*local) && fields.get(3) == Some(&state);
        if is_wanted { fields.get(9).map(|inode| (*inode).to_owned()) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::process::id;

    use super::{ListenerTransport, listens};

    #[test]
    fn a_process_listens_on_the_ports_that_it_has_bound() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        assert!(listens(id(), ListenerTransport::Tcp, port));
        assert!(!listens(1, ListenerTransport::Tcp, port));
        assert!(listens(id(), ListenerTransport::Udp, udp.local_addr().unwrap().port()));
        drop(tcp);
        assert!(!listens(id(), ListenerTransport::Tcp, port));
    }
}
