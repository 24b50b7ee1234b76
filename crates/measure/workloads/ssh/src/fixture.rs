//! The servers of the family: one of the fixture, on loopback, and one at the far end of a path or on another machine; and the client
//! that logs in there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumb_model::{Parameter, Ready, Requirement};
use plumb_protocol::{Failure, Held, Start, StartError};
use plumb_workload_ends::cpu_time;
use plumb_workload_ends::token::at_far_end;
use plumb_workload_kit::declare::{choice, text};
use plumb_workload_kit::processes::{cpu_ns, descendants};
use plumb_workload_kit::ssh::{
    ClientElsewhere, KNOWN_HOSTS, KeyKind, Listening, OtherPrograms, Serves, SshClient, SshTools,
    Sshd, UserAccount, known_host,
};
use plumb_workload_path::{self as path, End, PathKind, PathSettings};

/// How endpoints begin of a server that is not the fixture's: on another machine, or at the far end of a path.
const FAR: &str = "far.";

/// The parameters that name programs of another build.
const CLIENT: &str = "client";
const SERVER: &str = "server";

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

/// The parameters of every workload of the family.
pub(crate) fn parameters() -> Vec<Parameter> {
    let mut all = vec![
        text(CLIENT, "", "absolute path of another ssh; empty: the installed one"),
        text(SERVER, "", "absolute path of another sshd; empty: the installed one"),
    ];
    all.extend(path::parameters());
    all
}

/// The parameters on which the server of every workload of the family depends.
pub(crate) fn shared_parameters() -> Vec<String> {
    let mut shared = path::PARAMETERS.map(str::to_owned).to_vec();
    shared.extend([CLIENT, SERVER].map(str::to_owned));
    shared
}

/// Whether a session compresses what it carries.
pub(crate) fn compression() -> Parameter {
    choice("compression", &["no", "yes"], "whether ssh compresses the data (zlib), as with -C")
}

/// Starts the fixture's server, with keys of this kind for server and client.
///
/// # Errors
/// Unsupported if something of the machine is missing.
pub(crate) fn prepare(start: &Start, keys: KeyKind) -> Result<(Ready, Box<dyn Held>), StartError> {
    let tools = tools(start)?;
    let (sshd, told) = server(start, &tools, &Listening { keys, ..Listening::default() })?;
    let own = [
        ("ssh", tools.ssh.display().to_string()),
        ("folder", sshd.folder().display().to_string()),
        ("default_ciphers", tools.default_ciphers()?),
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
    if start.far_address().is_some() && !start.text(SERVER).is_empty() {
        return Err(StartError::unsupported(
            "plumb starts only the installed sshd on another machine",
            "leave out `server`, or --to",
        ));
    }
    let address = path::enter_as_user(start, End::Far)?;
    let key = endpoint(start, "key")?.trim().to_owned();
    let client = Some(ClientElsewhere { key, command });
    // A client of another build is no program of another machine.
    let tools = match start.far_address() {
        Some(_) => SshTools::find(OtherPrograms::default())?,
        None => tools(start)?,
    };
    let (sshd, told) = server(start, &tools, &Listening { address, client, keys })?;
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
    if !start.text(SERVER).is_empty() {
        names.extend(["server.openssh", "server.openssl"]);
    }
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
            let mut openssh = endpoint(start, &format!("{end}openssh"))?.to_owned();
            if !start.text(SERVER).is_empty() {
                openssh += &format!(" with the server {}", endpoint(start, "server.openssh")?);
            }
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
        is_compressed: start.text("compression") == "yes",
    })
}

/// The algorithms on which both ends agreed, checked against the requested ones.
///
/// # Errors
/// If they use others.
pub(crate) fn check_agreed(start: &Start, agreed: &str, default: &str) -> Result<(), Failure> {
    let cipher = start.text("cipher");
    let is_cipher = cipher == default || agreed.contains(&format!("cipher: {cipher} "));
    // Compression begins after the login (zlib@openssh.com), or, of old releases, before (zlib).
    let is_compressed = agreed.contains("compression: zlib");
    if is_cipher && is_compressed == (start.text("compression") == "yes") {
        return Ok(());
    }
    let compression = if is_compressed { "without" } else { "with" };
    Err(Failure(format!(
        "requested {cipher} {compression} compression, but the session uses `{agreed}`"
    )))
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

/// The programs of this machine that the point asks for.
fn tools(start: &Start) -> Result<SshTools, StartError> {
    SshTools::find(OtherPrograms { client: start.text(CLIENT), server: start.text(SERVER) })
}

/// A server, and what it and the programs of its machine are.
fn server(
    start: &Start,
    tools: &SshTools,
    listening: &Listening,
) -> Result<(Sshd, Vec<(String, String)>), StartError> {
    let user = UserAccount::current()?;
    let (openssh, openssl) = tools.client_versions()?;
    let (of_server, library_of_server) = tools.server_versions()?;
    let serves = (Serves::Commands, listening);
    let sshd = Sshd::start(Path::new(&start.scratch), tools, &user, serves)?;
    let mut told = vec![
        ("server", sshd.address().to_string()),
        ("sshd", sshd.pid().to_string()),
        ("user", user.name),
        ("openssh", openssh),
        ("openssl", openssl),
        ("server.openssh", of_server),
        ("server.openssl", library_of_server),
    ];
    if let Some(offers) = sshd.offers() {
        told.push(("ciphers", offers.ciphers.clone()));
        told.push(("macs", offers.macs.clone()));
        told.push(("kexes", offers.exchanges.clone()));
    }
    let told = told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok((sshd, told))
}
