//! The command `updraft`.

fn main() {}
