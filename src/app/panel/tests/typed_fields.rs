//! Numbers typed into the fields of the panel, and the size of its text.

use super::*;
use crate::app::objects::Draft;

impl Rig {
    fn resolution(&self) -> Option<u32> {
        self.model.draft.as_ref().and_then(|draft| draft.resolution)
    }
}

#[test]
fn fields_of_the_box_read_units_and_say_what_they_cannot_read() {
    let mut rig = Rig::new();
    rig.type_into("solver.resolution", "128 cells");
    assert_eq!(rig.resolution(), Some(128));
    for (typed, said) in [("2*50", "no number"), ("64,5", "no whole number"), ("5 kg", "not in cells")] {
        rig.type_into("solver.resolution", typed);
        assert_eq!(rig.resolution(), Some(128), "{typed}");
        assert!(rig.says(said), "{typed}: {:?}", rig.texts);
    }
    rig.type_into("solver.resolution", "0");
    assert_eq!(rig.resolution(), Some(1));
    assert!(rig.says("1 is the least; 0 was typed"));
    rig.type_into("solver.resolution", "64");
    assert!(!rig.says("was typed") && rig.resolution() == Some(64));
}

#[test]
fn a_box_beyond_the_memory_cannot_be_applied_and_its_edits_stay() {
    let mut rig = Rig::new();
    for (resolution, fits) in [(1024, false), (64, true)] {
        let draft = Draft { resolution: Some(resolution), ..Draft::default() };
        rig.model.draft = Some(draft.clone());
        let apply = rig.place("solver.apply").center();
        rig.click(apply);
        assert_eq!(!rig.model.edits.is_empty(), fits, "{resolution}");
        assert_eq!(rig.model.draft, Some(draft));
    }
}

#[test]
fn a_restart_is_offered_only_for_values_that_differ_from_the_running_ones() {
    let mut rig = Rig::new();
    let click_apply = |rig: &mut Rig| {
        let apply = rig.place("solver.apply").center();
        rig.click(apply);
        std::mem::take(&mut rig.model.edits).len()
    };
    let cfl = rig.model.settings.scene.config.time.cfl;
    let names =
        ["domain.detail", "domain.follow_margin", "time.cfl", "time.max_substeps", "solver.tolerance"];
    for name in names {
        for typed in ["abc", "", "5 kg"] {
            rig.type_into(name, typed);
            assert_eq!((rig.model.draft.clone(), click_apply(&mut rig)), (None, 0), "{name}: {typed:?}");
        }
    }
    for typed in [format!("{cfl}"), format!("{cfl:.4}")] {
        rig.type_into("time.cfl", &typed);
        assert_eq!((rig.model.draft.clone(), click_apply(&mut rig)), (None, 0), "{typed}");
    }
    rig.type_into("time.cfl", &format!("{}", 0.5 * cfl));
    assert_eq!(click_apply(&mut rig), 1);
    rig.type_into("time.cfl", &format!("{cfl}"));
    assert_eq!(rig.model.draft, None, "the running value again");
}

#[test]
fn numbers_as_shown_and_the_inflow_of_the_file_are_no_change() {
    let mut rig = Rig::new();
    let text =
        "[domain]\nvoxel = 0.0123456\n[domain.walls.x_min]\ninflow = { velocity = [0.5, 0, 0], red = 1 }\n";
    rig.model = Model::new(Arc::new(Scene::parse("wind", text).unwrap()));
    rig.model.closed.clear();
    (0..3).for_each(|_| drop(rig.show([])));
    rig.type_into("domain.voxel", "0.01235");
    assert_eq!(rig.model.draft, None, "the voxel as it is shown");
    rig.type_into("inflow", "abc");
    assert_eq!(rig.model.draft, None);
    rig.type_into("inflow", "0.7");
    assert!(rig.model.draft.is_some());
    rig.type_into("inflow", "0.5");
    assert_eq!(rig.model.draft, None, "the running value again");
}

#[test]
fn rows_read_units_and_commas_and_say_what_they_cannot_read() {
    let mut rig = Rig::new();
    for (typed, value) in [("0,07", 0.07), ("2 1/s", 2.0), ("5 kg", 2.0), ("2*50", 2.0)] {
        rig.enter("fluid.vorticity", typed);
        assert_eq!(rig.model.settings.params.vorticity, value, "{typed}");
        rig.show([]);
        assert_eq!(rig.says("the old value stays"), typed.len() == 4 && value == 2.0, "{typed}");
    }
}

#[test]
fn the_size_of_text_stays_between_its_limits() {
    let mut rig = Rig::new();
    for _ in 0..20 {
        rig.show([key(egui::Key::Minus)]);
        rig.show([]);
    }
    assert!((rig.ctx.zoom_factor() - 0.6).abs() < 1e-3, "{}", rig.ctx.zoom_factor());
    for _ in 0..60 {
        rig.show([key(egui::Key::Plus)]);
        rig.show([]);
    }
    assert!((rig.ctx.zoom_factor() - 3.0).abs() < 1e-3, "{}", rig.ctx.zoom_factor());
    rig.show([key(egui::Key::Num0)]);
    rig.show([]);
    assert_eq!(rig.ctx.zoom_factor(), 1.0);
}

#[test]
fn fields_of_objects_say_what_they_cannot_read_or_clamp() {
    use crate::app::objects::Selected;
    use crate::scene::edits::{Change, Entry, List};
    let mut rig = Rig::new();
    rig.model.selected = Some(Selected::Object(List::Source, 0));
    let name = "source.#.shape.sphere.radius";
    let name = if rig.show([]).places.contains_key(name) { name } else { "source.#.emit.red" };
    rig.type_into(name, "abc");
    assert!(rig.says("is no number") && rig.model.edits.is_empty(), "{:?}", rig.texts);
    rig.type_into(name, "-99999999");
    assert!(rig.says("is the least; -99999999 was typed"), "{:?}", rig.texts);
    let last = rig.model.edits.last().cloned();
    assert!(matches!(last, Some(Change::Set(_, Some(Entry::Number(_))))), "{last:?}");
    rig.type_into(name, "0.1");
    assert!(!rig.says("was typed"));
    // The vectors too.
    rig.model.selected = Some(Selected::Camera);
    rig.type_into("render.camera.target", "abc");
    assert!(rig.says("is no number") && rig.model.camera.is_none(), "{:?}", rig.texts);
}

#[test]
fn the_speed_of_playback_says_its_limits() {
    let mut rig = Rig::new();
    rig.model.playback.range = [0, 9];
    rig.type_into("timeline.speed", "99");
    assert_eq!(rig.model.playback.speed, 8.0);
    assert!(rig.says("8 is the most; 99 was typed"), "{:?}", rig.texts);
}

#[test]
fn cells_and_their_edge_are_typed_and_the_resolution_takes_them_back() {
    let mut rig = Rig::new();
    let (dims, h) = (rig.model.settings.scene.config.dims.array(), rig.model.settings.scene.config.h);
    rig.type_into("domain.cells", "200");
    rig.type_into("domain.voxel", "5 mm");
    let grid = rig.model.draft.as_ref().unwrap().grid;
    assert_eq!(grid, Some(([200, dims[1], dims[2]], 0.005)));
    assert!(rig.says("200 × ") && rig.says("Restart with these"), "{:?}", rig.texts);
    rig.type_into("solver.resolution", "72");
    let draft = rig.model.draft.clone().unwrap();
    assert_eq!((draft.grid, draft.resolution), (None, Some(72)));
    rig.type_into("domain.voxel", &format!("{}", 2.0 * h));
    rig.type_into("domain.voxel", "-1");
    assert!(rig.says("is the least"), "{:?}", rig.texts);
}

impl Rig {
    /// Shows the panel of another scene.
    fn open(&mut self, text: &str) {
        self.model = Model::new(Arc::new(Scene::parse("other", text).unwrap()));
        self.model.closed.clear();
        (0..3).for_each(|_| drop(self.show([])));
    }
}

/// A field once clamped the value of the file as soon as it was shown, and that counted as an edit.
#[test]
fn a_scene_beyond_the_usual_sizes_is_shown_as_it_is() {
    let mut rig = Rig::new();
    let air = "velocity = [150, 0.00001, 0], red = 250, temperature = 2000";
    for (text, shown) in [
        ("[domain]\ncells = [1400, 8, 8]\n", "1400 × 8 × 8 cells"),
        ("[domain]\ncells = [6, 5, 1]\nvoxel = 0.1\n", "6 × 5 × 1 cells"),
        (&format!("[domain]\nwalls = {{ x_min = {{ inflow = {{ {air} }} }}, x_max = 'open' }}\n"), "2000"),
    ] {
        rig.open(text);
        assert_eq!(rig.model.draft, None, "{text}");
        assert!(rig.says(shown), "{text}: {:?}", rig.texts);
        // A click into a field changes nothing either.
        for name in ["solver.resolution", "domain.cells", "domain.voxel"] {
            let field = rig.place(name).center();
            rig.click(field);
            rig.click(pos2(20.0, 20.0));
            rig.show([]);
            assert_eq!(rig.model.draft, None, "{text}: {name}");
        }
    }
    // One number of an inflow changes alone.
    rig.type_into("inflow", "160");
    let edits = rig.model.draft.as_ref().unwrap().changes(&rig.model.settings.scene);
    let scene = rig.model.settings.scene.edited(&edits).unwrap();
    let crate::solver::BoundaryCondition::Inflow(inflow) = scene.config.sides[0][0] else {
        panic!("no inflow")
    };
    assert_eq!((inflow.velocity, inflow.scalars), ([160.0, 0.00001, 0.0], [250.0, 0.0, 0.0, 2000.0]));
    for (typed, said) in [("10001", "10000 is the most; 10001 was typed"), ("9000", "")] {
        rig.type_into("inflow", typed);
        assert_eq!(rig.says("is the most"), !said.is_empty() && rig.says(said), "{typed}: {:?}", rig.texts);
    }
}

#[test]
fn cells_typed_along_one_axis_leave_the_others() {
    let mut rig = Rig::new();
    rig.open("[domain]\ncells = [24, 30, 1]\nvoxel = 0.1\n");
    for (typed, cells) in [("5000", 5000), ("70000", 65536)] {
        rig.type_into("domain.cells", typed);
        let grid = rig.model.draft.as_ref().unwrap().grid;
        assert_eq!(grid, Some(([cells, 30, 1], 0.1)), "{typed}");
        assert_eq!(rig.says("65536 is the most; 70000 was typed"), typed == "70000", "{:?}", rig.texts);
    }
    // More cells than an index can count.
    rig.model.draft = None;
    rig.type_into("solver.resolution", "65536");
    let apply = rig.place("solver.apply").center();
    rig.click(apply);
    assert!(rig.model.edits.is_empty() && rig.says("too large"), "{:?}", rig.texts);
}
