//! Socket buffers that are smaller than what a path can hold.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Small socket buffers: of the point, or of the machine.
pub const CAUSE: Cause = Cause {
    name: "socket-buffer",
    summary: "small socket buffers",
    manual: include_str!("socket_buffer.md"),
    suspect,
};

/// What a TCP socket may grow to by default is 4 MiB to send and 6 MiB to receive.
const SMALL: u64 = 1 << 20;
/// The files with the minimum, default and maximum of TCP's buffers, and the kernel's defaults (`ip-sysctl.rst`).
const LIMITS: [(&str, &str); 2] =
    [("net.ipv4.tcp_rmem", "4096 131072 6291456"), ("net.ipv4.tcp_wmem", "4096 16384 4194304")];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    // A workload without the parameter has no TCP connection whose buffers matter.
    let own = suspect.setting("buffer").and_then(Value::integer)?;
    if own > 0 {
        return Some(Suspicion {
            evidence: format!("the point has {}", suspect.typed_setting("buffer")?),
            is_common: false,
            ways: vec![Removal::Parameters(vec![("buffer", Value::Integer(0))])],
            remedy: remedy("leave the size of the buffers to the kernel (no SO_SNDBUF, SO_RCVBUF)"),
        });
    }
    let mut small = Vec::new();
    let mut knobs = Vec::new();
    let mut commands = Vec::new();
    for (name, usual) in LIMITS {
        let text = suspect.root.text(&format!("/proc/sys/{}", name.replace('.', "/")))?;
        let most: u64 = text.split_whitespace().nth(2)?.parse().ok()?;
        if most < SMALL {
            small.push(format!("{name} allows at most {most} B"));
            knobs.push(format!("sysctl.{name}={usual}"));
            commands.push(format!("sysctl -w {name}='{usual}'"));
        }
    }
    (!small.is_empty()).then(|| Suspicion {
        evidence: small.join(", "),
        is_common: false,
        ways: vec![Removal::Knobs(knobs)],
        remedy: Remedy {
            command: commands.join("; "),
            ..remedy("raise the limits of TCP's buffers in /etc/sysctl.d")
        },
    })
}

fn remedy(text: &str) -> Remedy {
    Remedy { text: text.to_owned(), command: String::new() }
}
