//! The transports to other machines: what is started here so that a program runs there.

use plumb_model::{FarEnd, PEER_PORT};

use crate::refusal::LaunchRefusal;

/// What is started in place of ssh, with its first arguments, if it is set.
const SSH: &str = "PLUMB_SSH";
/// This binary, also if its file was replaced meanwhile.
pub(super) const OWN: &str = "/proc/self/exe";

/// What is done where ssh leads: `SIZE` is that of the binary. It says where its folder is, which address ssh reached and, once
/// the binary is there, what machine it is; then it waits for the end of its stdin. It is given as one line, as some login
/// shells (csh) take no others.
const SCRIPT: [&str; 9] = [
    "umask 077",
    r#"folder=$(mktemp -d "${TMPDIR:-/tmp}/plumb-far.XXXXXX") || exit 1"#,
    r#"trap 'rm -rf "$folder"' EXIT"#,
    // dash runs the trap on EXIT only if the shell exits itself, not if a signal ends it.
    "trap 'exit 1' HUP INT TERM PIPE",
    r#"echo "plumb-far: $folder""#,
    r#"echo "plumb-far: ${SSH_CONNECTION:-}""#,
    r#"head -c SIZE >"$folder/plumb" && chmod 700 "$folder/plumb" || exit 1"#,
    r#"machine=$("$folder/plumb" target "$folder") && echo "plumb-far: $machine" || exit 1"#,
    "cat >/dev/null",
];

/// How another machine is reached. What stands for the run says three lines: the place of its programs there (a folder with the
/// binary, or a session of a peer), the connection as SSH_CONNECTION tells it, and what machine it is.
#[derive(Debug)]
pub(super) enum Transport {
    /// The words that start ssh, up to the command there.
    Ssh { program: Vec<String>, to: Vec<String> },
    /// The words that start plumb as the way to a peer.
    Peer(Vec<String>),
}

impl Transport {
    /// To a machine; connections of ssh share this socket.
    pub fn to(far_end: &FarEnd, socket: &str) -> Self {
        match far_end {
            FarEnd::Ssh { destination, port } => Self::by_ssh(destination, *port, socket),
            FarEnd::Peer { host, port } => {
                let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                let place = format!("{host}:{}", port.unwrap_or(PEER_PORT));
                Self::Peer(vec![OWN.to_owned(), "reach".to_owned(), place])
            }
        }
    }

    fn by_ssh(destination: &str, port: Option<u16>, socket: &str) -> Self {
        let named = std::env::var(SSH).ok().filter(|words| !words.trim().is_empty());
        let program = named.unwrap_or_else(|| "ssh".to_owned());
        // ssh expands `%` in the path of its control socket.
        let mut to = vec!["-T".to_owned(), "-S".to_owned(), socket.replace('%', "%%")];
        for option in [
            // stdin carries the binary, so nobody could answer a question.
            "BatchMode=yes",
            "ConnectTimeout=10",
            // A machine that has vanished is noticed after 15 s; an idle TCP connection would never show it.
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            "ControlPersist=no",
            "ClearAllForwardings=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            // A terminal would change line ends and echo what is sent.
            "RequestTTY=no",
        ] {
            to.extend(["-o".to_owned(), option.to_owned()]);
        }
        to.extend(port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
        to.push(destination.to_owned());
        Self::Ssh { program: program.split_whitespace().map(str::to_owned).collect(), to }
    }

    /// Whether this binary has to be brought there.
    pub fn brings_plumb(&self) -> bool {
        matches!(self, Self::Ssh { .. })
    }

    /// What stands for the run, with a binary of this size.
    pub fn standing(&self, size: usize) -> Vec<String> {
        match self {
            Self::Peer(words) => words.clone(),
            Self::Ssh { program, to } => {
                let script = SCRIPT.join("; ").replace("SIZE", &size.to_string());
                let command = format!("exec sh -c {}", quoted(&script));
                [&program[..], &["-M".to_owned()], to, &[command]].concat()
            }
        }
    }

    /// plumb with these arguments, at its place there.
    pub fn plumb(&self, place: &str, arguments: &[String]) -> Vec<String> {
        match self {
            Self::Peer(words) => {
                let session = ["--session".to_owned(), place.to_owned()];
                [&words[..], &session, arguments].concat()
            }
            Self::Ssh { program, to } => {
                // The login shell there takes the command apart again, so each word is quoted for it.
                let mut command = format!("exec {}", quoted(&binary(place)));
                for argument in arguments {
                    command += " ";
                    command += &quoted(argument);
                }
                [&program[..], to, &[command]].concat()
            }
        }
    }

    /// Nothing answers there.
    pub fn not_reached(&self, why: &str) -> LaunchRefusal {
        let fix = match self {
            Self::Ssh { .. } => {
                "`ssh -o BatchMode=yes HOST` must connect without a prompt; PLUMB_SSH=\"ssh -F FILE\" selects another configuration"
            }
            Self::Peer(_) => {
                "start `plumb peer --listen 0.0.0.0` there, with the same binary and the same key; PLUMB_PEER_KEY=FILE selects the key file"
            }
        };
        let why = format!("can't reach the other machine: {why}");
        LaunchRefusal::Unsupported { why, fix: fix.into() }
    }

    /// plumb was brought there and does not work.
    pub fn does_not_run(&self, why: &str) -> LaunchRefusal {
        LaunchRefusal::Unsupported {
            why: format!("can't run plumb on the other machine: {why}"),
            fix: "both machines need the same architecture; the static build (`make dist`) runs with any libc; TMPDIR (or /tmp) there must allow programs to run"
                .into(),
        }
    }
}

/// The binary in the folder there.
pub(super) fn binary(place: &str) -> String {
    format!("{place}/plumb")
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{Transport, quoted};

    fn transport(far_end: &str) -> Transport {
        Transport::to(&far_end.parse().unwrap(), "/tmp/100%/ssh-0")
    }

    #[test]
    fn ssh_is_told_port_and_destination_last() {
        let Transport::Ssh { program, to } = transport("ssh:joe@[::1]:2222") else {
            unreachable!()
        };
        assert_eq!(program, ["ssh"]);
        assert_eq!(to[..3], ["-T", "-S", "/tmp/100%%/ssh-0"]);
        assert_eq!(to[to.len() - 3..], ["-p", "2222", "joe@::1"]);
        let server = transport("ssh:web1").plumb("/tmp/far", &["worker".to_owned()]);
        assert_eq!(server.last().unwrap(), "exec '/tmp/far/plumb' 'worker'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_peer_is_told_the_session_and_the_words_of_a_server() {
        let server = transport("peer:[::1]").plumb("abc", &["worker".to_owned(), "a.b".to_owned()]);
        assert_eq!(server[1..], ["reach", "[::1]:7587", "--session", "abc", "worker", "a.b"]);
        assert_eq!(transport("peer:web1:7000").standing(0)[1..], ["reach", "web1:7000"]);
    }
}
