//! Installed servers of datastores, started for a run: on loopback, on a free port, in a folder of their own, and without
//! the privileges of root.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Held, StartError};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::ended;
use crate::folder::Folder;
use crate::listening::{ListenerTransport, listens};
use crate::loopback;
use crate::processes::{die_with_parent, kill_tree, unprivileged, without_privileges};
use crate::tool::{last_line, program};

/// The user of the servers that want a login.
pub const OWNER: &str = "plumb";
/// A server is ready within this time, or not at all.
const READY: Duration = Duration::from_secs(20);
/// Another program may take the free port before the server does.
const ATTEMPTS: usize = 3;
/// The files of a server in its folder: its log, its data and a password.
const LOG: &str = "server.log";
const DATA: &str = "data";
const PASSWORD: &str = "password";
/// Where Debian has the versions of PostgreSQL, which are not on the path, because several may be installed.
const POSTGRESQL_VERSIONS: &str = "/usr/lib/postgresql";
/// Memory that memcached may use at most, in bytes; it takes it as it needs it.
pub const MEMCACHED_BYTES: u64 = 1 << 30;

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// PostgreSQL with scram-sha-256 and the password in a file.
    Postgresql,
    /// A cluster of one etcd.
    Etcd,
    /// Redis or Valkey, whose log is synced after each write or not written at all.
    Redis {
        /// Whether there is a log.
        is_logged: bool,
    },
    /// A memcached that takes up to a gibibyte.
    Memcached,
}

impl ServerKind {
    /// The names of its program; the first is the usual one.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Postgresql => &["postgres"],
            Self::Etcd => &["etcd"],
            Self::Redis { .. } => &["redis-server", "valkey-server"],
            Self::Memcached => &["memcached"],
        }
    }

    /// The package of Debian that has it.
    fn package(self) -> &'static str {
        match self {
            Self::Postgresql => "postgresql",
            Self::Etcd => "etcd-server",
            Self::Redis { .. } => "redis-server",
            Self::Memcached => "memcached",
        }
    }

    /// Its program.
    ///
    /// # Errors
    /// Unsupported if it is not installed.
    fn find(self) -> Result<PathBuf, StartError> {
        let on_path = || self.programs().iter().find_map(|name| program(name));
        let found = match self {
            Self::Postgresql => postgresql_program("postgres"),
            Self::Etcd | Self::Redis { .. } | Self::Memcached => on_path(),
        };
        found.ok_or_else(|| {
            StartError::unsupported(
                format!("{} is not installed", self.programs()[0]),
                format!("apt-get install {}", self.package()),
            )
        })
    }
}

/// A program of the newest PostgreSQL.
#[must_use]
pub fn postgresql_program(name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir(POSTGRESQL_VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .map(|version| (version, format!("{POSTGRESQL_VERSIONS}/{version}/bin/{name}")))
        .filter(|(_, path)| Path::new(path).exists())
        .max();
    newest.map(|(_, path)| PathBuf::from(path)).or_else(|| program(name))
}

/// A server that runs for this run alone; dropping it ends it.
#[derive(Debug)]
pub struct InstalledServer {
    child: Child,
    port: u16,
    // Removed after the server has ended.
    folder: Folder,
}

impl Held for InstalledServer {}

impl InstalledServer {
    /// Starts one in a new folder of this directory.
    ///
    /// # Errors
    /// Unsupported if its program is not installed, or exits during start-up.
    pub fn start(kind: ServerKind, dir: &Path) -> Result<Self, StartError> {
        loopback::check()?;
        let path = kind.find()?;
        for _ in 0..ATTEMPTS {
            if let Some(running) = Self::attempt(kind, &path, dir, free_port()?)? {
                return Ok(running);
            }
        }
        Err(StartError::Failed(format!("no free port for {}", path.display())))
    }

    /// A server on this port; None if another program has taken it.
    fn attempt(
        kind: ServerKind,
        program: &Path,
        dir: &Path,
        port: u16,
    ) -> Result<Option<Self>, StartError> {
        let folder = Folder::create(dir, "datastore-server")?;
        if kind == ServerKind::Postgresql {
            make_cluster(program, &folder)?;
        }
        let log = File::create(folder.path().join(LOG))
            .map_err(|error| Failure::io("creating the log of a server", &error))?;
        let errors = log
            .try_clone()
            .map_err(|error| Failure::io("opening the log of a server again", &error))?;
        let mut command = Command::new(program);
        command.args(arguments(kind, port)?).stdin(Stdio::null()).stdout(log).stderr(errors);
        without_privileges(&mut command, opened(&folder)?)?;
        die_with_parent(&mut command);
        let child = command
            .spawn()
            .map_err(|error| Failure::io(format!("starting {}", program.display()), &error))?;
        let mut server = Self { child, port, folder };
        let deadline = Instant::now() + READY;
        while Instant::now() < deadline {
            let has_ended = matches!(server.child.try_wait(), Ok(Some(_)));
            let text = server.log();
            if has_ended && text.to_lowercase().contains("address already in use") {
                return Ok(None);
            }
            if has_ended {
                let said = last_line(&text).unwrap_or("it printed no message");
                let name = program.display();
                return Err(StartError::unsupported(
                    format!("{name} exited during start-up: {said}"),
                    format!("run {name} by hand to find the cause"),
                ));
            }
            // These listen before they let anybody in.
            let is_ready = match kind {
                ServerKind::Postgresql => text.contains("ready to accept connections"),
                ServerKind::Etcd => text.contains("ready to serve client requests"),
                // Another program may have taken the port.
                ServerKind::Redis { .. } | ServerKind::Memcached => {
                    listens(server.child.id(), ListenerTransport::Tcp, port)
                }
            };
            if is_ready {
                if kind == ServerKind::Postgresql {
                    server.let_shared_memory_go();
                }
                return Ok(Some(server));
            }
            sleep(Duration::from_millis(2));
        }
        let text = server.log();
        let said = last_line(&text).unwrap_or("it printed no message");
        Err(StartError::Failed(format!(
            "{} did not start listening within {} s: {said}",
            program.display(),
            READY.as_secs()
        )))
    }

    /// The port of the loopback on which it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The id of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The file with the password of [`OWNER`], of servers that want a login.
    #[must_use]
    pub fn password_file(&self) -> PathBuf {
        self.folder.path().join(PASSWORD)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default()
    }

    /// Has the kernel remove PostgreSQL's segment of System V shared memory with the last process that uses it: after
    /// kill -9 nobody else would.
    fn let_shared_memory_go(&self) {
        let file = self.folder.path().join(DATA).join("postmaster.pid");
        let text = fs::read_to_string(file).unwrap_or_default();
        // The seventh line has the key and the id of the segment.
        let id = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
        if let Some(id) = id {
            // If it fails, the segment stays only if the server is killed.
            let _ = ended::output(Command::new("ipcrm").args(["-m", id]));
        }
    }
}

impl Drop for InstalledServer {
    fn drop(&mut self) {
        kill_tree(&mut self.child);
    }
}

/// How a server is started: on loopback alone, and in its folder.
fn arguments(kind: ServerKind, port: u16) -> Result<Vec<String>, Failure> {
    // etcd listens for other members of a cluster, too.
    let url = format!("http://127.0.0.1:{port}");
    let peers = format!("http://127.0.0.1:{}", free_port()?);
    let members = format!("default={peers}");
    let port = port.to_string();
    let mebibytes = (MEMCACHED_BYTES >> 20).to_string();
    let words = match kind {
        // Dynamic shared memory in files below the data goes with them, also after kill -9.
        ServerKind::Postgresql => vec![
            "-D",
            DATA,
            "-p",
            &port,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "dynamic_shared_memory_type=mmap",
            "-c",
            "max_connections=300",
        ],
        ServerKind::Etcd => vec![
            "--data-dir",
            DATA,
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
            "--listen-peer-urls",
            &peers,
            "--initial-advertise-peer-urls",
            &peers,
            "--initial-cluster",
            &members,
            // Without these, old generations fill its 2 GiB.
            "--quota-backend-bytes",
            "8589934592",
            "--auto-compaction-mode",
            "revision",
            "--auto-compaction-retention",
            "1000",
        ],
        ServerKind::Redis { is_logged } => vec![
            "--port",
            &port,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            if is_logged { "yes" } else { "no" },
            "--appendfsync",
            "always",
            "--daemonize",
            "no",
            "--dir",
            ".",
        ],
        // -M: it refuses entities that do not fit instead of forgetting others. -I: items of a mebibyte have a head, so
        // they need a limit of two.
        ServerKind::Memcached => {
            vec!["-l", "127.0.0.1", "-p", &port, "-U", "0", "-m", &mebibytes, "-M", "-I", "2m"]
        }
    };
    Ok(words.into_iter().map(str::to_owned).collect())
}

/// Makes an empty database cluster in a folder, with a password in a file next to it.
fn make_cluster(program: &Path, folder: &Folder) -> Result<(), StartError> {
    let nobody = unprivileged();
    if nobody.is_some() && !is_open_to_all(folder.path()) {
        return Err(StartError::unsupported(
            format!(
                "PostgreSQL refuses to run as root, and the user nobody can't reach {}",
                folder.path().display()
            ),
            "use --dir with a folder that all users can access, such as /var/tmp, or run plumb as another user",
        ));
    }
    let password = folder.path().join(PASSWORD);
    let text = format!("{:032x}", random()?);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&password)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| match nobody {
            Some((user, group)) => chown(&password, Some(user), Some(group)),
            None => Ok(()),
        });
    written.map_err(|error| Failure::io("writing a password", &error))?;
    let mut command = Command::new(program.with_file_name("initdb"));
    command.args(["-D", DATA, "-U", OWNER, "-A", "scram-sha-256", "--pwfile", PASSWORD]);
    // Without -N it waits until all files are on the disk.
    command.args(["-E", "UTF8", "--no-locale", "-N"]);
    without_privileges(&mut command, opened(folder)?)?;
    die_with_parent(&mut command);
    let output =
        ended::output(&mut command).map_err(|error| Failure::io("starting initdb", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let said = last_line(&text).unwrap_or("it printed no message");
    Err(StartError::unsupported(
        format!("initdb failed: {said}"),
        "run initdb by hand to find the cause",
    ))
}

/// Whether every user may enter a folder and all above it.
fn is_open_to_all(folder: &Path) -> bool {
    // The folder itself is given to the user.
    folder
        .ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty())
        .all(|above| fs::metadata(above).is_ok_and(|found| found.permissions().mode() & 0o001 != 0))
}

fn opened(folder: &Folder) -> Result<File, Failure> {
    File::open(folder.path())
        .map_err(|error| Failure::io(format!("opening {}", folder.path().display()), &error))
}

/// Random bits for a password.
fn random() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| Failure::io("random bytes", &error.into()))?;
    Ok(u128::from_le_bytes(bytes))
}

fn free_port() -> Result<u16, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Failure::io("looking for a free port", &error))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::{InstalledServer, ServerKind, is_open_to_all};

    #[test]
    fn every_server_listens_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for kind in [
            ServerKind::Postgresql,
            ServerKind::Etcd,
            ServerKind::Redis { is_logged: true },
            ServerKind::Memcached,
        ] {
            let server = InstalledServer::start(kind, folder.path())
                .unwrap_or_else(|error| panic!("{kind:?}: {error:?}"));
            let address = ("127.0.0.1", server.port());
            assert!(TcpStream::connect(address).is_ok(), "{kind:?}");
            drop(server);
            assert!(TcpStream::connect(address).is_err(), "{kind:?}");
            assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{kind:?}");
        }
    }

    #[test]
    fn a_folder_below_a_closed_one_is_closed() {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        let closed = tempfile::Builder::new().permissions(mode).tempdir().unwrap();
        let below = closed.path().join("below");
        std::fs::create_dir(&below).unwrap();
        assert!(!is_open_to_all(&below));
        assert!(is_open_to_all(closed.path()));
    }
}
