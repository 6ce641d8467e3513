//! Arguments of every command, and the scene that they name.

use std::sync::Arc;

use super::CliError;
use crate::comm::Comm;
use crate::foreign::on_one_line;
use crate::parameter::Parameter;
use crate::scene::{OverrideKey, Scene, SceneError, Share, override_keys};

/// Greatest number of threads of a command.
pub const MOST_THREADS: u16 = crate::solver::MOST_THREADS as u16;

/// Arguments of every command, and those [`Defaults`](super::defaults::Defaults) that are no arguments.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Common {
    /// Override a key of the scene, for example --set fluid.vorticity=0.5 or --set source.0.emit.red=8
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = "Everywhere")]
    pub set: Vec<String>,
    /// Number of solver threads; 0: one for each processor. `bench` takes a list
    #[arg(long, global = true, value_name = "N", value_delimiter = ',', help_heading = "Everywhere")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=i64::from(MOST_THREADS)), allow_negative_numbers = true)]
    pub threads: Vec<u16>,
    /// Overwrite existing files
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub force: bool,
    /// No progress; errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Everywhere")]
    pub quiet: bool,
    /// Print more; give it twice for details
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
    pub verbose: u8,
    /// The file of the defaults.
    #[arg(skip)]
    pub config: Option<std::path::PathBuf>,
    /// Number of overrides from that file; they are the first.
    #[arg(skip)]
    pub sets_of_config: usize,
    /// Scene of the window and of `render` if none is named.
    #[arg(skip)]
    pub scene: Option<String>,
    /// Whether files are always rendered on the CPU.
    #[arg(skip)]
    pub cpu: bool,
    /// Filter of log lines.
    #[arg(skip)]
    pub log: Option<String>,
    /// Memory for the recorded frames of the window \[bytes\].
    #[arg(skip)]
    pub record_memory: Option<u64>,
    /// Room on the disk for recorded frames \[bytes\].
    #[arg(skip)]
    pub record_disk: Option<u64>,
    /// The ranks that share the run.
    #[arg(skip)]
    pub comm: Option<Arc<dyn Comm>>,
    /// Threads of each rank, unless the scene or `--threads` sets them.
    #[arg(skip)]
    pub threads_of_rank: Option<usize>,
    /// Division of the run and of this machine's memory among the ranks.
    #[arg(skip)]
    pub share: Share,
}

impl Common {
    /// Returns the scene that is used if none is named.
    pub fn default_scene(&self) -> &str {
        self.scene.as_deref().unwrap_or("plume")
    }

    /// Loads the scene `name` with the overrides of the command line, then `more`.
    pub fn scene(&self, name: &str, more: &[String]) -> Result<Scene, CliError> {
        let mut overrides = self.set.clone();
        match self.threads.as_slice() {
            [] => {}
            [threads] => overrides.push(format!("solver.threads={threads}")),
            _ => {
                return Err(CliError::Request("--threads takes one number here; a list is for bench".into()));
            }
        }
        overrides.extend_from_slice(more);
        let mut scene =
            Scene::load_shared(name, &overrides, self.share).map_err(|error| match &self.config {
                Some(path) if self.is_of_config(&error, name, &overrides) => {
                    CliError::Request(format!("{}: {error}", path.display()))
                }
                _ => suggest_command(error, name),
            })?;
        if let (0, Some(threads)) = (scene.config.threads, self.threads_of_rank) {
            scene.config.threads = threads;
        }
        Ok(scene)
    }
}

impl Common {
    /// Returns the overrides of the command line, without those of the configuration, which hold for every
    /// command even if it cannot use them.
    pub fn own_sets(&self) -> &[String] {
        self.set.get(self.sets_of_config..).unwrap_or_default()
    }

    /// Returns whether an override of the command line sets the parameter at `path`.
    pub fn sets(&self, path: &str) -> bool {
        let is_it = |key: &OverrideKey| key.parameters.iter().any(|parameter| parameter.path == path);
        self.own_sets().iter().any(|set| override_keys(set).iter().any(is_it))
    }

    /// Returns these arguments without the overrides of the configuration of which no parameter `acts`.
    pub fn with_sets_of_config(&self, acts: impl Fn(&Parameter) -> bool) -> Self {
        let mut common = self.clone();
        let (of_config, own) = self.set.split_at(self.sets_of_config.min(self.set.len()));
        let is_kept = |set: &&String| {
            let keys = override_keys(set);
            // Unknown keys stay: the scene refuses them.
            let is_used =
                |key: &OverrideKey| key.parameters.is_empty() || key.parameters.iter().any(|one| acts(one));
            keys.is_empty() || keys.iter().any(is_used)
        };
        common.set = of_config.iter().filter(is_kept).cloned().collect();
        common.sets_of_config = common.set.len();
        common.set.extend_from_slice(own);
        common
    }

    /// Fails if an override of the command line has no effect: `idle` returns the reason that a parameter has
    /// none in this command.
    pub fn refuse_idle(&self, idle: impl Fn(&Parameter) -> Option<String>) -> Result<(), CliError> {
        for set in self.own_sets() {
            for key in override_keys(set) {
                let whys: Option<Vec<String>> =
                    key.parameters.iter().map(|parameter| idle(parameter)).collect();
                if let Some(why) = whys.and_then(|whys| whys.into_iter().next()) {
                    return Err(CliError::Request(format!(
                        "--set {set}: `{}` has no effect here: {why}",
                        key.key
                    )));
                }
            }
        }
        Ok(())
    }

    /// Fails if an override sets a key that `option` sets too: the option would win.
    pub fn refuse_conflicts(&self, option: &str, paths: &[&str]) -> Result<(), CliError> {
        self.refuse_idle(|parameter| {
            paths
                .contains(&parameter.path.as_str())
                .then(|| format!("{option} says it; leave one of the two out"))
        })
    }

    /// Fails if there are overrides: the command reads no scene.
    pub fn refuse_sets(&self, instead: &str) -> Result<(), CliError> {
        match self.own_sets() {
            [] => Ok(()),
            [set, ..] => Err(CliError::Request(format!("--set {set}: it has no effect here; {instead}"))),
        }
    }

    /// Fails if there is `--force`: the command writes no file. `instead` is the remedy.
    pub fn refuse_force(&self, instead: &str) -> Result<(), CliError> {
        match self.force {
            true => {
                Err(CliError::Request(format!("--force has no effect here: no file is written; {instead}")))
            }
            false => Ok(()),
        }
    }

    /// Returns whether the error of a scene is due to the configuration: it names the scene, or the scene is
    /// valid without its overrides.
    fn is_of_config(&self, error: &SceneError, name: &str, overrides: &[String]) -> bool {
        match error {
            SceneError::Missing { .. } => self.scene.as_deref() == Some(name),
            _ => {
                let own = &overrides[self.sets_of_config..];
                self.sets_of_config > 0 && Scene::load_shared(name, own, self.share).is_ok()
            }
        }
    }
}

/// Suggests a command, because a misspelt one looks like the name of a scene.
fn suggest_command(error: SceneError, name: &str) -> CliError {
    let commands = ["view", "render", "flipbook", "simulate", "detail", "bench", "scenes", "check", "doctor"];
    match (&error, crate::scene::closest(name, commands)) {
        (SceneError::Missing { hint, .. }, Some(command)) if hint.is_empty() => {
            let name = on_one_line(name);
            CliError::Request(format!("`{name}` is neither a command nor a scene; did you mean `{command}`?"))
        }
        _ => error.into(),
    }
}
