//! The documentation as its readers use it: links lead somewhere, the book lists every page, commands run as written.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All pages of the repository.
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

/// Fenced blocks of a page: the line before each, its language, its text. Indentation is kept.
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

/// Destinations of the links of a page, without code.
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
    std::os::unix::fs::symlink(root().join("validation"), dir.path().join("validation")).unwrap();
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
    let chapters = ["first-plume", "own-scene", "pictures", "validation", "performance"];
    let run: usize =
        chapters.map(|chapter| run_commands(&format!("docs/book/{chapter}.md"), "")).iter().sum();
    assert!(run >= 11, "only {run} blocks");
    assert!(run_commands("docs/command.md", "") >= 2);
}

#[cfg(unix)]
#[ignore = "a quarter of a minute: .ci/run runs it"]
#[test]
fn the_next_things_of_the_readme_run_as_written() {
    assert!(run_commands("README.md", "## Five things to do next") >= 1);
}

/// The scene of the book is what it says.
#[test]
fn scenes_of_the_book_are_valid() {
    let text = read(&root().join("docs/book/own-scene.md"));
    let scenes: Vec<String> = blocks(&text).into_iter().filter(|b| b.1 == "toml").map(|b| b.2).collect();
    assert_eq!(scenes.len(), 1);
    let scene = updraft::Scene::parse("chimney", &scenes[0]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scene.solids.len(), scene.sources.len()), (1, 1));
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
