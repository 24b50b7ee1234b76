//! Servers of datastores: the one that plumb starts for a run, or the one that `url` names.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, Start, StartError};
use plumb_workload_ends::cpu_time;
use plumb_workload_kit::installed_server::{InstalledServer, OWNER, ServerKind};
use plumb_workload_kit::processes::descendants;

use crate::engine::{Durability, EngineKind};
use crate::key_space::KeySpace;

/// The endpoints of a server that plumb started: its port, and its process, by the name that all servers have for it.
const PORT: &str = "port";
const PROCESS: &str = "pid";
/// Those of a server that wants a login: the user, and the file with the password, which no store keeps.
const USER: &str = "user";
const PASSWORD_FILE: &str = "password_file";

/// The usual port of an engine's servers; None if it is built in.
fn usual_port(kind: EngineKind) -> Option<u16> {
    match kind {
        EngineKind::Postgresql => Some(5432),
        EngineKind::Etcd => Some(2379),
        EngineKind::Redis => Some(6379),
        EngineKind::Memcached => Some(11211),
        EngineKind::Sqlite | EngineKind::Redb | EngineKind::Files | EngineKind::Log => None,
    }
}

/// Where a server is, and who may use it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    scheme: &'static str,
    host: String,
    port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// The database there; None for the usual one.
    pub(super) database: Option<String>,
    /// The process of a server that plumb started.
    process: Option<u32>,
    /// The keys that this process has there.
    pub(super) keys: KeySpace,
}

/// As a URL without user and password.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.host, self.port)
    }
}

impl ServerAddress {
    /// The server that `url` names, or the one that plumb started; None if the engine is built in.
    ///
    /// # Errors
    /// If the URL is none of this engine.
    pub(super) fn of(start: &Start, kind: EngineKind) -> Result<Option<Self>, StartError> {
        let url = start.text("url");
        match (url.is_empty(), kind.is_embedded()) {
            (true, true) => Ok(None),
            (true, false) => Self::started(start, kind).map(Some),
            (false, _) => Self::read(url, kind).map(Some),
        }
    }

    /// The server that plumb started.
    fn started(start: &Start, kind: EngineKind) -> Result<Self, StartError> {
        let number = |name: &str| {
            start
                .endpoints
                .get(name)
                .and_then(|text| text.parse::<u32>().ok())
                .ok_or_else(|| Failure(format!("the server of {} has no {name}", kind.name())))
        };
        Ok(Self {
            scheme: kind.name(),
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: u16::try_from(number(PORT)?).unwrap_or(0),
            user: start.endpoints.get(USER).cloned(),
            password: start
                .endpoints
                .get(PASSWORD_FILE)
                .map(|file| password_in(file))
                .transpose()?,
            database: None,
            process: Some(number(PROCESS)?),
            keys: KeySpace::fresh()?,
        })
    }

    /// Reads the URL of a server of this engine: `ENGINE://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`.
    fn read(url: &str, kind: EngineKind) -> Result<Self, StartError> {
        let wrong = |why: String| {
            let form = format!("{}://HOST:PORT", kind.name());
            StartError::unsupported(
                why,
                format!("set `url={form}`, or omit `url` to let plumb start a server"),
            )
        };
        let Some(usual_port) = usual_port(kind) else {
            let names = "`engine=postgresql`, etcd, redis or memcached";
            return Err(StartError::unsupported(
                format!("{} is built into plumb and has no URL", kind.name()),
                format!("leave out `url`, or set {names}"),
            ));
        };
        let rest = url
            .strip_prefix(kind.name())
            .and_then(|rest| rest.strip_prefix("://"))
            .ok_or_else(|| wrong(format!("the URL does not begin with {}://", kind.name())))?;
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let (place, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => {
                let number = port.parse();
                (host, number.map_err(|_| wrong(format!("`{port}` is not a port")))?)
            }
            None => (place, usual_port),
        };
        if host.is_empty() {
            return Err(wrong("the URL names no host".to_owned()));
        }
        let (user, password) = match login.map(|login| login.split_once(':')) {
            None => (None, None),
            Some(Some((user, password))) => (Some(user), Some(password)),
            Some(None) => return Err(wrong("the URL has a user without a password".to_owned())),
        };
        let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self {
            scheme: kind.name(),
            host: host.to_owned(),
            port,
            user: given(user),
            password: given(password),
            database: given(Some(database)),
            process: None,
            keys: KeySpace::fresh()?,
        })
    }

    /// Whether plumb started it for this run.
    pub(super) fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    /// The processes of a server that plumb started, its first one in front: PostgreSQL has one per client.
    pub(super) fn processes(&self) -> Vec<u32> {
        let first = self.process.into_iter();
        first.flat_map(|process| [vec![process], descendants(process)].concat()).collect()
    }

    /// Connects to it.
    ///
    /// # Errors
    /// Unsupported if the name is unknown, or nobody answers within this time.
    pub(super) fn connect(&self, within: Duration) -> Result<TcpStream, StartError> {
        let unreachable = |why: String| {
            StartError::unsupported(
                format!("{self} can't be reached: {why}"),
                "start the server, or correct `url`",
            )
        };
        let addresses = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| unreachable(error.to_string()))?;
        let mut why = "its name has no address".to_owned();
        for address in addresses {
            match TcpStream::connect_timeout(&address, within) {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error.to_string(),
            }
        }
        Err(unreachable(why))
    }
}

/// Starts the server that the parameters ask for, if they ask for one that is not there yet.
///
/// # Errors
/// Unsupported if its program is not installed, or exits during start-up.
pub(super) fn prepare(start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
    let (kind, durability) = EngineKind::of(start)?;
    if !start.text("url").is_empty() {
        ServerAddress::read(start.text("url"), kind)?;
        return Ok((Ready::default(), Box::new(())));
    }
    let kind = match kind {
        EngineKind::Postgresql => ServerKind::Postgresql,
        EngineKind::Etcd => ServerKind::Etcd,
        EngineKind::Redis => ServerKind::Redis { is_logged: durability != Durability::None },
        EngineKind::Memcached => ServerKind::Memcached,
        EngineKind::Sqlite | EngineKind::Redb | EngineKind::Files | EngineKind::Log => {
            return Ok((Ready::default(), Box::new(())));
        }
    };
    let server =
        InstalledServer::start(kind, Path::new(&start.dir)).map_err(|error| match error {
            StartError::Unsupported { why, fix } => {
                StartError::unsupported(why, format!("{fix}, or set `url` to a running server"))
            }
            failed @ StartError::Failed(_) => failed,
        })?;
    let process = server.process();
    let mut endpoints = BTreeMap::from([
        (PORT.to_owned(), server.port().to_string()),
        (PROCESS.to_owned(), process.to_string()),
        cpu_time::of_process(process),
    ]);
    if kind == ServerKind::Postgresql {
        endpoints.insert(USER.to_owned(), OWNER.to_owned());
        endpoints.insert(PASSWORD_FILE.to_owned(), server.password_file().display().to_string());
    }
    Ok((Ready { endpoints, ..Ready::default() }, Box::new(server)))
}

/// The password in a file.
fn password_in(file: &str) -> Result<String, Failure> {
    let text = fs::read_to_string(file);
    Ok(text.map_err(|error| Failure::io(format!("reading {file}"), &error))?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use plumb_protocol::StartError;

    use super::{EngineKind, ServerAddress};

    #[test]
    fn urls_name_a_host_and_perhaps_a_port_and_a_login() {
        let read = |url: &str| {
            ServerAddress::read(url, EngineKind::Redis).map(|address| {
                (address.to_string(), address.user.clone(), address.password.clone())
            })
        };
        let shown = |url: &str| read(url).unwrap().0;
        assert_eq!(shown("redis://db.example:7000"), "redis://db.example:7000");
        assert_eq!(shown("redis://db.example/"), "redis://db.example:6379");
        let (text, user, password) = read("redis://me:se:c@ret@db.example").unwrap();
        assert_eq!(text, "redis://db.example:6379");
        assert_eq!((user.as_deref(), password.as_deref()), (Some("me"), Some("se:c@ret")));
        assert_eq!(read("redis://:secret@db.example").unwrap().1, None);
        for wrong in ["memcached://a", "redis:a", "redis://", "redis://a:port", "redis://me@a"] {
            let Err(StartError::Unsupported { why, fix }) = read(wrong) else {
                panic!("{wrong} was read");
            };
            assert!(!why.is_empty() && fix.contains("redis://HOST:PORT"), "{why}; {fix}");
        }
    }
}
