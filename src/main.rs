//! The `awaitty` program: see `awaitty --help`.
fn main() {}
