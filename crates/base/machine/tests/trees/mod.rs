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

/// All of them, by name.
pub const TREES: [(&str, &str); 5] = [
    ("laptop", include_str!("laptop.tree")),
    ("server", include_str!("server.tree")),
    ("aws", include_str!("aws.tree")),
    ("container", include_str!("container.tree")),
    ("board", include_str!("board.tree")),
];

/// One of them, laid out.
pub fn tree(name: &str) -> tempfile::TempDir {
    let (_, text) = TREES.iter().find(|(tree, _)| *tree == name).unwrap();
    let folder = tempfile::tempdir().unwrap();
    lay_out(text, folder.path());
    folder
}
