//! Makes a library that replaces libEGL and loses contexts on request.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the library, for `LD_LIBRARY_PATH`.
pub struct LosingDriver {
    folder: tempfile::TempDir,
}

impl LosingDriver {
    /// Compiles the library. Returns `None` and prints the reason where there is no libEGL.
    pub fn compile() -> Option<Self> {
        let Some(real) = real() else {
            eprintln!("SKIPPED: no context is lost, as there is no libEGL.so.1 here");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        // The library must depend on the real one by its path, since the loader takes two libraries of one
        // name for the same.
        fs::write(folder.path().join("empty.c"), "").unwrap();
        let path = format!("-Wl,-soname,{}", real.display());
        compile(&folder, &["-shared", &path, "-o", "named.so", "empty.c"]);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rig/losing_driver.c");
        let source = source.to_str().unwrap();
        compile(
            &folder,
            &["-shared", "-fPIC", "-o", "libEGL.so.1", source, "-Wl,--no-as-needed", "./named.so", "-ldl"],
        );
        Some(Self { folder })
    }

    /// Returns the environment of a program that uses the library as the driver of `renderer`.
    pub fn environment(&self, renderer: &str) -> [(&'static str, PathBuf); 3] {
        [
            ("LD_LIBRARY_PATH", self.folder.path().into()),
            ("UPDRAFT_TEST_LOSS", self.file()),
            ("UPDRAFT_TEST_RENDERER", renderer.into()),
        ]
    }

    /// Makes the next `times` swaps fail.
    pub fn lose(&self, times: usize) {
        let aside = self.folder.path().join("aside");
        fs::write(&aside, vec![0; times]).unwrap();
        fs::rename(&aside, self.file()).unwrap();
    }

    pub fn has_lost(&self) -> bool {
        !self.file().exists()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("loss")
    }
}

fn compile(folder: &tempfile::TempDir, arguments: &[&str]) {
    let out = Command::new("cc").args(arguments).current_dir(folder.path()).output().unwrap();
    assert!(out.status.success(), "cc {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Returns the path of the libEGL that programs load.
fn real() -> Option<PathBuf> {
    let known = Command::new("/sbin/ldconfig").arg("-p").output().ok()?;
    let known = String::from_utf8(known.stdout).ok()?;
    let line = known.lines().find(|line| line.trim().starts_with("libEGL.so.1 "))?;
    Some(line.split_once("=> ")?.1.trim().into())
}
