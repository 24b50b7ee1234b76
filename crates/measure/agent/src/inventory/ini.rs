//! Inventories as INI files.

use super::machines::{Inventory, InventoryError, Variables};
use super::ranges::expanded;

/// What the lines of a section are.
enum SectionKind {
    /// Hosts of a group, or of none.
    Hosts(Option<String>),
    /// Names of groups below this one.
    Children(String),
    /// Variables of a group.
    Variables(String),
}

/// Reads an INI inventory.
///
/// # Errors
/// The first line that is not of this form.
pub(super) fn parse(text: &str) -> Result<Inventory, InventoryError> {
    let mut inventory = Inventory::default();
    let mut section = SectionKind::Hosts(None);
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[').filter(|_| is_header(line)) {
            section = section_of(header, number)?;
            if let SectionKind::Hosts(Some(group))
            | SectionKind::Children(group)
            | SectionKind::Variables(group) = &section
            {
                inventory.groups.entry(group.clone()).or_default();
            }
            continue;
        }
        match &section {
            SectionKind::Hosts(group) => add_hosts(&mut inventory, line, group.as_deref(), number)?,
            SectionKind::Children(group) => {
                let child = without_comment(line).trim().to_owned();
                inventory.groups.entry(child.clone()).or_default();
                inventory.groups.entry(group.clone()).or_default().children.push(child);
            }
            SectionKind::Variables(group) => {
                let (name, value) = variable(line, number)?;
                let group = inventory.groups.entry(group.clone()).or_default();
                group.variables.insert(name, value);
            }
        }
    }
    Ok(inventory)
}

/// A section begins the line with a bracket that holds no range.
fn is_header(line: &str) -> bool {
    let inside = line[1..].split(']').next().unwrap_or_default();
    let is_range = inside
        .split(':')
        .all(|part| part.chars().all(|c| c.is_ascii_digit()) || part.chars().count() == 1)
        && inside.contains(':');
    !is_range
}

fn section_of(header: &str, line: usize) -> Result<SectionKind, InventoryError> {
    let (name, _) =
        header.split_once(']').ok_or_else(|| InventoryError::at(line, "`]` is missing"))?;
    match name.trim().split_once(':') {
        None => Ok(SectionKind::Hosts(Some(name.trim().to_owned()))),
        Some((group, "children")) => Ok(SectionKind::Children(group.to_owned())),
        Some((group, "vars")) => Ok(SectionKind::Variables(group.to_owned())),
        Some((_, other)) => {
            Err(InventoryError::at(line, format!("`:{other}` must be children or vars")))
        }
    }
}

/// Hosts with their variables: `web[1:3] ansible_port=2222`.
fn add_hosts(
    inventory: &mut Inventory,
    line: &str,
    group: Option<&str>,
    number: usize,
) -> Result<(), InventoryError> {
    let words =
        words(line).ok_or_else(|| InventoryError::at(number, "a quotation mark is open"))?;
    let Some((pattern, settings)) = words.split_first() else { return Ok(()) };
    let mut own = Variables::new();
    for setting in settings {
        let (name, value) = variable(setting, number)?;
        own.insert(name, value);
    }
    for host in expanded(pattern).map_err(|why| InventoryError::at(number, why))? {
        inventory.add_host(&host, group);
        inventory.variables.entry(host).or_default().extend(own.clone());
    }
    Ok(())
}

fn variable(text: &str, line: usize) -> Result<(String, String), InventoryError> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| InventoryError::at(line, format!("`{text}` must be NAME=VALUE")))?;
    let value = value.trim();
    let quoted = ['"', '\'']
        .into_iter()
        .find_map(|mark| value.strip_prefix(mark).and_then(|inside| inside.strip_suffix(mark)));
    Ok((name.trim().to_owned(), quoted.unwrap_or(value).to_owned()))
}

/// The text before a comment.
fn without_comment(line: &str) -> &str {
    line.split(" #").next().and_then(|line| line.split(" ;").next()).unwrap_or(line)
}

/// The words of a line until a comment; quotation marks hold words together, and are left out. None if one is open.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut open: Option<char> = None;
    let mut is_new = true;
    for c in line.chars() {
        match (open, c) {
            (Some(mark), c) if c == mark => open = None,
            (None, '"' | '\'') => open = Some(c),
            (None, '#' | ';') if is_new => break,
            (None, c) if c.is_whitespace() => {
                is_new = true;
                continue;
            }
            _ => {
                if is_new {
                    words.push(String::new());
                }
                words.last_mut()?.push(c);
                is_new = false;
            }
        }
    }
    open.is_none().then_some(words)
}
