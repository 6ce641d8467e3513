//! Drives the window on a virtual screen by mouse and keyboard. Its reported state and the screen must
//! follow. Skipped, with a message, where there is no virtual X server or no tool to drive it.
#![cfg(feature = "viewer")]

#[path = "rig/lost_displays.rs"]
mod lost_displays;
mod rig;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use rig::{PATIENCE, Rig, is, middle, number, place};

#[test]
fn a_person_can_use_the_window() {
    let Some(mut rig) = Rig::start() else {
        return;
    };
    opens_and_runs(&mut rig);
    returns_freed_memory(&rig);
    space_pauses(&mut rig);
    orbits(&mut rig);
    let painted = paints(&mut rig);
    shows_the_velocity(&mut rig);
    a_smoke_made_heavy_sinks(&mut rig, painted);
    steps_once(&mut rig);
    clears(&mut rig);
    undo_brings_a_clear_and_a_stroke_back(&mut rig);
    starts_over(&mut rig);
    changes_the_scene_and_comes_back(&mut rig);
    saves_without_a_file_chooser(&mut rig);
    undoes(&mut rig);
    hides_the_panel_and_shows_help(&mut rig);
    saves_pictures(&mut rig);
    survives_any_size(&mut rig);
    closes(&mut rig);
}

fn opens_and_runs(rig: &mut Rig) {
    rig.until("the first picture", |s| number(s, "/frame") >= 1.0);
    rig.xdo("search --sync --onlyvisible --name updraft windowmove 0 0 windowfocus");
    rig.until("a running plume", |s| is(s, "/state", "running") && number(s, "/mass/0") > 0.0);
}

/// Checks that the thread that returns freed memory runs. `tests/freed_memory.rs` tests its effect.
fn returns_freed_memory(rig: &Rig) {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let threads = fs::read_dir(format!("/proc/{}/task", rig.program.id())).unwrap();
        // A thread may end before its name is read.
        let mut names =
            threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        assert!(names.any(|name| name.trim() == "memory"), "no thread returns freed memory");
    }
}

fn space_pauses(rig: &mut Rig) {
    rig.key("space");
    let state = rig.until("a pause", |s| is(s, "/state", "paused"));
    std::thread::sleep(Duration::from_millis(200));
    let later = rig.until("still paused", |s| is(s, "/state", "paused"));
    assert!(number(&later, "/step") <= number(&state, "/step") + 1.0, "only the step under way ends");
}

fn orbits(rig: &mut Rig) {
    let (state, before) = (rig.state().unwrap(), rig.screen());
    let eye = number(&state, "/camera/position/0");
    rig.drag(3, [300.0, 300.0], [420.0, 330.0]);
    let after = rig.until("an orbit", |s| (number(s, "/camera/position/0") - eye).abs() > 0.1);
    assert_eq!(after.pointer("/camera/target"), state.pointer("/camera/target"));
    assert_eq!(number(&after, "/mass/0"), number(&state, "/mass/0"), "an orbit adds no smoke");
    rig.until_seen("the orbit", &before);
}

/// Paints blue smoke at a height. Returns the height of its centre.
fn paints(rig: &mut Rig) -> f64 {
    rig.key("b");
    let time = number(&rig.until("blue on the brush", |s| is(s, "/ink", "Blue")), "/time");
    rig.xdo("mousemove 330 300");
    let shown = |s: &Value| s.pointer("/cursor/shown").and_then(Value::as_bool) == Some(true);
    rig.until("the ball under the mouse", shown);
    let before = rig.screen();
    rig.drag(1, [330.0, 300.0], [350.0, 300.0]);
    let state = rig.until("blue smoke", |s| number(s, "/mass/2") > 1e-4);
    assert_eq!(number(&state, "/time"), time, "painting while paused takes no time");
    rig.xdo("mousemove 100 700");
    rig.until_seen("the blue smoke", &before);
    number(&rig.state().unwrap(), "/height/2")
}

fn shows_the_velocity(rig: &mut Rig) {
    let before = rig.screen();
    rig.key("v");
    rig.until("the velocity", |s| is(s, "/view", "velocity"));
    rig.until_seen("the velocity", &before);
    rig.key("v");
    rig.until("the smoke again", |s| is(s, "/view", "smoke"));
}

fn a_smoke_made_heavy_sinks(rig: &mut Rig, painted: f64) {
    let state = search(rig, "blue.buoyancy", "smoke.blue.buoyancy");
    let [left, top, right, bottom] = place(&state, "smoke.blue.buoyancy");
    let y = 0.5 * (top + bottom);
    rig.drag(1, [0.5 * (left + right), y], [left + 6.0, y]);
    let state = rig.until("a negative buoyancy", |s| number(s, "/params/smoke.blue.buoyancy") < -4.0);
    assert_eq!(number(&state, "/params/smoke.red.buoyancy"), 0.0, "only blue was dragged");
    rig.key("space");
    rig.until("the blue smoke to sink", |s| number(s, "/height/2") < painted - 0.05);
    rig.key("space");
    rig.until("a pause", |s| is(s, "/state", "paused"));
}

fn steps_once(rig: &mut Rig) {
    std::thread::sleep(Duration::from_millis(100));
    let step = number(&rig.until("a pause", |s| is(s, "/state", "paused")), "/step");
    rig.key("period");
    rig.until("one step", |s| number(s, "/step") == step + 1.0);
}

fn clears(rig: &mut Rig) {
    rig.key("c");
    rig.until("an empty box", |s| (0..3).all(|c| number(s, &format!("/mass/{c}")) == 0.0));
}

fn undoes(rig: &mut Rig) {
    let state = rig.state().unwrap();
    let [left, top, right, bottom] = place(&state, "smoke.blue.buoyancy");
    let (old, y) = (number(&state, "/params/smoke.blue.buoyancy"), 0.5 * (top + bottom));
    rig.drag(1, [0.5 * (left + right), y], [right - 6.0, y]);
    rig.until("more buoyancy", |s| {
        number(s, "/params/smoke.blue.buoyancy") > 4.0 && is(s, "/undoes", "Blue (B) buoyancy")
    });
    rig.key("ctrl+z");
    rig.until("the old buoyancy", |s| number(s, "/params/smoke.blue.buoyancy") == old);
    rig.key("ctrl+shift+z");
    rig.until("the new one again", |s| number(s, "/params/smoke.blue.buoyancy") > 4.0);
}

fn undo_brings_a_clear_and_a_stroke_back(rig: &mut Rig) {
    rig.key("g");
    rig.until("green on the brush", |s| is(s, "/ink", "Green"));
    rig.drag(1, [330.0, 300.0], [350.0, 300.0]);
    let green = |s: &Value| number(s, "/mass/1") > 1e-5 && is(s, "/undoes", "stroke");
    rig.until("green smoke", green);
    // The last dab of the stroke may not have arrived yet.
    (0..3).for_each(|_| rig.wait_for_a_frame());
    let painted = rig.until("green smoke", green);
    rig.key("c");
    rig.until("an empty box", |s| number(s, "/mass/1") == 0.0 && is(s, "/undoes", "clear"));
    rig.key("ctrl+z");
    let mass = number(&painted, "/mass/1");
    rig.until("the smoke back", |s| number(s, "/mass/1") == mass && is(s, "/notice", "Undo: clear"));
    rig.key("ctrl+z");
    rig.until("no stroke", |s| number(s, "/mass/1") == 0.0 && is(s, "/notice", "Undo: stroke"));
}

fn starts_over(rig: &mut Rig) {
    rig.key("Home");
    rig.until("the start", |s| {
        number(s, "/step") == 0.0 && s["loading"].is_null() && is(s, "/undoes", "restart")
    });
}

fn changes_the_scene_and_comes_back(rig: &mut Rig) {
    let (x, y) = middle(&rig.state().unwrap(), "scenes");
    rig.xdo(&format!("mousemove {x} {y} click 1"));
    let (x, y) = middle(&rig.until("the list", |s| s["places"]["colors"].is_array()), "colors");
    // Esc closes the list, not the window.
    rig.key("Escape");
    rig.until("no list", |s| !s["places"]["colors"].is_array() && s["dialog"].is_null());
    let (title_x, title_y) = middle(&rig.state().unwrap(), "scenes");
    rig.xdo(&format!("mousemove {title_x} {title_y} click 1"));
    rig.until("the list again", |s| s["places"]["colors"].is_array());
    rig.xdo(&format!("mousemove {x} {y} click 1"));
    rig.until("another scene", |s| is(s, "/scene", "colors") && s["loading"].is_null());
    rig.key("ctrl+z");
    rig.until("the first scene", |s| is(s, "/scene", "plume") && s["loading"].is_null());
}

/// Checks that the window asks for a path itself: the scene is of no file, and this machine has no file
/// chooser.
fn saves_without_a_file_chooser(rig: &mut Rig) {
    rig.key("ctrl+s");
    rig.until("the question", |s| is(s, "/dialog", "save") && s["places"]["dialog.path"].is_array());
    rig.key("ctrl+a");
    rig.xdo("type no-such-folder/mine.toml");
    rig.key("Return");
    rig.until("what is wrong", |s| is(s, "/dialog", "save") && !s["dialog_error"].is_null());
    rig.key("Escape");
    rig.until("no question", |s| s["dialog"].is_null());
    rig.key("ctrl+s");
    rig.until("the question again", |s| is(s, "/dialog", "save") && s["places"]["dialog.path"].is_array());
    rig.key("ctrl+a");
    rig.xdo("type mine.toml");
    rig.key("Return");
    rig.until("saved", |s| s["dialog"].is_null() && s["unsaved"].as_bool() == Some(false));
    let text = fs::read_to_string(rig.folder.path().join("mine.toml")).unwrap();
    assert!(text.contains("buoyancy"), "{text}");
    rig.key("ctrl+o");
    rig.until("the question what to open", |s| {
        is(s, "/dialog", "open") && s["places"]["dialog.path"].is_array()
    });
    rig.xdo("type mine.toml");
    rig.key("Return");
    rig.until("the saved scene", |s| {
        is(s, "/scene", "mine") && s["loading"].is_null() && s["dialog"].is_null()
    });
}

fn hides_the_panel_and_shows_help(rig: &mut Rig) {
    let flag = |name: &'static str, on: bool| move |s: &Value| s[name].as_bool() == Some(on);
    let width = number(&rig.state().unwrap(), "/viewport/2");
    rig.key("Tab");
    let state = rig.until("no panel", flag("panel", false));
    rig.until("a wider view", |s| number(s, "/viewport/2") > width + 200.0);
    assert!(state["places"].as_object().is_some());
    rig.key("Tab");
    rig.until("the panel", flag("panel", true));
    rig.key("F1");
    rig.until("the help", flag("help", true));
    rig.key("Escape");
    rig.until("no help", flag("help", false));
}

fn saves_pictures(rig: &mut Rig) {
    let pictures = |rig: &Rig| -> Vec<PathBuf> {
        let files = fs::read_dir(rig.folder.path()).unwrap().map(|f| f.unwrap().path());
        let finished = |p: &PathBuf| {
            let name = p.file_name().unwrap().to_string_lossy();
            name.starts_with("updraft-") && name.ends_with(".png")
        };
        files.filter(finished).collect()
    };
    for n in 1..=2 {
        rig.key("F12");
        let deadline = Instant::now() + PATIENCE;
        while pictures(rig).len() < n {
            assert!(Instant::now() < deadline, "picture {n} was not saved");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    for path in pictures(rig) {
        assert!(fs::read(&path).unwrap().starts_with(b"\x89PNG"), "{}", path.display());
    }
}

fn survives_any_size(rig: &mut Rig) {
    for (width, height) in [(700, 420), (1100, 700)] {
        rig.xdo(&format!("search --name updraft windowsize {width} {height}"));
        rig.until("a picture of the new size", |s| {
            // The timeline takes a little of the height.
            (f64::from(height) - 60.0..=f64::from(height)).contains(&number(s, "/viewport/3"))
        });
    }
}

/// Checks that Esc asks whether to close with unsaved changes, that another Esc cancels the question, and
/// that an answer closes the window.
fn closes(rig: &mut Rig) {
    let unsaved = |s: &Value| s["unsaved"].as_bool() == Some(true);
    rig.until("changes", unsaved);
    // The first Esc shows all rows again.
    rig.key("Escape");
    rig.until("all rows", |s| s["places"]["brush.radius"].is_array());
    rig.key("Escape");
    rig.until("the question", |s| is(s, "/dialog", "leave"));
    rig.key("Escape");
    rig.until("no question", |s| s["dialog"].is_null());
    rig.key("Escape");
    let state =
        rig.until("the question again", |s| is(s, "/dialog", "leave") && s["places"]["discard"].is_array());
    let (x, y) = middle(&state, "discard");
    rig.xdo(&format!("mousemove {x} {y} click 1"));
    let status = rig.end();
    assert!(status.success(), "{status}");
}

/// Types into the search field of the panel, which brings the matching rows to its top. Returns the state then.
fn search(rig: &mut Rig, text: &str, place: &'static str) -> Value {
    let (x, y) = middle(&rig.until("the search", |s| s["places"]["search"].is_array()), "search");
    rig.xdo(&format!("mousemove {x} {y} click 1"));
    rig.key("ctrl+a");
    rig.xdo(&format!("type {text}"));
    // Keys act on the window again once the field has given up the focus.
    rig.key("Return");
    // Rows move until the last letter is processed.
    (0..3).for_each(|_| rig.wait_for_a_frame());
    let height = rig.size[1] as f64;
    // The rows that do not match have disappeared by then.
    rig.until(place, |s| {
        let seen = s["places"][place][3].as_f64().is_some_and(|bottom| bottom < height);
        seen && s["places"]["brush.radius"].is_null()
    })
}

fn click(rig: &Rig, state: &Value, name: &str) {
    let (x, y) = middle(state, name);
    rig.xdo(&format!("mousemove {x} {y}"));
    rig.wait_for_a_frame();
    rig.xdo("click 1");
    rig.wait_for_a_frame();
}

/// Returns the mean and spread of the brightness in a part of the screen: left, top, right, bottom.
fn brightness(rig: &Rig, [left, top, right, bottom]: [usize; 4]) -> [f64; 2] {
    let screen = rig.screen();
    let row = |y: usize| &screen[3 * (rig.size[0] * y + left)..3 * (rig.size[0] * y + right)];
    let values: Vec<f64> = (top..bottom).flat_map(|y| row(y).iter().map(|&p| f64::from(p))).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    [mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()]
}

/// Runs through a first session on a small, a usual and a large screen.
#[test]
fn a_first_session_works_on_three_screens() {
    for screen in [[800, 480], [1280, 800], [1920, 1080]] {
        let tiny = ["--set", "domain.cells=[32,48,32]", "--set", "domain.voxel=0.03"];
        let Some(mut rig) = Rig::on(screen, &tiny) else {
            return;
        };
        opens_and_runs(&mut rig);
        fits(&mut rig);
        adds_a_ball_and_drags_it(&mut rig);
        compares_two_settings(&mut rig);
        scrubs_back_and_moves_the_ball(&mut rig);
        scrubs_and_exports(&mut rig);
        leaves(&mut rig);
    }
}

/// On a screen of 3840 × 2160 pixels without any scaling of its own, text and controls are twice as large.
#[test]
fn a_4k_screen_has_readable_text_and_a_whole_help() {
    let tiny = ["--set", "domain.cells=[24,32,24]", "--set", "domain.voxel=0.04"];
    let Some(mut rig) = Rig::on([3840, 2160], &tiny) else {
        return;
    };
    opens_and_runs(&mut rig);
    rig.until("some smoke", |s| number(s, "/frames/1") >= 12.0);
    rig.key("space");
    rig.until("a pause", |s| is(s, "/state", "paused"));
    fits(&mut rig);
    let state = rig.state().unwrap();
    let [width, height] = window_size(&rig);
    assert!(width <= 3840.0 && height <= 2160.0, "{width} x {height}");
    assert!(width >= 1600.0 && height >= 1000.0, "large text in a small window: {width} x {height}");
    let [_, top, right, bottom] = place(&state, "run");
    assert!(bottom - top >= 40.0 && right <= width, "a button of {} pixels", bottom - top);
    let shot = |rig: &Rig| (rig.state().unwrap(), rig.screen());
    rig.key("F1");
    rig.until("the help", |s| s["help"].as_bool() == Some(true) && s["places"]["help.text"].is_array());
    (0..3).for_each(|_| rig.wait_for_a_frame());

    // In a small window the help scrolls to its end.
    rig.xdo("search --onlyvisible --name updraft windowsize 1180 760");
    rig.until("a small window", |s| number(s, "/viewport/3") < 760.0);
    let scrolls = |s: &Value| place(s, "help.text")[3] > place(s, "help.window")[3] + 40.0;
    let (_, before) = rig.until_seen_whole("a help that is cut off", scrolls, shot);
    let state = rig.state().unwrap();
    let (x, y) = middle(&state, "help.window");
    rig.xdo(&format!("mousemove {x} {y}"));
    let is_at_end = |s: &Value| place(s, "help.text")[3] <= place(s, "help.window")[3];
    let deadline = Instant::now() + PATIENCE;
    while !rig.state().is_some_and(|s| is_at_end(&s)) {
        assert!(Instant::now() < deadline, "the help does not scroll to its end");
        rig.xdo("click --repeat 5 5");
        rig.wait_for_a_frame();
    }
    let (state, after) = shot(&rig);
    let [left, top, right, bottom] = place(&state, "help.window").map(|x| x.max(0.0) as usize);
    assert!(right <= 1180 && bottom <= 760, "{right} {bottom}");
    let inside = |screen: &[u8]| -> Vec<u8> {
        let rows =
            (top + 80..bottom - 20).map(|y| &screen[3 * (3840 * y + left + 20)..][..3 * (right - left - 60)]);
        rows.flatten().copied().collect()
    };
    assert_ne!(inside(&before), inside(&after), "other lines are seen");

    // In a window as large as the screen the whole help is visible at once.
    rig.xdo("search --onlyvisible --name updraft windowsize 3840 2160");
    let is_whole = |s: &Value| {
        let ([l, t, r, b], [wl, wt, wr, wb]) = (place(s, "help.text"), place(s, "help.window"));
        number(s, "/viewport/3") > 1900.0 && l >= wl && t >= wt && r <= wr && b <= wb
    };
    let (state, screen) = rig.until_seen_whole("the whole help", is_whole, shot);
    if let Some(path) = std::env::var_os("UPDRAFT_TEST_SCREEN") {
        fs::write(path, &screen).unwrap();
    }
    let [left, top, right, bottom] = place(&state, "help.text").map(|x| x as usize);
    assert!(right <= 3840 && bottom <= 2160, "{right} {bottom}");
    // The text is everywhere in the help: each of its bands has bright pixels on a dark ground.
    for band in 0..6 {
        let [from, to] = [0, 1].map(|end| top + (bottom - top) * (band + end) / 6);
        let [mean, spread] = brightness(&rig, [left, from, left + (right - left) / 2, to]);
        assert!(mean < 100.0 && spread > 12.0, "band {band} of the help: {mean} {spread}");
    }
    // A line of text is about twice as high as on a screen of 1080 rows.
    let lines = lines_of_text(&screen, [left, top, left + 60, bottom]);
    let tallest = lines.iter().copied().max().unwrap_or(0);
    assert!(lines.len() > 12 && (18..60).contains(&tallest), "{lines:?}");
    rig.key("Escape");
    rig.until("no help", |s| s["help"].as_bool() == Some(false));
    fits(&mut rig);
}

/// Returns the width and height of the window \[px\].
fn window_size(rig: &Rig) -> [f64; 2] {
    let told = rig.xdo("search --onlyvisible --name updraft getwindowgeometry --shell");
    ["WIDTH=", "HEIGHT="].map(|key| {
        let line = told.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{told}"))
    })
}

/// Returns the heights of the lines of text in a part of a screen of 3840 columns \[px\]: rows with bright
/// pixels between rows without.
fn lines_of_text(screen: &[u8], [left, top, right, bottom]: [usize; 4]) -> Vec<usize> {
    let is_text = |y: &usize| screen[3 * (3840 * y + left)..3 * (3840 * y + right)].iter().any(|&p| p > 110);
    let rows: Vec<usize> = (top..bottom).filter(is_text).collect();
    rows.chunk_by(|a, b| b - a == 1).map(<[usize]>::len).collect()
}

/// Checks that window, panel and smoke are on the screen and none is blank.
fn fits(rig: &mut Rig) {
    let state = rig.until("the panel", |s| s["places"]["save"].is_array());
    let [width, height] = rig.size;
    for name in ["run", "save", "scenes", "help"] {
        let [left, top, right, bottom] = place(&state, name);
        assert!(left >= 0.0 && top >= 0.0 && right <= width as f64 && bottom <= height as f64, "{name}");
    }
    let view: [usize; 4] = std::array::from_fn(|n| state["viewport"][n].as_f64().unwrap() as usize);
    assert!(view[2] > 200 && view[3] > 200, "{view:?} on {width} x {height}");
    // The first picture comes after the first frame of the window.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let [mean, spread] = brightness(rig, [0, 0, view[2], view[3]]);
        if mean > 10.0 && spread > 15.0 {
            break;
        }
        assert!(Instant::now() < deadline, "the view is blank: {mean} {spread}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let [left, ..] = place(&state, "run");
    let [mean, spread] = brightness(rig, [left as usize, 0, left as usize + 300, 170]);
    assert!(mean < 120.0 && spread > 10.0, "the panel is blank: {mean} {spread}");
}

fn adds_a_ball_and_drags_it(rig: &mut Rig) {
    let state = search(rig, "objects", "object.add");
    click(rig, &state, "object.add");
    let state = rig.until("the menu", |s| s["places"]["solid.ball"].is_array());
    click(rig, &state, "solid.ball");
    let state = rig.until("a ball", |s| number(s, "/solids") == 1.0 && s["solid_positions"][0].is_array());
    let at = state["handles"].as_array().unwrap().last().unwrap().clone();
    let at = [0, 1].map(|n| at[n].as_f64().unwrap());
    let before = number(&state, "/solid_positions/0/0");
    let scale = number(&state, "/viewport/3") / 480.0;
    rig.drag(1, at, [at[0] + 40.0 * scale, at[1]]);
    rig.until("a ball elsewhere", |s| number(s, "/solid_positions/0/0") > before + 0.05);
    rig.until("an undo for it", |s| is(s, "/undoes", "solid 1"));
    rig.key("ctrl+z");
    rig.until("the ball back", |s| (number(s, "/solid_positions/0/0") - before).abs() < 1e-3);
}

/// Checks that both halves show smoke at the same instant, that they differ once their settings do, and that
/// one of them is kept.
fn compares_two_settings(rig: &mut Rig) {
    let state = rig.until("the button", |s| s["places"]["compare"].is_array());
    click(rig, &state, "compare");
    let state = rig.until("two sides", |s| s["compared"].is_array() && s["loading"].is_null());
    assert!(is(&state, "/side", "A"));
    // Text fields have lost the focus, so a key acts on the window.
    rig.key("x");
    rig.until("the other side", |s| is(s, "/side", "B"));
    let state = search(rig, "red.buoyancy", "smoke.red.buoyancy");
    let [left, top, right, bottom] = place(&state, "smoke.red.buoyancy");
    let y = 0.5 * (top + bottom);
    rig.drag(1, [0.5 * (left + right), y], [left + 6.0, y]);
    let buoyancy = |s: &Value, side: usize| number(s, &format!("/compared/{side}/params/smoke.red.buoyancy"));
    let differ = rig.until("two settings", |s| buoyancy(s, 1) < -4.0 && buoyancy(s, 0) == 0.0);
    let step = number(&differ, "/compared/0/step");
    let later = rig.until("a few more steps", |s| number(s, "/compared/0/step") > step + 5.0);
    for what in ["step", "time"] {
        let [a, b] = [0, 1].map(|side| number(&later, &format!("/compared/{side}/{what}")));
        assert_eq!(a, b, "one clock: {what}");
    }
    rig.key("space");
    rig.until("a pause", |s| is(s, "/state", "paused"));
    (0..3).for_each(|_| rig.wait_for_a_frame());
    let state = rig.state().unwrap();
    for side in 0..2 {
        let part = &state["compared"][side]["viewport"];
        let [left, _, width, height]: [usize; 4] =
            std::array::from_fn(|n| part[n].as_f64().unwrap() as usize);
        let [mean, spread] = brightness(rig, [left + 8, 40, left + width - 8, height - 8]);
        assert!(mean > 8.0 && spread > 8.0, "half {side} is blank: {mean} {spread}");
    }
    rig.key("k");
    rig.until("one side", |s| s["compared"].is_null() && s["loading"].is_null());
    rig.key("ctrl+z");
    rig.until("both again", |s| s["compared"].is_array() && s["loading"].is_null());
    rig.key("ctrl+z");
    rig.until("the old buoyancy", |s| buoyancy(s, 1) == 0.0);
    rig.key("ctrl+z");
    rig.until("no comparison", |s| s["compared"].is_null() && s["loading"].is_null());
    // The panel shows all rows again.
    let state = rig.until("the search", |s| s["places"]["search"].is_array());
    click(rig, &state, "search");
    rig.key("Escape");
    // The field gives up the focus with the next picture.
    (0..3).for_each(|_| rig.wait_for_a_frame());
    rig.key("space");
    rig.until("running smoke", |s| is(s, "/state", "running"));
}

/// Checks that the smoke goes on from the recorded frame without a stroke, and that one undo restores the
/// later frames and the ball.
fn scrubs_back_and_moves_the_ball(rig: &mut Rig) {
    rig.until("some frames", |s| number(s, "/frames/1") >= 6.0);
    rig.key("space");
    let state = rig.until("a pause", |s| is(s, "/state", "paused"));
    let last = number(&state, "/frames/1");
    (0..3).for_each(|_| rig.key("Left"));
    let state = rig.until("a recorded frame", |s| s["past"].as_f64() == Some(last - 3.0));
    let at = state["handles"].as_array().unwrap().last().unwrap().clone();
    let at = [0, 1].map(|n| at[n].as_f64().unwrap());
    let before = number(&state, "/solid_positions/0/0");
    let scale = number(&state, "/viewport/3") / 480.0;
    rig.drag(1, at, [at[0] + 40.0 * scale, at[1]]);
    let undo = format!("solid 1 from frame {}", last - 3.0);
    rig.until("one undo for it", |s| is(s, "/undoes", &undo) && number(s, "/frames/1") == last - 3.0);
    rig.key("period");
    rig.until("a ball elsewhere", |s| number(s, "/solid_positions/0/0") > before + 0.02);
    rig.key("ctrl+z");
    rig.until("all frames", |s| number(s, "/frames/1") == last && s["past"].is_null());
    rig.until("the ball back", |s| (number(s, "/solid_positions/0/0") - before).abs() < 1e-3);
    rig.key("Left");
    rig.until("a recorded frame", |s| s["past"].is_number());
    rig.key("Escape");
    rig.until("the present", |s| s["past"].is_null() && s["dialog"].is_null());
    rig.key("space");
    rig.until("running smoke", |s| is(s, "/state", "running"));
}

fn scrubs_and_exports(rig: &mut Rig) {
    rig.until("some frames", |s| number(s, "/frames/1") >= 6.0);
    rig.key("space");
    rig.until("a pause", |s| is(s, "/state", "paused"));
    rig.key("Left");
    let past = |s: &Value| s["past"].is_number();
    rig.until("a recorded frame", past);
    let state = search(rig, "export", "export.frames");
    click(rig, &state, "export.frames");
    let state = rig.until("a path", |s| s["places"]["export"].is_array());
    click(rig, &state, "export");
    // Pictures of files take a second each.
    rig.until_within(Duration::from_secs(180), "the frames", |s| {
        s["notice"].as_str().is_some_and(|text| text.starts_with("Written to ")) && s["exporting"].is_null()
    });
    let files = fs::read_dir(rig.folder.path().join("plume-frames")).unwrap().count();
    assert!(files >= 6, "{files} frames");
}

fn leaves(rig: &mut Rig) {
    let state = rig.state().unwrap();
    click(rig, &state, "timeline.present");
    rig.until("the present", |s| s["past"].is_null());
    // The first Esc shows all rows again.
    rig.key("Escape");
    rig.until("all rows", |s| s["places"]["brush.radius"].is_array() && s["dialog"].is_null());
    // The second Esc deselects the ball.
    rig.key("Escape");
    (0..3).for_each(|_| rig.wait_for_a_frame());
    assert!(rig.state().is_some_and(|s| s["dialog"].is_null()), "the ball was selected");
    rig.key("Escape");
    let asks = |s: &Value| is(s, "/dialog", "leave") && s["places"]["discard"].is_array();
    rig.until("the question", asks);
    // A new dialog reaches its place within a frame.
    rig.wait_for_a_frame();
    let state = rig.until("the question", asks);
    click(rig, &state, "discard");
    let deadline = Instant::now() + PATIENCE;
    while rig.program.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the window does not close");
        std::thread::sleep(Duration::from_millis(20));
    }
    let remembered = fs::read_to_string(rig.folder.path().join("state/updraft/window.json")).unwrap();
    assert!(remembered.contains("\"size\""), "{remembered}");
}
