//! Checks the dependencies between the top-level modules of `src`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each module with the modules that it uses, separated by blanks. Every module comes after those it uses.
const ARROWS: [(&str, &str); 24] = [
    ("room", ""),
    ("foreign", "room"),
    ("packed", ""),
    ("vdb", ""),
    ("comm", ""),
    ("grid", ""),
    ("look", ""),
    ("simd", ""),
    ("solver", "comm foreign grid packed room simd"),
    ("field", "grid solver"),
    ("npz", "field foreign room"),
    ("probe", "field solver"),
    ("spread", "solver"),
    ("snapshot", "comm grid solver"),
    ("render", "grid look simd snapshot"),
    ("output", "foreign render room"),
    ("volume", "field grid look npz output snapshot solver vdb"),
    ("parameter", "field grid look solver"),
    ("scene", "comm field foreign grid look npz parameter probe room solver volume"),
    ("worker", "grid parameter room snapshot solver"),
    ("app", "foreign grid look output parameter render scene snapshot solver volume worker"),
    (
        "cli",
        "app comm field foreign grid look npz output parameter probe render room scene simd \
         snapshot solver spread volume",
    ),
    ("program", "app cli room"),
    ("main", "program"),
];

/// Returns the sources with the top-level module of each, without the tests inside them.
fn sources() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut found) = (vec![src.clone()], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && !path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))
            {
                let within = path.strip_prefix(&src).unwrap();
                let top = Path::new(within.iter().next().unwrap()).file_stem().unwrap();
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((top.to_string_lossy().into_owned(), path, code(&text)));
            }
        }
    }
    found
}

/// Returns `text` without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())];
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

/// Returns the paths that follow `start` in `code`, each as its first two names. A list in braces gives the
/// first name of each item.
fn uses(code: &str, start: &str) -> Vec<[String; 2]> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let path = |text: &str| {
        let first = name(text);
        let second = text.trim_start()[first.len()..].strip_prefix("::").map(name).unwrap_or_default();
        [first, second]
    };
    code.split(start)
        .skip(1)
        .flat_map(|after| match after.strip_prefix('{') {
            Some(list) => list[..list.find("};").unwrap()].split(',').map(path).collect(),
            None => vec![path(after)],
        })
        .filter(|[first, _]| !first.is_empty())
        .collect()
}

#[test]
fn modules_use_those_they_may_and_no_others() {
    let mut drawn: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (top, _, code) in sources() {
        if top == "lib" {
            continue;
        }
        let start = if top == "main" { "updraft::" } else { "crate::" };
        let others = uses(&code, start).into_iter().map(|[module, _]| module).filter(|module| *module != top);
        drawn.entry(top.clone()).or_default().extend(others);
    }
    let allowed: BTreeMap<String, BTreeSet<String>> = ARROWS
        .iter()
        .map(|(module, uses)| ((*module).into(), uses.split_whitespace().map(Into::into).collect()))
        .collect();
    for (module, uses) in &drawn {
        let known = allowed.get(module).unwrap_or_else(|| panic!("`{module}` is not in the list of arrows"));
        let strangers: Vec<_> = uses.difference(known).collect();
        assert!(strangers.is_empty(), "`{module}` must not use {strangers:?}");
    }
    assert_eq!(drawn, allowed, "arrows that are listed but not there");
}

#[test]
fn the_arrows_go_one_way() {
    for (n, (module, uses)) in ARROWS.iter().enumerate() {
        for used in uses.split_whitespace() {
            let before = ARROWS[..n].iter().any(|(earlier, _)| *earlier == used);
            assert!(before, "`{module}` uses `{used}`, which does not come before it");
        }
    }
}

/// Folders whose files form no cycle, so that each can be read after those it uses.
const LAYERED: [&str; 7] =
    ["cli", "render/cpu", "scene", "solver/project", "solver/sources", "vdb", "worker"];

/// Returns the names that the code of a `mod.rs` takes from the files beside it, each with its file.
fn exports(code: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in code.split("use ").skip(1) {
        let statement = &statement[..statement.find(';').unwrap_or(0)];
        let Some((file, names)) = statement.split_once("::") else { continue };
        for name in names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            exports.insert(name.to_owned(), file.to_owned());
        }
    }
    exports
}

/// Returns the files beside a `mod.rs` with the files that each uses. `mod.rs` uses all of them, so a file
/// that uses an item of `mod.rs` itself closes a cycle.
fn files_of(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let file_name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let sources = sources();
    let of_folder = sources.iter().find(|(_, path, _)| *path == src.join("mod.rs"));
    let exports = exports(&of_folder.expect("a `mod.rs`").2);
    let mut files = BTreeMap::new();
    for (_, path, code) in &sources {
        let name = match path.parent() {
            Some(parent) if parent == src => file_name(path),
            Some(parent) if path.ends_with("mod.rs") && parent.parent() == Some(&src) => file_name(parent),
            _ => continue,
        };
        let used = uses(code, "super::").into_iter().map(|[first, _]| first);
        let used = used.map(|name| match exports.get(&name) {
            Some(file) => file.clone(),
            None if name.starts_with(char::is_uppercase) => "mod".into(),
            None => name,
        });
        files.insert(name, used.collect::<BTreeSet<String>>());
    }
    let all: BTreeSet<String> = files.keys().filter(|name| *name != "mod").cloned().collect();
    assert!(!all.is_empty(), "no files in {folder}");
    files.insert("mod".into(), all);
    files
}

#[test]
fn files_of_a_layered_folder_form_no_circle() {
    for folder in LAYERED {
        let mut files = files_of(folder);
        while let Some(name) = files
            .iter()
            .find(|(_, uses)| uses.iter().all(|used| !files.contains_key(used)))
            .map(|(name, _)| name.clone())
        {
            files.remove(&name);
        }
        assert!(files.is_empty(), "src/{folder} has a circle among {:?}", files.keys());
    }
}

/// A path as names, such as `solver`, `advect`, `cubic`.
type Names = Vec<String>;

/// Reads the path at the beginning of `text`, with lists in braces written out: `a::{b, c::d}` is `a, b` and `a, c, d`.
/// Returns the remaining text.
fn read_paths<'t>(text: &'t str, before: &[String], found: &mut Vec<Names>) -> &'t str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = [before, &[name.to_owned()]].concat();
    let Some(after) = rest.strip_prefix("::") else {
        found.push(path);
        return rest;
    };
    let Some(mut list) = after.strip_prefix('{') else { return read_paths(after, &path, found) };
    loop {
        list = list.trim_start().trim_start_matches(',').trim_start();
        match list.strip_prefix('}') {
            Some(rest) => return rest,
            None if list.is_empty() => return list,
            // `as` and another name may follow a name.
            None => list = read_paths(list, &path, found).trim_start_matches(|c| c != ',' && c != '}'),
        }
    }
}

/// Returns every module of `src` with the paths that its code names, from the root.
fn named_paths() -> BTreeMap<Names, Vec<Names>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let module = |path: &Path| -> Names {
        let within = path.strip_prefix(&src).unwrap().with_extension("");
        let names = within.iter().map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| !["mod", "lib"].contains(&name.as_str())).collect()
    };
    let sources: BTreeMap<Names, String> =
        sources().into_iter().map(|(_, path, code)| (module(&path), code)).collect();
    let absolute = |module: &Names, path: &Names| -> Option<Names> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let [up, rest] = [&module[..module.len().saturating_sub(ups)], &path[ups..]];
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            name => {
                let is_child = sources.contains_key(&[module.as_slice(), &[name.to_owned()]].concat());
                (ups > 0 || is_child).then(|| [up, rest].concat())
            }
        }
    };
    let paths_of = |module: &Names, code: &str| {
        let mut found = vec![];
        for start in ["use ", "crate::", "super::"] {
            code.match_indices(start)
                // The tail of a path belongs to the whole path.
                .filter(|(at, _)| !code[..*at].ends_with(|c: char| c == ':' || c.is_alphanumeric()))
                .for_each(|(at, _)| _ = read_paths(code[at..].trim_start_matches("use "), &[], &mut found));
        }
        found.iter().filter_map(|path| absolute(module, path)).collect()
    };
    sources.iter().map(|(module, code)| (module.clone(), paths_of(module, code))).collect()
}

/// Returns the module that defines the item at `path`: the module of its longest prefix, or the one from
/// which that module imports the name.
fn defined_in(path: &Names, named: &BTreeMap<Names, Vec<Names>>, most: usize) -> Names {
    let length = (0..=path.len()).rev().find(|n| named.contains_key(&path[..*n])).unwrap_or(0);
    let module = path[..length].to_vec();
    let taken = path.get(length).and_then(|name| {
        named
            .get(&module)?
            .iter()
            .find(|taken| taken.last() == Some(name) && !taken.starts_with(&path[..=length]))
    });
    match taken {
        Some(taken) if most > 0 => defined_in(taken, named, most - 1),
        _ => module,
    }
}

/// A module and the files below it may use each other, as is usual in Rust. All others form no cycle.
#[test]
fn files_form_no_circle() {
    let named = named_paths();
    assert!(named.len() > 300, "{}", named.len());
    let used = |module: &Names, paths: &[Names]| -> BTreeSet<Names> {
        let used = paths.iter().map(|path| defined_in(path, &named, 6));
        used.filter(|used| !module.starts_with(used)).collect()
    };
    let mut files: BTreeMap<Names, BTreeSet<Names>> =
        named.iter().map(|(module, paths)| (module.clone(), used(module, paths))).collect();
    let advect = &files[&["solver".to_owned(), "step".into(), "transport".into()].to_vec()];
    assert!(advect.iter().any(|used| used.starts_with(&["solver".into(), "advect".into()])), "{advect:?}");
    while let Some(name) = files
        .iter()
        .find(|(_, used)| used.iter().all(|used| !files.contains_key(used)))
        .map(|(name, _)| name.clone())
    {
        files.remove(&name);
    }
    // Files that only use a cycle are removed as well.
    while let Some(name) = files.keys().find(|name| !files.values().any(|used| used.contains(*name))).cloned()
    {
        files.remove(&name);
    }
    assert!(
        files.is_empty(),
        "a circle among {:?}",
        files.keys().map(|name| name.join("::")).collect::<Vec<_>>()
    );
}

/// Returns the types that `src/solver/mod.rs` exports, each with its folder.
fn exports_of_the_solver() -> BTreeMap<String, String> {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/solver/mod.rs")).unwrap();
    let mut exports = BTreeMap::new();
    for statement in text.split("pub use ").skip(1) {
        let (folder, names) = statement[..statement.find(';').unwrap()].split_once("::").unwrap();
        for name in names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            exports.insert(name.to_owned(), folder.to_owned());
        }
    }
    exports
}

/// `step` uses all other folders and `storage` none. The folders between them form no cycle.
#[test]
fn folders_of_the_solver_form_no_circle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/solver");
    let exports = exports_of_the_solver();
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, path, code) in sources() {
        let Ok(within) = path.strip_prefix(&src) else { continue };
        let folder =
            Path::new(within.iter().next().unwrap()).file_stem().unwrap().to_string_lossy().into_owned();
        if folder == "mod" {
            continue;
        }
        let is_top = within.iter().count() == 1 || (within.iter().count() == 2 && within.ends_with("mod.rs"));
        let mut used = uses(&code, "crate::solver::");
        used.extend(if is_top { uses(&code, "super::") } else { vec![] });
        let used = used.into_iter().map(|[name, _]| exports.get(&name).cloned().unwrap_or(name));
        folders.entry(folder.clone()).or_default().extend(used.filter(|name| *name != folder));
    }
    assert!(folders.len() > 10, "{:?}", folders.keys());
    assert!(folders["storage"].is_empty(), "storage uses {:?}", folders["storage"]);
    while let Some(name) = folders
        .iter()
        .find(|(_, used)| used.iter().all(|used| !folders.contains_key(used)))
        .map(|(name, _)| name.clone())
    {
        folders.remove(&name);
    }
    assert!(folders.is_empty(), "a circle among {folders:?}");
}

#[test]
fn a_file_name_tells_its_room() {
    let shared = ["mod", "avx2", "avx512"];
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (_, path, _) in sources() {
        places.entry(path.file_stem().unwrap().to_string_lossy().into_owned()).or_default().push(path);
    }
    for (name, paths) in places {
        assert!(paths.len() == 1 || shared.contains(&name.as_str()), "{paths:?} have the same name");
    }
}

/// Intervals are measured with `Instant`, so a wall clock that jumps changes no wait and no animation. Only
/// the times of files come from the wall clock.
#[test]
fn no_interval_is_measured_with_the_wall_clock() {
    for (_, path, code) in sources() {
        assert!(!code.contains("SystemTime") || path.ends_with("app/watch.rs"), "{}", path.display());
        assert!(!code.contains("SystemTime::now"), "{}", path.display());
    }
}
