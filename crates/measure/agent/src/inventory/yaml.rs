//! Inventories as YAML files: groups with `hosts`, `children` and `vars`.

use std::collections::BTreeSet;

use saphyr_parser::{Event, Parser, ScanError, Span};

use super::machines::{Inventory, InventoryError, Variables};
use super::ranges::expanded;

/// Groups and values lie no deeper in each other than this.
const DEEPEST: usize = 64;

/// A part of a YAML document.
struct YamlNode {
    /// The line on which it begins, from 1.
    line: usize,
    value: YamlValue,
}

enum YamlValue {
    Empty,
    Text(String),
    /// The entries are not needed.
    List,
    /// Keys with their lines and values, in the order of the file.
    Map(Vec<(String, usize, YamlNode)>),
}

/// Reads a YAML inventory.
///
/// # Errors
/// When it is not YAML, or a group is not of this form; the error has the line.
pub fn read_yaml_inventory(text: &str) -> Result<Inventory, InventoryError> {
    let mut inventory = Inventory::default();
    let document = document(text)?;
    for (name, _, group) in entries(&document, "the inventory")? {
        add_group(&mut inventory, name, group)?;
    }
    Ok(inventory)
}

/// Adds a group with its hosts, variables and the groups below it.
fn add_group(
    inventory: &mut Inventory,
    name: &str,
    group: &YamlNode,
) -> Result<(), InventoryError> {
    inventory.groups.entry(name.to_owned()).or_default();
    for (key, line, value) in entries(group, &format!("group {name}"))? {
        match key.as_str() {
            "hosts" => add_hosts(inventory, name, value)?,
            "vars" => {
                let of_group = variables(value, &format!("`vars` of {name}"))?;
                inventory.groups.entry(name.to_owned()).or_default().variables.extend(of_group);
            }
            "children" => {
                for (child, _, group) in entries(value, &format!("`children` of {name}"))? {
                    inventory
                        .groups
                        .entry(name.to_owned())
                        .or_default()
                        .children
                        .push(child.clone());
                    add_group(inventory, child, group)?;
                }
            }
            other => {
                return Err(InventoryError::at(
                    *line,
                    format!("group {name}: `{other}` must be hosts, children or vars"),
                ));
            }
        }
    }
    Ok(())
}

fn add_hosts(
    inventory: &mut Inventory,
    group: &str,
    hosts: &YamlNode,
) -> Result<(), InventoryError> {
    // Ansible takes the name of a single host, too.
    if let YamlValue::Text(host) = &hosts.value {
        inventory.add_host(host, Some(group));
        return Ok(());
    }
    for (pattern, line, own) in entries(hosts, &format!("`hosts` of {group}"))? {
        let own = variables(own, pattern)?;
        for host in expanded(pattern).map_err(|why| InventoryError::at(*line, why))? {
            inventory.add_host(&host, Some(group));
            inventory.variables.entry(host).or_default().extend(own.clone());
        }
    }
    Ok(())
}

/// The variables that are texts or numbers: those that say how to connect are.
fn variables(node: &YamlNode, what: &str) -> Result<Variables, InventoryError> {
    let texts = entries(node, what)?.iter().filter_map(|(name, _, value)| match &value.value {
        YamlValue::Text(text) => Some((name.clone(), text.clone())),
        _ => None,
    });
    Ok(texts.collect())
}

/// The entries of a mapping; none if it is empty.
fn entries<'n>(
    node: &'n YamlNode,
    what: &str,
) -> Result<&'n [(String, usize, YamlNode)], InventoryError> {
    match &node.value {
        YamlValue::Map(entries) => Ok(entries),
        YamlValue::Empty => Ok(&[]),
        YamlValue::Text(_) | YamlValue::List => {
            Err(InventoryError::at(node.line, format!("{what} is not a mapping (`NAME:`)")))
        }
    }
}

/// The only document of a text.
fn document(text: &str) -> Result<YamlNode, InventoryError> {
    let mut events = YamlEvents(Parser::new_from_str(text));
    let mut root = YamlNode { line: 1, value: YamlValue::Empty };
    let mut documents = 0;
    loop {
        let (event, line) = events.next()?;
        match event {
            Event::StreamEnd => return Ok(root),
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(InventoryError::at(line, "the file has several YAML documents"));
                }
                root = events.node(0)?;
            }
            _ => {}
        }
    }
}

/// The events of a parser.
struct YamlEvents<'t>(Parser<'t, saphyr_parser::StrInput<'t>>);

impl<'t> YamlEvents<'t> {
    fn next(&mut self) -> Result<(Event<'t>, usize), InventoryError> {
        match self.0.next() {
            Some(Ok((event, Span { start, .. }))) => Ok((event, start.line())),
            Some(Err(error)) => Err(not_yaml(&error)),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    /// The node that begins with the next event.
    fn node(&mut self, depth: usize) -> Result<YamlNode, InventoryError> {
        let (event, line) = self.next()?;
        self.node_of(event, line, depth)
    }

    fn node_of(
        &mut self,
        event: Event<'t>,
        line: usize,
        depth: usize,
    ) -> Result<YamlNode, InventoryError> {
        if depth > DEEPEST {
            return Err(InventoryError::at(line, format!("more than {DEEPEST} levels")));
        }
        let value = match event {
            Event::Scalar(text, ..) if ["", "~", "null"].contains(&&*text) => YamlValue::Empty,
            Event::Scalar(text, ..) => YamlValue::Text(text.into_owned()),
            Event::SequenceStart(..) => loop {
                let (event, line) = self.next()?;
                if matches!(event, Event::SequenceEnd) {
                    break YamlValue::List;
                }
                self.node_of(event, line, depth + 1)?;
            },
            Event::MappingStart(..) => YamlValue::Map(self.entries(depth)?),
            Event::Alias(_) => {
                return Err(InventoryError::at(
                    line,
                    "plumb does not read YAML aliases; `ansible-inventory -i FILE --list > hosts.json` writes JSON without them",
                ));
            }
            _ => YamlValue::Empty,
        };
        Ok(YamlNode { line, value })
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<(String, usize, YamlNode)>, InventoryError> {
        let mut entries: Vec<(String, usize, YamlNode)> = Vec::new();
        let mut names = BTreeSet::new();
        loop {
            let (event, line) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(InventoryError::at(line, "a key must be a name")),
            };
            if !names.insert(name.clone()) {
                return Err(InventoryError::at(line, format!("`{name}` is there twice")));
            }
            let value = self.node(depth + 1)?;
            entries.push((name, line, value));
        }
    }
}

fn not_yaml(error: &ScanError) -> InventoryError {
    InventoryError::at(error.marker().line(), format!("not YAML: {}", error.info()))
}
