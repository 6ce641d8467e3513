//! Tests displays that are killed or freeze, and drivers that lose their context.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use super::opens_and_runs;
use super::rig::losing_driver::LosingDriver;
use super::rig::{PATIENCE, Rig, VIEW, is, middle, number, place, server};

const SMALL: [&str; 4] = ["--set", "domain.cells=[24,36,24]", "--set", "domain.voxel=0.04"];

/// Drags the buoyancy of the red smoke up.
fn raise_buoyancy(rig: &mut Rig) {
    opens_and_runs(rig);
    // With the list of objects closed, the row below it is on the screen.
    let state = rig.until("the panel", |s| s["places"]["smoke.red.buoyancy"].is_array());
    let (x, y) = middle(&state, "Objects");
    rig.xdo(&format!("mousemove {x} {y} click 1"));
    let state = rig.until("a closed list", |s| place(s, "Smoke")[1] - place(s, "Objects")[3] < 8.0);
    let [left, top, right, bottom] = place(&state, "smoke.red.buoyancy");
    let y = 0.5 * (top + bottom);
    rig.drag(1, [0.5 * (left + right), y], [right - 6.0, y]);
    rig.until("more buoyancy", |s| number(s, "/params/smoke.red.buoyancy") > 4.0);
}

/// Returns whether a scene sets the buoyancy of the smoke, not that of the heat.
fn has_changes(text: &str) -> bool {
    text.replace("heat_buoyancy", "").contains("buoyancy = ")
}

/// The changes of the last seconds were once lost.
#[test]
fn a_signal_closes_the_window_and_keeps_the_changes() {
    for (signal, name) in [("-TERM", "by SIGTERM"), ("-HUP", "by SIGHUP")] {
        let Some(mut rig) = Rig::on([1280, 800], &SMALL) else { return };
        raise_buoyancy(&mut rig);
        let id = rig.program.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let (status, told) = (rig.end(), rig.stderr());
        assert!(status.code() == Some(1) && told.lines().count() == 1, "{status}: {told}");
        assert!(told.contains(&format!("stopped: {name}")), "{told}");
        let copy = rig.folder.path().join("state/updraft/unsaved-1.toml");
        assert!(has_changes(&fs::read_to_string(copy).unwrap()));
    }
}

/// The program ends with one message, and the next window has the changes.
#[test]
fn changes_survive_a_display_that_is_killed() {
    let Some(mut rig) = Rig::on([1280, 800], &SMALL) else { return };
    let copy = rig.folder.path().join("state/updraft/unsaved-1.toml");
    raise_buoyancy(&mut rig);
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string(&copy).is_ok_and(|text| has_changes(&text)) {
        assert!(Instant::now() < deadline, "the changes are not copied");
        std::thread::sleep(Duration::from_millis(50));
    }
    rig.server.kill().unwrap();
    rig.server.wait().unwrap();
    let status = rig.end();
    // The program's own message is one line, that of the X library two.
    let told = rig.stderr();
    assert!(status.code() == Some(1) && (1..=2).contains(&told.lines().count()), "{status}: {told}");
    (rig.server, rig.display) = server([1280, 800]);
    fs::remove_file(rig.folder.path().join("state.json")).unwrap();
    rig.program = Rig::program(&rig.folder, &rig.display, &SMALL, &[]);
    rig.until("where the changes are", |s| {
        s["notice"].as_str().is_some_and(|notice| notice.contains("recovered.toml"))
    });
    let recovered = fs::read_to_string(copy.with_file_name("recovered.toml")).unwrap();
    assert!(has_changes(&recovered), "{recovered}");
}

/// The window waits for a frozen display, beyond the timeout of its watchdog, and the simulation goes on.
#[test]
fn a_frozen_display_ends_nothing() {
    let Some(mut rig) = Rig::start() else { return };
    let step = number(&rig.until("a running plume", |s| number(s, "/step") >= 3.0), "/step");
    let server = |signal: &str| {
        let id = rig.server.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill {signal} {id}")]).status().unwrap().success());
    };
    server("-STOP");
    std::thread::sleep(Duration::from_secs(8));
    server("-CONT");
    rig.until("later steps", |s| is(s, "/state", "running") && number(s, "/step") > step + 4.0);
    assert_eq!(rig.stderr(), "");
}

/// The window makes another context and shows the smoke in it. If the driver loses this one too, the program
/// ends with one message.
#[test]
fn a_lost_context_is_replaced() {
    survives_a_loss("llvmpipe");
}

/// A lost context is also replaced if OpenGL renders the pictures, as with a graphics card.
#[test]
fn a_lost_context_with_pictures_in_it_is_replaced() {
    survives_a_loss("a graphics card");
}

fn survives_a_loss(renderer: &str) {
    let Some(driver) = LosingDriver::compile() else { return };
    let arguments = ["--set", "domain.cells=[24,36,24]", "--set", "domain.voxel=0.04"];
    let Some(mut rig) = Rig::within([1280, 800], &arguments, &driver.environment(renderer)) else {
        return;
    };
    opens_and_runs(&mut rig);
    rig.until("a plume", |s| number(s, "/time") > 1.0);
    rig.key("space");
    rig.until("a pause", |s| is(s, "/state", "paused"));
    // The current step ends, and its picture is refined.
    std::thread::sleep(Duration::from_secs(2));
    let (before, seen) = (rig.state().unwrap(), bright(&rig));
    assert!(seen > 1_000, "{seen} bright pixels of smoke");
    let smoke = number(&before, "/mass/0");
    driver.lose(1);
    rig.xdo("mousemove 330 300");
    let after =
        rig.until("the notice", |s| s["notice"].as_str().is_some_and(|notice| notice.contains("anew")));
    assert!(driver.has_lost());
    assert_eq!(number(&after, "/mass/0"), smoke, "nothing of the session is lost");
    assert_eq!(after["params"], before["params"]);
    rig.until("the panel", |s| s["places"]["smoke.red.buoyancy"].is_array());
    std::thread::sleep(Duration::from_secs(2));
    let again = bright(&rig);
    assert!(again.abs_diff(seen) < seen / 5, "{seen} bright pixels of smoke before, {again} after");
    rig.key("space");
    rig.until("later steps", |s| {
        is(s, "/state", "running") && number(s, "/step") > number(&after, "/step") + 2.0
    });
    assert_eq!(rig.stderr(), "");

    std::thread::sleep(Duration::from_millis(5_500));
    driver.lose(1_000);
    let status = rig.end();
    let told = rig.stderr();
    assert!(
        status.code() == Some(1) && told.lines().count() == 1 && told.contains("context"),
        "{status}: {told}"
    );
}

/// If OpenGL renders the pictures and refuses the shaders, the program ends with one message.
#[test]
fn a_refused_shader_ends_the_window_with_one_message() {
    let Some(driver) = LosingDriver::compile() else { return };
    // The first shader is compiled at the start, the second one at the first picture.
    for refused in ["uniform vec2 edge;", "march_extinction"] {
        let [library, loss, renderer] = driver.environment("a graphics card");
        let environment = [library, loss, renderer, ("UPDRAFT_TEST_REFUSED", refused.into())];
        let Some(mut rig) = Rig::within([1280, 800], &[], &environment) else { return };
        let status = rig.end();
        let told = rig.stderr();
        assert_eq!(status.code(), Some(1), "{refused}: {told}");
        assert!(told.lines().count() == 1 && told.contains("refuses it"), "{refused}: {told}");
    }
}

/// Returns the number of bright pixels in the part of the view without text.
fn bright(rig: &Rig) -> usize {
    let screen = rig.screen();
    let rows = screen.chunks_exact(3 * rig.size[0]).skip(100).take(VIEW[1] - 200);
    let pixels = rows.flat_map(|row| row.chunks_exact(3).take(VIEW[0]));
    pixels.filter(|pixel| pixel.iter().all(|&c| c > 110)).count()
}
