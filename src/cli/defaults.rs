//! Defaults of a user or a machine: `updraft/config.toml` in the folder of configurations.
//!
//! The file is `$XDG_CONFIG_HOME/updraft/config.toml`, by default in `~/.config`, on Windows in `%APPDATA%`.
//! `UPDRAFT_CONFIG` names another one; empty means none. The command line overrides it, and
//! `docs/command.md` lists its keys.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{CliError, Common, MOST_THREADS, view};
use crate::foreign;
use crate::scene::{Problem, closest};

/// Keys of the file. All are optional.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Scene of the window and of `render` if none is named.
    pub scene: Option<String>,
    /// Number of threads, as `--threads`.
    pub threads: Option<u16>,
    /// Whether files are always rendered on the CPU, as with `render --cpu`.
    pub cpu: Option<bool>,
    /// Filter of log lines, as `UPDRAFT_LOG`.
    pub log: Option<String>,
    /// Memory for the recorded frames of the window, as `--record-memory`.
    pub record_memory: Option<Size>,
    /// Room on the disk for recorded frames, as `--record-disk`.
    pub record_disk: Option<Size>,
    /// Overrides of every scene, as `--set`; those of the command line come after them.
    pub set: Option<Vec<String>>,
}

/// A size in bytes, written as text with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Size(u64);

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        view::size(&text).map(Self)
    }
}

/// Names of the keys.
const KEYS: [&str; 7] = ["scene", "threads", "cpu", "log", "record_memory", "record_disk", "set"];

impl Defaults {
    /// Fills in the defaults that the command line does not set.
    pub fn complete(self, common: &mut Common) {
        if common.threads.is_empty() {
            common.threads.extend(self.threads);
        }
        let given = std::mem::take(&mut common.set);
        (common.config, common.sets_of_config) = (path(), self.set.as_ref().map_or(0, Vec::len));
        common.set = self.set.unwrap_or_default().into_iter().chain(given).collect();
        common.scene = self.scene;
        common.cpu = self.cpu.unwrap_or(false);
        common.log = self.log;
        common.record_memory = self.record_memory.map(|size| size.0);
        common.record_disk = self.record_disk.map(|size| size.0);
    }
}

/// Returns the path of the file, if the system or `UPDRAFT_CONFIG` names one.
pub fn path() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("UPDRAFT_CONFIG") {
        return Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty());
    }
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_windows = || folder("APPDATA").filter(|_| cfg!(windows));
    let home = || std::env::home_dir().map(|home| home.join(".config"));
    Some(folder("XDG_CONFIG_HOME").or_else(of_windows).or_else(home)?.join("updraft").join("config.toml"))
}

/// Reads the file. There are no defaults if it is missing, lies below a file in place of a folder, or may not
/// be read. These are errors only if `UPDRAFT_CONFIG` names the file.
///
/// # Errors
/// One line with the place, if the file cannot be read, or has an unknown key or a wrong type.
pub fn load() -> Result<Defaults, CliError> {
    let Some(path) = path() else { return Ok(Defaults::default()) };
    match foreign::text(&path, foreign::TEXT) {
        Ok(text) => parse(&text, &path).map_err(CliError::Request),
        Err(error) if std::env::var_os("UPDRAFT_CONFIG").is_none() && is_absence(error.kind()) => {
            Ok(Defaults::default())
        }
        Err(error) => Err(CliError::Request(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Returns whether an error means that there is no file: `HOME` may be `/dev/null`, or that of another user.
fn is_absence(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied)
}

fn parse(text: &str, path: &Path) -> Result<Defaults, String> {
    let name = path.display().to_string();
    let at = |place: Range<usize>, message: String| Problem::new(&name, text, place, message).to_string();
    let defaults: Defaults = toml::from_str(text).map_err(|error| {
        let message = unknown_key(error.message()).unwrap_or_else(|| error.message().replace('\n', "; "));
        at(error.span().unwrap_or(0..0), message)
    })?;
    match defaults.threads {
        Some(threads) if threads > MOST_THREADS => {
            let place = text.find("threads").unwrap_or(0);
            Err(at(place..place, format!("`threads` is {threads}; at most {MOST_THREADS} are possible")))
        }
        _ => Ok(defaults),
    }
}

/// Words the message of serde about an unknown key like those of scenes.
fn unknown_key(message: &str) -> Option<String> {
    let key = message.strip_prefix("unknown field `")?.split('`').next()?;
    let hint = match closest(key, KEYS) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {}", KEYS.join(", ")),
    };
    Some(format!("unknown key `{key}`; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text, Path::new("config.toml")).unwrap_err()
    }

    #[test]
    fn a_wrong_key_of_the_configuration_is_one_line_with_its_place() {
        assert_eq!(
            refusal("cpu = true\nthread = 2\n"),
            "config.toml:2:1: unknown key `thread`; did you mean `threads`?"
        );
        assert_eq!(
            refusal("colour = 'never'"),
            "config.toml:1:1: unknown key `colour`; there are scene, threads, cpu, log, record_memory, record_disk, set"
        );
        for text in [
            "threads = 'two'",
            "threads = 70000",
            "threads = 2000",
            "set = 3",
            "cpu",
            "[cpu]\n",
            "record_disk = '4'",
        ] {
            let line = refusal(text);
            assert!(line.starts_with("config.toml:1:") && !line.contains('\n'), "{text}: {line:?}");
        }
    }

    #[test]
    fn the_command_line_overrides_the_configuration() {
        let text = "threads = 3\nset = ['fluid.vorticity=1']\nscene = 'fog'\nrecord_memory = '2GiB'";
        let defaults = parse(text, Path::new("c")).unwrap();
        let mut common = Common { set: vec!["fluid.vorticity=2".into()], ..Common::default() };
        defaults.clone().complete(&mut common);
        assert_eq!(common.threads, [3]);
        assert_eq!(common.set, ["fluid.vorticity=1", "fluid.vorticity=2"]);
        assert_eq!(common.scene.as_deref(), Some("fog"));
        assert_eq!((common.record_memory, common.record_disk), (Some(2 << 30), None));
        let mut common = Common { threads: vec![1], ..Common::default() };
        defaults.complete(&mut common);
        assert_eq!(common.threads, [1]);
    }

    #[test]
    fn every_key_of_the_configuration_is_listed_and_documented() {
        let page = include_str!("../../docs/command.md");
        for key in KEYS {
            let complaint = refusal(&format!("{key} = 1979-05-27T07:32:00Z"));
            assert!(!complaint.contains("unknown key"), "{complaint}");
            assert!(page.contains(&format!("| `{key}` |")), "docs/command.md lacks `{key}`");
        }
    }
}
