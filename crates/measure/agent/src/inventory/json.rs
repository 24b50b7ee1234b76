//! Inventories as `ansible-inventory --list` prints them.

use serde_json::{Map, Value};

use super::machines::{Inventory, InventoryError, InventoryGroup, Variables};

/// The key with the variables of hosts.
const META: &str = "_meta";

/// Reads a JSON inventory.
///
/// # Errors
/// When it is not JSON, or a group is not of this form.
pub(super) fn parse(text: &str) -> Result<Inventory, InventoryError> {
    let document: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| InventoryError::at(error.line(), error.to_string()))?;
    let mut inventory = Inventory::default();
    for (name, group) in document.iter().filter(|(name, _)| *name != META) {
        let wrong = |what: &str| InventoryError::new(format!("group {name}: {what}"));
        // Old scripts print a list of hosts in place of a group.
        let (hosts, children, variables) = match group {
            Value::Array(_) => (Some(group), None, None),
            Value::Object(group) => (group.get("hosts"), group.get("children"), group.get("vars")),
            _ => return Err(wrong("not a list or an object")),
        };
        let hosts = names(hosts).ok_or_else(|| wrong("`hosts` is not a list of names"))?;
        let children = names(children).ok_or_else(|| wrong("`children` is not a list of names"))?;
        for host in &hosts {
            inventory.add_host(host, Some(name));
        }
        for child in &children {
            inventory.groups.entry(child.clone()).or_default();
        }
        let group: &mut InventoryGroup = inventory.groups.entry(name.clone()).or_default();
        group.children = children;
        group.variables = texts(variables);
    }
    let of_hosts = document.get(META).and_then(|meta| meta.get("hostvars"));
    for (host, variables) in of_hosts.and_then(Value::as_object).into_iter().flatten() {
        inventory.variables.insert(host.clone(), texts(Some(variables)));
    }
    Ok(inventory)
}

/// A list of names; empty if there is none.
fn names(list: Option<&Value>) -> Option<Vec<String>> {
    match list {
        None => Some(Vec::new()),
        Some(list) => {
            list.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
        }
    }
}

/// The variables that are texts or numbers: those that say how to connect are.
fn texts(variables: Option<&Value>) -> Variables {
    let all = variables.and_then(Value::as_object).into_iter().flatten();
    all.filter_map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some((name.clone(), text))
    })
    .collect()
}
