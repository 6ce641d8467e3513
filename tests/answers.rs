//! Time from a key to the picture that shows its effect, while a step takes seconds. Timings: run by hand,
//! `cargo test --release --test answers -- --ignored --nocapture`; PERFORMANCE.md has the figures.
#![cfg(feature = "viewer")]

#[expect(dead_code, reason = "tests/window.rs uses all of it")]
mod rig;

use std::time::{Duration, Instant};

use serde_json::Value;

use rig::{Rig, is, number};

/// Waits up to a minute until the state holds. Returns the time that it took.
fn time_until(rig: &Rig, holds: impl Fn(&Value) -> bool) -> Option<Duration> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if rig.state().is_some_and(|state| holds(&state)) {
            return Some(begin.elapsed());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Measures the time of a key, pressed by a program that already runs when the clock starts.
fn time_of(rig: &Rig, key: &str, holds: impl Fn(&Value) -> bool) -> f64 {
    rig.key(key);
    time_until(rig, holds).map_or(f64::INFINITY, |time| time.as_secs_f64() * 1e3)
}

fn tell(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let (least, median, most) = (at(0.0), at(0.5), at(1.0));
    println!("{what}: {least:.0} to {most:.0} ms, median {median:.0} ms, of {}", times.len());
}

#[test]
#[ignore = "timings of a quarter of an hour's machine, to be read by a person"]
fn controls_answer_while_a_step_takes_seconds() {
    let Some(mut rig) = Rig::on([1280, 800], &["--set", "domain.cells=[256,256,256]"]) else { return };
    rig.until("the first picture", |s| number(s, "/frame") >= 1.0);
    rig.xdo("search --sync --onlyvisible --name updraft windowmove 0 0 windowfocus");
    rig.until("two steps", |s| is(s, "/state", "running") && number(s, "/step") >= 2.0);
    let colors = [("r", "Red"), ("g", "Green"), ("b", "Blue"), ("w", "White")];
    let mut keys = Vec::new();
    for n in 0..16 {
        let (key, ink) = colors[(n + 1) % 4];
        keys.push(time_of(&rig, key, |s| is(s, "/ink", ink)));
        std::thread::sleep(Duration::from_millis(370));
    }
    tell("a key changes the panel", keys);
    let mut pauses = Vec::new();
    let mut cancels = Vec::new();
    for _ in 0..4 {
        pauses.push(time_of(&rig, "space", |s| s["pausing"] == true || is(s, "/state", "paused")));
        cancels.push(time_of(&rig, "space", |s| is(s, "/state", "paused")));
        time_of(&rig, "space", |s| is(s, "/state", "running"));
        std::thread::sleep(Duration::from_millis(900));
    }
    tell("Space: pausing", pauses);
    tell("Space again: paused", cancels);
    let state = rig.state().unwrap();
    println!("step {} ms, picture {} ms", number(&state, "/step_ms"), number(&state, "/draw_ms"));
}
