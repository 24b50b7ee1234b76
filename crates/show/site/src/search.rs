//! The index of the search box: pages by their titles, and words.

use plumb_text::clean;

use crate::method::places;
use crate::names::METHOD;
use crate::script::{call, in_script};

/// The index of a site's pages, for its script.
#[derive(Debug, Clone, Default)]
pub struct SearchIndex(Vec<[String; 3]>);

impl SearchIndex {
    /// Adds a page by its title and what it is about.
    pub fn add(&mut self, title: &str, page: &str, kind: &str) {
        // Titles hold labels and commands, which may hold anything.
        self.0.push([clean(title), format!("{page}.html"), kind.to_owned()]);
    }

    /// Adds the page that explains every word, and every word.
    pub fn add_words(&mut self) {
        self.add("How to read these numbers", METHOD, "method");
        for (title, id, kind) in places() {
            self.0.push([title.to_owned(), format!("{METHOD}.html#{id}"), kind.to_owned()]);
        }
    }

    /// The text of `data/search.js`.
    #[must_use]
    pub fn render(&self) -> String {
        call("search", &[&in_script(&self.0)])
    }
}
