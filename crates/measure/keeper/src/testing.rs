//! A machine of files, for tests.

use std::fs;

use plumb_machine::Root;

use crate::preparation::{Resolved, Unusable, parse, resolve};

/// A tree of these files, with its root.
pub fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = Root::at(tree.path());
    (tree, root)
}

/// The settings of a knob, each as `path=value`.
pub fn settings(root: &Root, text: &str) -> Vec<String> {
    match resolve(root, &parse(text).unwrap()) {
        Ok(Resolved::Settings(all)) => {
            all.iter().map(|one| format!("{}={}", one.setting, one.to)).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Why one can't be set so.
pub fn why(root: &Root, text: &str) -> String {
    match resolve(root, &parse(text).unwrap()) {
        Err(Unusable::Unsupported(it)) => it.why,
        Err(Unusable::Usage(why)) => format!("usage: {why}"),
        Ok(resolved) => panic!("{resolved:?}"),
    }
}
