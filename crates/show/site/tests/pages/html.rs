//! A strict reader of pages: what a browser would mend is a failure here.

use std::collections::BTreeMap;

const VOID: [&str; 7] = ["meta", "link", "br", "hr", "input", "img", "wbr"];
const KNOWN: [&str; 5] = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];

/// An element's beginning.
#[derive(Debug, Clone)]
pub struct Element {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// The text in it, its descendants' included.
    pub text: String,
}

/// A page, read.
#[derive(Debug)]
pub struct HtmlPage {
    pub elements: Vec<Element>,
}

impl HtmlPage {
    /// Reads a page; panics if it is not well formed.
    pub fn parse(page: &str) -> Self {
        let mut rest = page.strip_prefix("<!doctype html>\n").expect("a document type");
        let mut elements: Vec<Element> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        while !rest.is_empty() {
            let text_ends = rest.find('<').unwrap_or(rest.len());
            let text = unescaped(&rest[..text_ends]);
            open.iter().for_each(|&index| elements[index].text.push_str(&text));
            rest = &rest[text_ends..];
            if rest.is_empty() {
                break;
            }
            let end = tag_end(rest);
            let inside = &rest[1..end];
            rest = &rest[end + 1..];
            if let Some(name) = inside.strip_prefix('/') {
                let last = open.pop().expect("an end without a beginning");
                assert_eq!(elements[last].name, name, "elements nest");
                continue;
            }
            let element = beginning(inside);
            let void = VOID.contains(&element.name.as_str());
            elements.push(element);
            if !void {
                open.push(elements.len() - 1);
            }
        }
        assert!(open.is_empty(), "elements without an end");
        let document = Self { elements };
        document.check();
        document
    }

    /// Ids are unique and links to places in the page lead somewhere.
    fn check(&self) {
        let mut ids: Vec<&String> =
            self.elements.iter().filter_map(|element| element.attributes.get("id")).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id stands twice in {ids:?}");
        for to in self.links().iter().filter_map(|to| to.strip_prefix('#')) {
            assert!(ids.iter().any(|id| *id == to), "no element has the id {to}");
        }
    }

    pub fn links(&self) -> Vec<String> {
        self.attribute("a", "href")
    }

    pub fn ids(&self) -> Vec<String> {
        self.elements.iter().filter_map(|element| element.attributes.get("id").cloned()).collect()
    }

    pub fn attribute(&self, name: &str, attribute: &str) -> Vec<String> {
        let of = self.elements.iter().filter(|element| element.name == name);
        of.filter_map(|element| element.attributes.get(attribute).cloned()).collect()
    }

    pub fn count(&self, name: &str) -> usize {
        self.elements.iter().filter(|element| element.name == name).count()
    }

    /// The text of the first element of this name.
    pub fn text(&self, name: &str) -> String {
        self.elements
            .iter()
            .find(|element| element.name == name)
            .map(|element| element.text.clone())
            .unwrap_or_default()
    }

    pub fn inline_handlers(&self) -> Vec<&String> {
        let names = self.elements.iter().flat_map(|element| element.attributes.keys());
        names.filter(|name| name.starts_with("on") || *name == "style").collect()
    }
}

/// Where the tag that begins here ends; `>` may stand in a quoted value.
fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return at,
            _ => {}
        }
    }
    panic!("a tag without an end: {}", &text[..text.len().min(80)]);
}

fn beginning(inside: &str) -> Element {
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    let plain = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
    };
    assert!(plain(name), "no name of an element: {name:?}");
    let mut attributes = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        assert!(plain(attribute), "no name of an attribute: {attribute:?} in {inside}");
        let value = match after.strip_prefix("=\"") {
            Some(after) => {
                let (value, after) = after.split_once('"').expect("a quoted value");
                rest = after;
                unescaped(value)
            }
            None => {
                rest = after;
                String::new()
            }
        };
        assert!(attributes.insert(attribute.to_owned(), value).is_none(), "{attribute} twice");
        rest = rest.trim_start_matches(' ');
    }
    Element { name: name.to_owned(), attributes, text: String::new() }
}

/// Text without its escapes; only those that plumb writes are known.
fn unescaped(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let known = KNOWN.iter().find(|known| rest[at..].starts_with(**known));
        let known = known.unwrap_or_else(|| panic!("a bare & in {text:?}"));
        out.push(match *known {
            "&amp;" => '&',
            "&lt;" => '<',
            "&gt;" => '>',
            "&quot;" => '"',
            _ => '\'',
        });
        rest = &rest[at + known.len()..];
    }
    out.push_str(rest);
    assert!(!out.chars().any(|c| c.is_control() && c != '\n'), "a control character in {out:?}");
    out
}
