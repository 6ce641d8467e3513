//! Checks the dependencies: licences, sources and duplicates against `deny.toml`, by `cargo metadata`, and
//! reasons and counts against `docs/dependencies.md`. Counts the unsafe code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns all packages of the lock file with their licence and source, or none if cargo fails, for example
/// offline.
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

/// Returns whether `allowed` licences satisfy the licence expression: an `or` of `and`s, with brackets.
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
    // Every allowed licence is in use.
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

/// Returns the names in backticks of a cell, without those in brackets.
fn names(cell: &str) -> BTreeSet<String> {
    let outside: String = cell.split('(').map(|part| part.rsplit(')').next().unwrap_or_default()).collect();
    outside.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the rows of the table of features: the feature, the number of crates, and the named dependencies.
fn features_of_the_page() -> Vec<(String, Option<usize>, BTreeSet<String>)> {
    let page = include_str!("../docs/dependencies.md");
    let table = page.split("## By feature").nth(1).expect("a table").split("##").next().expect("its end");
    let mut features: Vec<(String, Option<usize>, BTreeSet<String>)> = vec![];
    for line in table.lines().filter_map(|line| line.strip_prefix("| ")).skip(1) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [feature, crates, dependencies, reason, ..] = cells[..] else { panic!("too few cells: {line}") };
        assert!(!reason.is_empty(), "no reason: {line}");
        if feature.is_empty() {
            features.last_mut().expect("a feature").2.extend(names(dependencies));
        } else {
            features.push((feature.trim_matches('`').into(), crates.parse().ok(), names(dependencies)));
        }
    }
    features
}

#[test]
fn the_page_gives_a_reason_for_every_dependency() {
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().expect("TOML");
    let table = |value: &toml::Value| value.as_table().expect("a table").clone();
    let of_targets = manifest["target"].as_table().expect("targets").values();
    let always = [table(&manifest["dependencies"])]
        .into_iter()
        .chain(of_targets.map(|target| table(&target["dependencies"])))
        .flatten()
        .filter(|(_, how)| how.get("optional").is_none())
        .map(|(name, _)| name);
    let mut expected = BTreeMap::from([
        ("none".to_owned(), always.collect::<BTreeSet<_>>()),
        (
            "tests".to_owned(),
            table(&manifest["dev-dependencies"]).into_iter().map(|(name, _)| name).collect(),
        ),
    ]);
    for (feature, parts) in table(&manifest["features"]) {
        let parts = parts.as_array().expect("a list").iter().filter_map(toml::Value::as_str);
        let direct: BTreeSet<_> =
            parts.filter_map(|part| part.strip_prefix("dep:")).map(str::to_owned).collect();
        if !direct.is_empty() {
            expected.insert(feature, direct);
        }
    }
    let stated: BTreeMap<_, _> =
        features_of_the_page().into_iter().map(|(feature, _, names)| (feature, names)).collect();
    assert_eq!(stated, expected);
}

#[test]
fn the_page_counts_the_crates_of_each_feature() {
    let mut counted = 0;
    for (feature, stated, _) in features_of_the_page() {
        let Some(stated) = stated else { continue };
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        let tree = "tree --offline --locked --edges normal --prefix none --no-default-features";
        command.args(tree.split(' ')).args(["--target", "x86_64-unknown-linux-gnu"]);
        command.args(["--features", feature.as_str().trim_start_matches("none")]);
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
        if !output.status.success() {
            // The crates of the feature were never downloaded here, as those of `mpi` on most machines.
            eprintln!("skipped: no `cargo tree` of {feature} here");
            continue;
        }
        let lines = String::from_utf8(output.stdout).expect("text");
        let crates: BTreeSet<String> =
            lines.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(crates.len(), stated, "crates of `{feature}`");
        counted += 1;
    }
    eprintln!("{counted} features counted");
}

/// Returns all Rust files below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// Counts the unsafe blocks, functions and implementations in a text, without its comments.
fn count_unsafe(text: &str) -> [usize; 3] {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut counts = [0; 3];
    for rest in code.split("unsafe ").skip(1) {
        let kind = ["{", "fn ", "impl "].iter().position(|next| rest.starts_with(next));
        let kind = kind.or_else(|| rest.starts_with("extern \"system\" fn ").then_some(1));
        kind.into_iter().for_each(|kind| counts[kind] += 1);
    }
    counts
}

/// `UPDATE_DOCS=1` writes the counts to the page.
#[test]
fn the_page_counts_the_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/dependencies.md")).expect("a page");
    let rows = || page.lines().filter_map(|line| line.strip_prefix("| `src/")?.split('`').next());
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for file in sources(&root.join("src")) {
        let found = count_unsafe(&std::fs::read_to_string(&file).expect("a source"));
        let name =
            file.strip_prefix(root.join("src")).expect("a file of src").to_string_lossy().replace('\\', "/");
        let row = rows().filter(|row| name.starts_with(row)).max_by_key(|row| row.len());
        assert!(row.is_some() || found == [0; 3], "docs/dependencies.md has no row for src/{name}");
        for row in row.into_iter().chain(["all"]) {
            let sum = counts.entry(row.to_owned()).or_default();
            (0..3).for_each(|n| sum[n] += found[n]);
        }
    }
    let counted = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let row = cells.get(1)?.trim().trim_matches('`');
        let [blocks, functions, implementations] = counts.get(row.strip_prefix("src/").unwrap_or(row))?;
        let rest = cells.get(5..)?.join("|");
        Some(format!("|{}| {blocks} | {functions} | {implementations} |{rest}", cells[1]))
    };
    let right: String =
        page.lines().map(|line| counted(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root.join("docs/dependencies.md"), &right).expect("a page");
    } else {
        assert!(right == page, "other counts; write them with UPDATE_DOCS=1:\n{right}");
    }
    assert!(counts["all"][0] > 50, "{counts:?}");
}

#[test]
fn unsafe_code_is_counted_by_its_kind() {
    let text = "unsafe fn a() { unsafe { b() } } // unsafe {\nunsafe impl C for D {}\nunsafe extern \"C\" { fn e(); }\n\
                #![deny(unsafe_code)] unsafe extern \"system\" fn f() {}";
    assert_eq!(count_unsafe(text), [1, 2, 1]);
}
