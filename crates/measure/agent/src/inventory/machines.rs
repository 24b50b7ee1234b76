//! The hosts and groups of an inventory, and how to reach them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plumb_model::FarEnd;

use crate::destination::MachineAddress;

/// The group with all machines.
const ALL: &str = "all";
/// The group with machines that are in no other.
const UNGROUPED: &str = "ungrouped";

/// Variables that plumb would have to obey and does not, with what does the same.
const UNUSED: [(&str, &str); 4] = [
    ("ansible_password", "ssh needs a key"),
    ("ansible_ssh_pass", "ssh needs a key"),
    ("ansible_ssh_common_args", "put the options into ~/.ssh/config"),
    ("ansible_ssh_extra_args", "put the options into ~/.ssh/config"),
];

/// The beginning of a template of Ansible, whose value only Ansible knows.
const TEMPLATE: &str = "{{";
/// Variables that say how to connect.
const CONNECTION: [&str; 8] = [
    "ansible_connection",
    "ansible_host",
    "ansible_ssh_host",
    "ansible_user",
    "ansible_ssh_user",
    "ansible_port",
    "ansible_ssh_port",
    "ansible_ssh_private_key_file",
];

/// The variable with the price of a machine, and the label of its runs that holds it.
const PRICE: &str = "price";

/// Variables by name.
pub(super) type Variables = BTreeMap<String, String>;

/// An inventory, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// The hosts, in the order in which they first come.
    hosts: Vec<String>,
    /// What is said of each host itself.
    pub(super) variables: BTreeMap<String, Variables>,
    pub(super) groups: BTreeMap<String, InventoryGroup>,
}

/// A group of hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct InventoryGroup {
    hosts: Vec<String>,
    pub(super) children: Vec<String>,
    pub(super) variables: Variables,
}

/// Why something is not an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryError {
    /// The line of the mistake, from 1; None if it has no line of its own.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for InventoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for InventoryError {}

impl InventoryError {
    pub(super) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }
}

impl Inventory {
    /// The machines of a group and of the groups below it, each once; all machines without a group.
    ///
    /// # Errors
    /// When there is no such group, it has no machines, or a machine's variables are not for ssh.
    pub fn machines(&self, group: Option<&str>) -> Result<Vec<MachineAddress>, InventoryError> {
        let wanted: BTreeSet<&str> = match group {
            None | Some(ALL) => self.hosts.iter().map(String::as_str).collect(),
            Some(UNGROUPED) if !self.groups.contains_key(UNGROUPED) => {
                let grouped: BTreeSet<&String> =
                    self.groups.values().flat_map(|group| &group.hosts).collect();
                let ungrouped = self.hosts.iter().filter(|host| !grouped.contains(host));
                ungrouped.map(String::as_str).collect()
            }
            Some(name) => {
                let mut found = BTreeSet::new();
                self.collect(name, &mut BTreeSet::new(), &mut found)?;
                found
            }
        };
        if wanted.is_empty() {
            return Err(InventoryError::new(match group {
                Some(group) => format!("the group {group} has no machines"),
                None => "there are no machines".to_owned(),
            }));
        }
        let in_order = self.hosts.iter().filter(|host| wanted.contains(host.as_str()));
        in_order.map(|host| self.address(host)).collect()
    }

    /// Adds the hosts of a group and of the groups below it.
    fn collect<'i>(
        &'i self,
        name: &str,
        seen: &mut BTreeSet<String>,
        found: &mut BTreeSet<&'i str>,
    ) -> Result<(), InventoryError> {
        // A group may be below itself by mistake, which Ansible refuses; here its hosts are simply there once.
        if !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some(group) = self.groups.get(name) else {
            let known: Vec<&str> = self.groups.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(InventoryError::new(format!("no group {name}; groups: {known}")));
        };
        found.extend(group.hosts.iter().map(String::as_str));
        group.children.iter().try_for_each(|child| self.collect(child, seen, found))
    }

    /// What a variable is for a host: its own value, else that of its groups, from those with the most groups above them.
    fn variable(&self, host: &str, name: &str) -> Option<&str> {
        let own = self.variables.get(host).and_then(|variables| variables.get(name));
        let mut of_groups: Vec<(usize, &String, &String)> = Vec::new();
        for (group_name, group) in &self.groups {
            let Some(value) = group.variables.get(name) else { continue };
            let mut below = BTreeSet::new();
            let is_member = group_name == ALL
                || (self.collect(group_name, &mut BTreeSet::new(), &mut below).is_ok()
                    && below.contains(host));
            if is_member {
                of_groups.push((self.depth(group_name, &mut BTreeSet::new()), group_name, value));
            }
        }
        own.or_else(|| of_groups.iter().max().map(|(_, _, value)| *value)).map(String::as_str)
    }

    /// How many groups are above a group: the deeper one wins.
    fn depth(&self, name: &str, seen: &mut BTreeSet<String>) -> usize {
        if name == ALL || !seen.insert(name.to_owned()) {
            return 0;
        }
        let parents = self
            .groups
            .iter()
            .filter(|(_, group)| group.children.iter().any(|child| child == name));
        1 + parents.map(|(parent, _)| self.depth(parent, seen)).max().unwrap_or(0)
    }

    /// How to reach a host.
    fn address(&self, host: &str) -> Result<MachineAddress, InventoryError> {
        let of_host = |why: String| InventoryError::new(format!("{host}: {why}"));
        match self.variable(host, "ansible_connection") {
            None | Some("ssh" | "smart" | "paramiko") => {}
            Some("local") => {
                let labels = self.labels(host);
                return Ok(MachineAddress::Local { name: host.to_owned(), labels });
            }
            Some(other) => {
                return Err(of_host(format!("ansible_connection={other} is not ssh or local")));
            }
        }
        for (unused, instead) in UNUSED {
            if self.variable(host, unused).is_some() {
                return Err(of_host(format!("{unused} is not used; {instead}")));
            }
        }
        for name in CONNECTION {
            if self.variable(host, name).is_some_and(|value| value.contains(TEMPLATE)) {
                return Err(of_host(format!(
                    "{name} is a template; `ansible-inventory -i FILE --list > hosts.json` writes its value"
                )));
            }
        }
        let either = |name: &str, old: &str| self.variable(host, name).or(self.variable(host, old));
        let reached = either("ansible_host", "ansible_ssh_host").unwrap_or(host);
        let reached = if reached.matches(':').count() > 1 && !reached.starts_with('[') {
            format!("[{reached}]")
        } else {
            reached.to_owned()
        };
        let user = either("ansible_user", "ansible_ssh_user").map(|user| format!("{user}@"));
        let port = either("ansible_port", "ansible_ssh_port").map(|port| format!(":{port}"));
        let place =
            format!("ssh:{}{reached}{}", user.unwrap_or_default(), port.unwrap_or_default());
        match place.parse() {
            Ok(FarEnd::Ssh { destination, port }) => Ok(MachineAddress::Ssh {
                name: host.to_owned(),
                destination,
                port,
                key: self.variable(host, "ansible_ssh_private_key_file").map(Into::into),
                labels: self.labels(host),
            }),
            Ok(FarEnd::Peer { .. }) => Err(of_host("not a destination of ssh".to_owned())),
            Err(why) => Err(of_host(why)),
        }
    }

    /// The labels of a host's runs. A template has no value here.
    fn labels(&self, host: &str) -> BTreeMap<String, String> {
        let price = self.variable(host, PRICE).filter(|value| !value.contains(TEMPLATE));
        price.map(|price| (PRICE.to_owned(), price.to_owned())).into_iter().collect()
    }

    pub(super) fn add_host(&mut self, host: &str, group: Option<&str>) {
        if !self.variables.contains_key(host) {
            self.variables.insert(host.to_owned(), Variables::new());
            self.hosts.push(host.to_owned());
        }
        // Every host is in the group of all; one that is listed there alone is in no other.
        if let Some(group) = group.filter(|group| *group != ALL) {
            // A host that is listed twice is still there once: groups are read as sets.
            self.groups.entry(group.to_owned()).or_default().hosts.push(host.to_owned());
        }
    }
}
