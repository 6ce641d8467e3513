//! Dependencies: licences, sources and duplicates against `deny.toml`, by `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// All packages of the lock file with their licence and source. None where cargo cannot tell, for example offline.
fn packages() -> Option<Vec<[String; 4]>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(["metadata", "--format-version", "1", "--offline", "--locked", "--all-features"]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().ok().filter(|output| output.status.success())?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |package: &serde_json::Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let packages = report["packages"].as_array().expect("packages").iter();
    Some(packages.map(|p| ["name", "version", "license", "source"].map(|key| text(p, key))).collect())
}

fn rules() -> toml::Table {
    include_str!("../deny.toml").parse().expect("TOML")
}

fn words(rules: &toml::Table, table: &str, key: &str) -> BTreeSet<String> {
    let list = rules[table][key].as_array().expect("a list");
    list.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
}

/// Whether the licence expression can be satisfied with `allowed` ones: an `or` of `and`s, with brackets.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let (is_allowed, rest) = any(&tokens, allowed);
    assert!(rest.is_empty(), "{expression}: {rest:?} is left");
    is_allowed
}

fn any<'a, 'b>(tokens: &'a [&'b str], allowed: &BTreeSet<String>) -> (bool, &'a [&'b str]) {
    let (mut found, mut rest) = every(tokens, allowed);
    while rest.first() == Some(&"OR") {
        let (next, after) = every(&rest[1..], allowed);
        (found, rest) = (found || next, after);
    }
    (found, rest)
}

fn every<'a, 'b>(tokens: &'a [&'b str], allowed: &BTreeSet<String>) -> (bool, &'a [&'b str]) {
    let (mut found, mut rest) = one(tokens, allowed);
    while rest.first() == Some(&"AND") {
        let (next, after) = one(&rest[1..], allowed);
        (found, rest) = (found && next, after);
    }
    (found, rest)
}

fn one<'a, 'b>(tokens: &'a [&'b str], allowed: &BTreeSet<String>) -> (bool, &'a [&'b str]) {
    match tokens {
        ["(", rest @ ..] => {
            let (found, rest) = any(rest, allowed);
            assert_eq!(rest.first(), Some(&")"));
            (found, &rest[1..])
        }
        [licence, "WITH", exception, rest @ ..] => {
            (allowed.contains(&format!("{licence} WITH {exception}")), rest)
        }
        [licence, rest @ ..] => (allowed.contains(*licence), rest),
        [] => (false, tokens),
    }
}

#[test]
fn every_licence_is_allowed() {
    let Some(packages) = packages() else { return eprintln!("skipped: no cargo metadata here") };
    assert!(packages.len() > 100, "{}", packages.len());
    let allowed = words(&rules(), "licenses", "allow");
    for [name, version, licence, _] in &packages {
        assert!(is_allowed(licence, &allowed), "{name} {version} has the licence `{licence}`");
    }
    // None is allowed for nothing.
    for licence in &allowed {
        assert!(packages.iter().any(|[.., text, _]| text.contains(licence.as_str())), "{licence} is unused");
    }
}

#[test]
fn every_dependency_is_from_the_registry() {
    let Some(packages) = packages() else { return eprintln!("skipped: no cargo metadata here") };
    for [name, _, _, source] in &packages {
        let is_known = source.starts_with("registry+") || source.is_empty() && name == "updraft";
        assert!(is_known, "{name} is from `{source}`");
    }
}

#[test]
fn no_crate_has_two_versions_except_the_listed_ones() {
    let Some(packages) = packages() else { return eprintln!("skipped: no cargo metadata here") };
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    packages.iter().for_each(|[name, ..]| *versions.entry(name).or_default() += 1);
    let twice: BTreeSet<String> =
        versions.iter().filter(|(_, count)| **count > 1).map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(twice, words(&rules(), "bans", "skip"));
}

#[test]
fn licence_expressions_are_read_as_spdx_has_them() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "Zlib"].map(String::from).into();
    for good in [
        "MIT",
        "MIT/GPL-3.0",
        "GPL-3.0 OR MIT",
        "(GPL-3.0 OR MIT) AND Zlib",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT OR Zlib) AND GPL-3.0"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}
