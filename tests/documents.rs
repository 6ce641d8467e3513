//! The documentation: its links lead to files, the book lists every page, and its commands run as written.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all pages of the repository.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/book", "gallery", "python"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 25, "{found:?}");
    found
}

/// Returns the fenced blocks of a page: the line before each, its language and its text. Indentation is kept.
fn blocks(text: &str) -> Vec<(String, String, String)> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    let (mut before, mut inside) = (String::new(), false);
    for line in text.lines() {
        match (inside, line.strip_prefix("```")) {
            (false, Some(language)) => {
                found.push((std::mem::take(&mut before), language.to_owned(), String::new()));
                inside = true;
            }
            (true, Some(_)) => inside = false,
            (true, None) => {
                let block = &mut found.last_mut().unwrap().2;
                block.push_str(line);
                block.push('\n');
            }
            (false, None) if !line.is_empty() => before = line.to_owned(),
            (false, None) => {}
        }
    }
    found
}

/// Returns the destinations of the links of a page, without those in code.
fn links(text: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside && !line.starts_with("    ") {
            // Code within a line may have brackets.
            prose.extend(line.split('`').step_by(2).flat_map(|part| [part, "`"]));
            prose.push('\n');
        }
    }
    prose.split("](").skip(1).filter_map(|rest| Some(rest[..rest.find(')')?].to_owned())).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    let mut count = 0;
    for page in pages() {
        for link in links(&read(&page)) {
            if link.starts_with("http") || link.starts_with('#') {
                continue;
            }
            let target = page.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            count += 1;
        }
    }
    assert!(count > 60, "only {count} links found");
}

#[test]
fn the_book_lists_every_page_once() {
    let docs = root().join("docs");
    let mut listed = links(&read(&docs.join("SUMMARY.md")));
    let mut there: Vec<String> = pages()
        .into_iter()
        .filter_map(|page| Some(page.strip_prefix(&docs).ok()?.to_str()?.to_owned()))
        .filter(|name| name != "SUMMARY.md")
        .collect();
    listed.sort();
    there.sort();
    assert_eq!(listed, there);
}

/// Runs the blocks of shell commands of a page in an empty folder, one after the other, after files that the page tells to
/// save. `UPDRAFT_CONFIG` makes the box coarser, unless a block is marked `in the repository`. Blocks marked
/// `not run` are left out.
#[cfg(unix)]
fn run_commands(page: &str, section: &str) -> usize {
    let text = read(&root().join(page));
    let text = match section {
        "" => text.as_str(),
        heading => {
            let rest = &text[text.find(heading).unwrap_or_else(|| panic!("{page} lacks {heading}"))..];
            &rest[..rest[1..].find("\n## ").map_or(rest.len(), |end| end + 1)]
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let coarse = dir.path().join("coarse.toml");
    std::fs::write(&coarse, "set = [\"domain.cells=[24, 36, 24]\", \"domain.voxel=0.04\"]\n").unwrap();
    for folder in ["validation", "docs"] {
        std::os::unix::fs::symlink(root().join(folder), dir.path().join(folder)).unwrap();
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_updraft")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut run = 0;
    for (before, language, block) in blocks(text) {
        if let Some(name) = before.split("ave it as `").nth(1).and_then(|rest| rest.split('`').next()) {
            std::fs::write(dir.path().join(name), &block).unwrap();
        }
        if language != "sh" || before.starts_with("<!--") && before.contains("not run") {
            continue;
        }
        let in_repository = before.starts_with("<!-- in the repository");
        let output = Command::new("bash")
            .args(["-euc", &block])
            .current_dir(dir.path())
            .env("PATH", &path)
            .env("UPDRAFT_CONFIG", if in_repository { Path::new("") } else { &coarse })
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{page}:\n{block}\n{told}");
        run += 1;
    }
    run
}

#[cfg(unix)]
#[ignore = "half a minute: .ci/run runs it"]
#[test]
fn commands_of_the_book_run_as_written() {
    let chapters = ["first-plume", "own-scene", "pictures", "method", "validation", "performance"];
    let run: usize =
        chapters.map(|chapter| run_commands(&format!("docs/book/{chapter}.md"), "")).iter().sum();
    assert!(run >= 13, "only {run} blocks");
    assert!(run_commands("docs/command.md", "") >= 2);
}

#[cfg(unix)]
#[ignore = "a quarter of a minute: .ci/run runs it"]
#[test]
fn the_next_things_of_the_readme_run_as_written() {
    assert!(run_commands("README.md", "## Five things to do next") >= 1);
}

/// Returns the edits of a chapter: for each ` ```diff ` block the files after `+++`, and for each file the
/// hunks between `@@`, as the text before and after. A ` ```rust ` block that begins with the path of a file
/// is that file.
fn edits(page: &str) -> Vec<(String, String, String)> {
    let mut edits: Vec<(String, String, String)> = Vec::new();
    for (_, language, block) in blocks(page) {
        if let (Some(path), true) = (block.strip_prefix("// src/"), language.starts_with("rust")) {
            let (path, text) = path.split_once('\n').unwrap();
            edits.push((format!("src/{path}"), String::new(), text.to_owned()));
        }
        for line in block.lines().filter(|_| language == "diff") {
            match (line.strip_prefix("+++ "), line) {
                (Some(path), _) => edits.push((path.to_owned(), String::new(), String::new())),
                (_, "@@") => edits.push((edits.last().unwrap().0.clone(), String::new(), String::new())),
                _ => {
                    let (_, old, new) = edits.last_mut().unwrap();
                    let (mark, text) = line.split_at(usize::from(!line.is_empty()));
                    [old, new]
                        .into_iter()
                        .zip(["-", "+"])
                        .filter(|(_, only)| mark == *only || !["-", "+"].contains(&mark))
                        .for_each(|(side, _)| {
                            side.push_str(text);
                            side.push('\n');
                        });
                }
            }
        }
    }
    edits
}

/// Applies an edit to the text of its file. The last line of the old text may be the beginning of a line.
fn apply(path: &str, text: &str, old: &str, new: &str) -> String {
    let (old, new) = [old, new].map(|side| side.strip_suffix('\n').unwrap_or(side)).into();
    assert_eq!(text.matches(old).count(), 1, "{path} does not have once:\n{old}");
    text.replacen(old, new, 1)
}

#[test]
fn the_chapter_on_schemes_fits_the_sources() {
    let chapter = read(&root().join("docs/book/advection-scheme.md"));
    let edits = edits(&chapter);
    assert_eq!(edits.len(), 16);
    for (path, old, new) in edits.iter().filter(|(_, old, _)| !old.is_empty()) {
        apply(path, &read(&root().join(path)), old, new);
    }
}

/// Applies the chapter to a copy of the sources, and runs the tests that it names, with all unit tests. They
/// are compiled with debug assertions: the standard library then checks each index and pointer that unsafe
/// code does not check.
#[ignore = "compiles the library twice: .ci/run runs it"]
#[test]
fn the_scheme_of_the_book_fails_only_the_tests_it_says_and_no_debug_assertion() {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let target = to.join(entry.file_name());
            match entry.path().is_dir() {
                true => copy(&entry.path(), &target),
                false => drop(std::fs::copy(entry.path(), target).unwrap()),
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    for folder in
        ["src", "tests", "benches", "examples", "docs", "scenes", "shaders", "fonts", "validation", "gallery"]
    {
        copy(&root().join(folder), &dir.path().join(folder));
    }
    for entry in
        std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        std::fs::copy(&entry, dir.path().join(entry.file_name().unwrap())).unwrap();
    }
    for (path, old, new) in edits(&read(&root().join("docs/book/advection-scheme.md"))) {
        let file = dir.path().join(&path);
        let text = if old.is_empty() { new } else { apply(&path, &read(&file), &old, &new) };
        std::fs::write(file, text).unwrap();
    }
    let target = Path::new(env!("CARGO_BIN_EXE_updraft")).ancestors().nth(2).unwrap();
    // Settings for a short compile time, not for fast code.
    let settings = ["opt-level=1", "debug-assertions=true", "overflow-checks=true"]
        .map(|setting| ["--config".to_string(), format!("profile.release.package.updraft.{setting}")]);
    let cargo = |words: &[&str], update: bool| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args(["test", "--release", "--offline", "--features", "scene", "--no-default-features"]);
        command.args(settings.as_flattened()).args(words);
        command.current_dir(&dir).env("CARGO_TARGET_DIR", target).env_remove("UPDATE_DOCS");
        if update {
            command.env("UPDATE_DOCS", "1");
        }
        let output = command.output().unwrap();
        let [out, told] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.success(), format!("{words:?}:\n{out}\n{told}"))
    };
    let passes = |words: &[&str], update| {
        let (is_well, out) = cargo(words, update);
        assert!(is_well, "{out}");
        out
    };
    // One command compiles the library and its tests in parallel.
    passes(&["--lib", "--test", "conservation", "--test", "physics", "--no-run"], false);
    passes(&["--lib", "--", "reference"], true);
    for words in [&["--lib"][..], &["--test", "conservation"]] {
        assert!(passes(words, false).contains("test result: ok"));
    }
    let (_, out) = cargo(&["--test", "physics"], false);
    let failed = [
        "linear_fields_are_advected_exactly",
        "advection_has_its_designed_order",
        "fluid_terms::smoke_of_an_inflow_decays_while_it_is_inside",
    ];
    let all = failed.iter().all(|name| out.contains(&format!("test {name} ... FAILED")));
    assert!(all && out.contains(" 3 failed"), "{out}");
    assert!(read(&dir.path().join("docs/scene.md")).contains("trilinear with eased weights"));
}

/// The scenes of the book are valid, and have the described results.
#[test]
fn scenes_of_the_book_are_valid() {
    let text = read(&root().join("docs/book/own-scene.md"));
    let scenes: Vec<String> = blocks(&text).into_iter().filter(|b| b.1 == "toml").map(|b| b.2).collect();
    assert_eq!(scenes.len(), 1);
    let scene = updraft::Scene::parse("chimney", &scenes[0]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scene.solids.len(), scene.sources.len()), (1, 1));
    let figures = read(&root().join("docs/book/method.toml"));
    updraft::Scene::parse("method", &figures).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_page_of_licences_lists_the_dependencies_of_the_lock_file() {
    let page = read(&root().join("docs/licenses.md"));
    let lock: toml::Table = read(&root().join("Cargo.lock")).parse().unwrap();
    for package in lock["package"].as_array().unwrap() {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap());
        let is_there = name == "updraft" || page.contains(&format!("\n| {name} | {version} | "));
        assert!(is_there, "docs/licenses.md lacks {name} {version}; run .ci/licenses");
    }
}
