//! The `supervisor` command.
fn main() {}
