//! Runs one probe by name.
fn main() {}
