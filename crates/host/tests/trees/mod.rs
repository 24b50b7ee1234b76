//! Lays out the trees of other machines.

use std::fs;
use std::path::Path;

/// Lays a tree out: after each line `== PATH` stands that file's text.
pub fn lay_out(text: &str, below: &Path) {
    for part in text.split("== ").skip(1) {
        let (path, text) = part.split_once('\n').unwrap();
        let path = below.join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
