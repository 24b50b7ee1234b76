//! The binary `plumb`.
fn main() {}
