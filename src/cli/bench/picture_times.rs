//! `updraft bench --render`: the cost of a picture by pass.

use super::{BenchArgs, CliError, Common};

/// Runs the command.
#[cfg(feature = "viewer")]
pub fn run(args: &BenchArgs, common: &Common) -> Result<(), CliError> {
    use serde_json::json;

    use super::write_report;
    use crate::cli::machine;
    use crate::cli::progress::Progress;
    use crate::output::whole::Existing;
    use crate::render::Timing;

    args.say(&header())?;
    let mut progress = Progress::new(args.cells.len() as u32, common.quiet);
    let (mut driver, mut all) = (String::new(), Vec::<Timing>::new());
    for (n, &cells) in args.cells.iter().enumerate() {
        progress.update(n as u32, &format!("{cells}^3"));
        let (name, timings) = crate::render::measure(cells as usize, args.size.0, args.steps)?;
        for timing in &timings {
            args.say(&row(timing))?;
        }
        driver = name;
        all.extend(timings);
    }
    drop(progress);
    args.say(&format!("{driver}\n"))?;
    match &args.json {
        Some(path) => write_report(
            path,
            Existing::forced(common.force),
            &json!({
                "build": machine::build(),
                "machine": machine::machine(),
                "driver": driver,
                "pictures": all,
            }),
        ),
        None => Ok(()),
    }
}

/// Refuses: without OpenGL there are no passes to time.
#[cfg(not(feature = "viewer"))]
pub fn run(_args: &BenchArgs, _common: &Common) -> Result<(), CliError> {
    Err(CliError::Request(
        "--render needs OpenGL; this updraft was built without the feature `viewer`".into(),
    ))
}

/// Passes of every picture.
#[cfg(feature = "viewer")]
const PASSES: [&str; 4] = ["scene", "march", "composite", "present"];

#[cfg(feature = "viewer")]
fn header() -> String {
    let mut header = format!(
        "{:>6}  {:>9}  {:>5}  {:>6}  {:>6}  {:>6}  {:>6} [ms]",
        "cells", "size", "march", "upload", "light", "draw", "all"
    );
    PASSES.iter().for_each(|name| header += &format!("  {name:>9}"));
    header + "\n"
}

#[cfg(feature = "viewer")]
fn row(timing: &crate::render::Timing) -> String {
    let [width, height] = timing.size;
    let mut row = format!(
        "{:>6}  {:>9}  {:>5}  {:>6.2}  {:>6.2}  {:>6.2}  {:>6.2}     ",
        format!("{}^3", timing.cells),
        format!("{width}x{height}"),
        if timing.divide == 1 { "1".into() } else { format!("1/{}", timing.divide) },
        timing.upload,
        timing.light,
        timing.draw,
        timing.all
    );
    for name in PASSES {
        row += &timing.passes.get(name).map_or_else(|| format!("  {:>9}", "-"), |ms| format!("  {ms:>9.2}"));
    }
    row + "\n"
}
