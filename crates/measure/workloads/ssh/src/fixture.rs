//! The servers of the family: one of the fixture, on loopback, and one at the far end of a path or on another machine; and the client
//! that logs in there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumb_model::{Ready, Requirement};
use plumb_protocol::{Failure, Held, Start, StartError};
use plumb_workload_ends::cpu_time;
use plumb_workload_ends::token::at_far_end;
use plumb_workload_kit::processes::{cpu_ns, descendants};
use plumb_workload_kit::ssh::{
    ClientElsewhere, KNOWN_HOSTS, KeyKind, Listening, Serves, SshClient, SshTools, Sshd,
    UserAccount, known_host,
};
use plumb_workload_path::{self as path, End, PathKind, PathSettings};

/// How endpoints begin of a server that is not the fixture's: on another machine, or at the far end of a path.
const FAR: &str = "far.";

/// Ciphers that OpenSSH removed in version 7.6 (its release notes, 2017-10-03).
const DROPPED: [&str; 5] = ["arcfour", "arcfour128", "arcfour256", "blowfish-cbc", "cast128-cbc"];

/// What every workload of the family needs.
pub(crate) fn requirements() -> Vec<Requirement> {
    vec![
        Requirement {
            needs: "ssh, sshd and ssh-keygen".into(),
            why: "plumb measures the installed OpenSSH".into(),
            fix: "apt-get install openssh-server openssh-client".into(),
        },
        Requirement {
            needs: "an account that may log in".into(),
            why: "the session runs a command as the current user".into(),
            fix: "a user with a login shell".into(),
        },
    ]
}

/// Starts the fixture's server, with keys of this kind for server and client.
///
/// # Errors
/// Unsupported if something of the machine is missing.
pub(crate) fn prepare(start: &Start, keys: KeyKind) -> Result<(Ready, Box<dyn Held>), StartError> {
    let (sshd, told) = server(start, &Listening { keys, ..Listening::default() })?;
    let tools = SshTools::find()?;
    let own = [
        ("ssh", tools.ssh.display().to_string()),
        ("folder", sshd.folder().display().to_string()),
        ("known_hosts", sshd.folder().join(KNOWN_HOSTS).display().to_string()),
        ("key", sshd.client_key()?),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    // Last, as it leaves this thread in a namespace.
    let (mut ready, path) = path::prepare(start)?;
    ready.endpoints.extend(told.into_iter().chain(own));
    Ok((ready, Box::new((sshd, path))))
}

/// Starts a server at the far end, unless that is the fixture's. Whoever has the key can run `command` there and nothing
/// else; without a command, on this machine alone, any.
///
/// # Errors
/// As for [`prepare`].
pub(crate) fn start_server(
    start: &Start,
    keys: KeyKind,
    command: Option<String>,
) -> Result<(Ready, Box<dyn Held>), StartError> {
    let is_loopback = PathSettings::read(start)?.kind == PathKind::Loopback;
    if is_loopback && start.far_address().is_none() {
        // It is that of the fixture.
        return Ok((Ready::default(), Box::new(())));
    }
    let address = path::enter_as_user(start, End::Far)?;
    let key = endpoint(start, "key")?.trim().to_owned();
    let client = Some(ClientElsewhere { key, command });
    let (sshd, told) = server(start, &Listening { address, client, keys })?;
    let (of_cpu, teller) = match start.far_address() {
        Some(address) => {
            let process = sshd.pid();
            // sshd forks a process per connection, which does the work.
            cpu_time::told_at(address, move || {
                descendants(process).into_iter().chain([process]).map(cpu_ns).sum()
            })?
        }
        // Their client reads that itself.
        None => (Vec::new(), Box::new(()) as Box<dyn Held>),
    };
    let far = told.into_iter().map(|(name, value)| (format!("{FAR}{name}"), value));
    let host_key = (format!("{FAR}host_key"), sshd.host_key()?);
    let endpoints = far.chain([host_key]).chain(of_cpu).collect();
    Ok((Ready { endpoints, ..Ready::default() }, Box::new((sshd, teller))))
}

/// The versions of OpenSSH and its library, of the far end, too, if that is another machine.
pub(crate) fn versions(start: &Start) -> BTreeMap<String, String> {
    let mut names = vec!["openssh", "openssl"];
    if start.far_address().is_some() {
        names.extend(["far.openssh", "far.openssl"]);
    }
    names
        .into_iter()
        .map(|name| (name.to_owned(), start.endpoints.get(name).cloned().unwrap_or_default()))
        .collect()
}

/// Whether both ends support what this parameter asks for; `known` is the endpoint that lists it.
///
/// # Errors
/// Unsupported if one does not.
pub(crate) fn check_known(start: &Start, name: &str, known: &str) -> Result<(), StartError> {
    let ends: &[&str] = if is_far(start) { &["", FAR] } else { &[""] };
    let wanted = start.text(name);
    for end in ends {
        if !endpoint(start, &format!("{end}{known}"))?.split(',').any(|known| known == wanted) {
            let openssh = endpoint(start, &format!("{end}openssh"))?;
            let dropped = match DROPPED.contains(&wanted) {
                true => ": OpenSSH dropped it in version 7.6",
                false => "",
            };
            return Err(StartError::unsupported(
                format!("{openssh} does not support {name} {wanted}{dropped}"),
                format!("`ssh -Q {name}` lists the supported ones"),
            ));
        }
    }
    Ok(())
}

/// The client that logs in at the server of the point.
///
/// # Errors
/// If the server reported too little of itself.
pub(crate) fn client(start: &Start) -> Result<SshClient, StartError> {
    let folder = PathBuf::from(endpoint(start, "folder")?);
    let (server, user, known_hosts) = if is_far(start) {
        let file = folder.join(format!("known-{}", std::process::id()));
        let known = known_host(endpoint(start, "far.host_key")?)
            .ok_or_else(|| Failure("the far end sent no host key".to_owned()))?;
        std::fs::write(&file, known)
            .map_err(|error| Failure::io(format!("writing {}", file.display()), &error))?;
        ("far.server", "far.user", file)
    } else {
        ("server", "user", PathBuf::from(endpoint(start, "known_hosts")?))
    };
    let server = endpoint(start, server)?.parse().map(|server| at_far_end(start, server));
    Ok(SshClient {
        ssh: PathBuf::from(endpoint(start, "ssh")?),
        server: server.map_err(|_| StartError::Failed("sshd reported no address".to_owned()))?,
        folder,
        known_hosts,
        user: endpoint(start, user)?.to_owned(),
        is_compressed: false,
    })
}

/// Whether the server is another than the fixture's.
pub(crate) fn is_far(start: &Start) -> bool {
    start.endpoints.contains_key(&format!("{FAR}server"))
}

/// What the servers reported under this name.
///
/// # Errors
/// If they did not.
pub(crate) fn endpoint<'s>(start: &'s Start, name: &str) -> Result<&'s str, StartError> {
    start
        .endpoints
        .get(name)
        .map(String::as_str)
        .ok_or_else(|| StartError::Failed(format!("sshd was not prepared: no `{name}`")))
}

/// A server, and what it and the programs of its machine are.
fn server(
    start: &Start,
    listening: &Listening,
) -> Result<(Sshd, Vec<(String, String)>), StartError> {
    let tools = SshTools::find()?;
    let user = UserAccount::current()?;
    let ciphers = tools.known("cipher")?;
    let macs = tools.known("mac")?;
    let exchanges = tools.known("kex")?;
    let (openssh, openssl) = tools.versions()?;
    let serves = Serves::Commands { ciphers: &ciphers, macs: &macs, exchanges: &exchanges };
    let sshd = Sshd::start(Path::new(&start.scratch), &tools, &user, (serves, listening))?;
    let told = [
        ("server", sshd.address().to_string()),
        ("sshd", sshd.pid().to_string()),
        ("user", user.name),
        ("ciphers", ciphers),
        ("macs", macs),
        ("kexes", exchanges),
        ("openssh", openssh),
        ("openssl", openssl),
    ];
    Ok((sshd, told.map(|(name, value)| (name.to_owned(), value)).into()))
}
