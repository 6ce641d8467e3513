//! All settings in the window that can be undone: parameters of the model, look, brush, rate.

use std::sync::Arc;

use super::brush_cursor::Paint;
use super::hue;
use super::orbit::Optics;
use crate::look::{Camera, Look, Scattering};
use crate::parameter::{Holder, MEAN, Value};
use crate::scene::{Scene, Time};
use crate::solver::{Ambient, Params};

/// Paint of the brush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// The first smoke.
    #[default]
    Red,
    /// The second smoke.
    Green,
    /// The third smoke.
    Blue,
    /// All three, in adjustable proportions.
    White,
}

impl Ink {
    /// All inks in the order of the panel.
    pub const ALL: [Self; 4] = [Self::Red, Self::Green, Self::Blue, Self::White];

    /// Returns the name of its visible colour, with its letter: "Cream (R)".
    pub fn called(self, settings: &Settings) -> String {
        let name = hue::name(settings.brush.color(self, &settings.look));
        let (first, rest) = name.split_at(1);
        format!("{}{rest} ({})", first.to_uppercase(), &self.name()[..1])
    }

    /// Returns the name in the window.
    pub fn name(self) -> &'static str {
        ["Red", "Green", "Blue", "White"][self as usize]
    }
}

/// Share of smoke and heat that one dab of an erasing brush removes.
const ERASE: f32 = 0.6;

/// Settings of the brush.
#[derive(Clone, Debug, PartialEq)]
pub struct Brush {
    /// Selected ink.
    pub ink: Ink,
    /// Shares of red, green and blue in white \[-\].
    pub white: [f32; 3],
    /// Radius \[m\].
    pub radius: f32,
    /// Smoke: whether it is on, and the density of one dab \[-\].
    pub smoke: Amount,
    /// Heat: whether it is on, and the temperature of one dab \[K\].
    pub heat: Amount,
    /// Whether it removes smoke and heat instead of adding them.
    pub erases: bool,
    /// Force: whether it is on, and the velocity per metre of motion \[1/s\].
    pub force: Amount,
}

/// A value with a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Whether it is on.
    pub on: bool,
    /// Value when it is on.
    pub value: f32,
}

impl Amount {
    /// Returns the effective value: zero when it is off.
    pub fn get(self) -> f32 {
        if self.on { self.value } else { 0.0 }
    }
}

impl Brush {
    /// Returns a brush for a box of size `extent`: red smoke, some heat, and some force.
    pub fn for_box(extent: [f32; 3]) -> Self {
        let on = |value| Amount { on: true, value };
        let least = extent.into_iter().fold(f32::INFINITY, f32::min);
        Self {
            ink: Ink::Red,
            white: [1.0 / 3.0; 3],
            radius: 0.07 * least,
            smoke: on(0.4),
            heat: on(15.0),
            erases: false,
            force: on(6.0),
        }
    }

    /// Shares of red, green and blue smoke in the chosen ink.
    pub fn shares(&self, ink: Ink) -> [f32; 3] {
        match ink {
            Ink::Red => [1.0, 0.0, 0.0],
            Ink::Green => [0.0, 1.0, 0.0],
            Ink::Blue => [0.0, 0.0, 1.0],
            Ink::White => self.white,
        }
    }

    /// Amounts of one dab.
    pub fn paint(&self) -> Paint {
        if self.erases {
            return Paint { add: [0.0; 4], force: 0.0, erase: ERASE };
        }
        let [r, g, b] = self.shares(self.ink).map(|share| share * self.smoke.get());
        Paint { add: [r, g, b, self.heat.get()], force: self.force.get(), erase: 0.0 }
    }

    /// Returns the colour of an ink: the albedos of its smokes, mixed in their shares. Linear R, G, B.
    pub fn color(&self, ink: Ink, look: &Look) -> [f32; 3] {
        let shares = self.shares(ink);
        let all = shares.iter().sum::<f32>().max(1e-6);
        std::array::from_fn(|rgb| (0..3).map(|c| shares[c] / all * look.colors[c][rgb]).sum())
    }
}

/// All settings that can be undone.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The scene as opened, with its name and file.
    pub opened: Arc<Scene>,
    /// The running scene: as opened, with the edits of its objects, box and solver.
    pub scene: Arc<Scene>,
    /// Parameters of the model.
    pub params: Params,
    /// Look.
    pub look: Look,
    /// Brush.
    pub brush: Brush,
    /// Steps per simulated second, and per wall second while it keeps up \[1/s\].
    pub rate: f32,
    /// Field of view, projection and lens of the camera.
    pub optics: Optics,
    /// During a comparison, the settings of the other side. Brush, rate and optics are those here.
    pub other: Option<Box<Settings>>,
    /// Which side these are during a comparison.
    pub side: Side,
}

/// One of two compared sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The left one. Without a comparison, the only one.
    #[default]
    A,
    /// The right one.
    B,
}

impl Side {
    /// Both sides, from the left.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the other side.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Returns the letter of the side in the window.
    pub fn letter(self) -> &'static str {
        ["A", "B"][self as usize]
    }
}

impl PartialEq for Settings {
    /// Compares all settings; which of two compared sides is edited makes no difference.
    fn eq(&self, other: &Self) -> bool {
        (&self.brush, self.rate, self.optics) == (&other.brush, other.rate, other.optics)
            && self.is_compared() == other.is_compared()
            && self.sides().iter().all(|side| self.of_side(*side).is_alike(other.of_side(*side)))
    }
}

/// Returns whether two scenes are the same, including dragged objects.
fn is_same(a: &Arc<Scene>, b: &Arc<Scene>) -> bool {
    Arc::ptr_eq(a, b)
        || reads_same(a, b)
            && (&a.sources, &a.forces, &a.solids) == (&b.sources, &b.forces, &b.solids)
            && a.look.lights == b.look.lights
            && surfaces(a) == surfaces(b)
}

/// Colours and roughness of the solids.
fn surfaces(scene: &Scene) -> (&[[f32; 3]], &[f32]) {
    (&scene.look.solids, &scene.look.roughness)
}

/// Returns whether two scenes come from the same text.
fn reads_same(a: &Scene, b: &Scene) -> bool {
    let text =
        |scene: &Scene| (scene.name.clone(), scene.origin.text.clone(), scene.origin.overrides.clone());
    text(a) == text(b)
}

/// Returns whether `new` needs another solver than `old`; otherwise the running one can take over its objects.
pub fn needs_load(old: &Arc<Scene>, new: &Arc<Scene>) -> bool {
    !Arc::ptr_eq(old, new)
        && (&old.name, &old.config, &old.initial, &old.fills)
            != (&new.name, &new.config, &new.initial, &new.fills)
}

/// Returns whether a change of settings needs other solvers than the running ones.
pub fn need_load(old: &Settings, new: &Settings) -> bool {
    old.is_compared() != new.is_compared()
        || new.sides().iter().any(|side| needs_load(&old.of_side(*side).scene, &new.of_side(*side).scene))
}

impl Settings {
    /// Returns whether these are the settings of one of two compared sides.
    pub fn is_compared(&self) -> bool {
        self.other.is_some()
    }

    /// Returns all sides: two during a comparison, otherwise one.
    pub fn sides(&self) -> &'static [Side] {
        if self.is_compared() { &Side::BOTH } else { &Side::BOTH[..1] }
    }

    /// Returns the settings of a side; without a comparison, these.
    pub fn of_side(&self, side: Side) -> &Self {
        match &self.other {
            Some(other) if side != self.side => other,
            _ => self,
        }
    }

    /// Returns these settings with the given side edited. Brush, rate and optics stay.
    pub fn edited_on(mut self, side: Side) -> Self {
        let Some(other) = self.other.take_if(|_| side != self.side) else { return self };
        let (brush, rate, optics) = (self.brush.clone(), self.rate, self.optics);
        Self { brush, rate, optics, other: Some(Box::new(self)), side, ..*other }
    }

    /// Returns these settings beside an equal copy, for the start of a comparison.
    pub fn compared(&self) -> Self {
        let copy = Self { other: None, side: Side::B, ..self.clone() };
        Self { other: Some(Box::new(copy)), side: Side::A, ..self.clone() }
    }

    /// Returns the settings of one side alone.
    pub fn alone(&self, side: Side) -> Self {
        Self { other: None, side: Side::A, ..self.clone().edited_on(side) }
    }

    /// Names and values of the settings in which two compared sides differ: of A and of B.
    pub fn differences(&self) -> Vec<(String, String, String)> {
        let [a, b] = Side::BOTH.map(|side| self.of_side(side));
        let mut all = Vec::new();
        let solver =
            ["solver.advection", "solver.integrator", "solver.projection", "time.cfl", "solver.tolerance"];
        for parameter in solver.map(crate::parameter::of) {
            let [x, y] = [a, b].map(|side| side.scene.config.value_of(parameter).map(shown));
            if let (Some(x), Some(y)) = (x, y)
                && x != y
            {
                all.push((parameter.key().replace('_', " "), x, y));
            }
        }
        let [x, y] = [a, b].map(|side| side.scene.config.dims.array().map(|n| n.to_string()).join(" × "));
        if x != y {
            all.push(("cells".into(), x, y));
        }
        for (what, x, y) in [
            ("sources", a.scene.sources.len(), b.scene.sources.len()),
            ("solids", a.scene.solids.len(), b.scene.solids.len()),
            ("forces", a.scene.forces.len(), b.scene.forces.len()),
            ("lights", a.look.lights.len(), b.look.lights.len()),
        ] {
            if x != y {
                all.push((what.into(), x.to_string(), y.to_string()));
            }
        }
        let same_counts = all.is_empty();
        let [x, y] = [a, b].map(|side| (&side.scene.sources, &side.scene.forces, &side.scene.solids));
        if same_counts && x != y {
            let what = scene_change(&a.scene, &b.scene).unwrap_or_default();
            all.push((what, "one".into(), "another".into()));
        }
        let common = ["brush", "white mix", "eraser", "steps per second", "camera"];
        let own = |name: &str| !common.iter().any(|start| name.starts_with(start));
        let parts = a.parts().into_iter().zip(b.parts());
        let differ = parts.filter(|((name, x), (_, y))| own(name) && x != y);
        all.extend(differ.map(|((name, x), (_, y))| (name, numbers(&x), numbers(&y))));
        all
    }

    /// Returns whether two sides have the same scene, parameters and look.
    fn is_alike(&self, other: &Self) -> bool {
        (&self.params, &self.look) == (&other.params, &other.look)
            && Arc::ptr_eq(&self.opened, &other.opened)
            && is_same(&self.scene, &other.scene)
    }

    /// Takes over the part of the look that belongs to the scene's objects: lights, and the surfaces of solids.
    pub fn take_objects_of_look(&mut self) {
        self.look.lights.clone_from(&self.scene.look.lights);
        self.look.solids.clone_from(&self.scene.look.solids);
        self.look.roughness.clone_from(&self.scene.look.roughness);
    }

    /// Settings of a scene without changes.
    pub fn of(scene: Arc<Scene>) -> Self {
        Self {
            opened: scene.clone(),
            params: scene.params.clone(),
            look: scene.look.clone(),
            brush: Brush::for_box(scene.extent()),
            rate: Self::rate_of(&scene),
            optics: Optics::of(&scene.camera),
            scene,
            other: None,
            side: Side::A,
        }
    }

    /// Returns the name of the difference between two settings.
    pub fn change(from: &Self, to: &Self) -> String {
        if !to.is_compared() || from.is_compared() != to.is_compared() {
            return Self::change_alone(from, to);
        }
        let changed = |side: &Side| !from.of_side(*side).is_alike(to.of_side(*side));
        match Side::BOTH.into_iter().find(changed) {
            Some(side) => {
                let what = Self::change_alone(from.of_side(side), to.of_side(side));
                format!("{what} of {}", side.letter())
            }
            None => Self::change_alone(&from.alone(Side::A), &to.alone(Side::A)),
        }
    }

    fn change_alone(from: &Self, to: &Self) -> String {
        if let Some(what) = scene_change(&from.scene, &to.scene) {
            return what;
        }
        let changed: Vec<String> = Self::parts(from)
            .into_iter()
            .zip(Self::parts(to))
            .filter(|((_, old), (_, new))| old != new)
            .map(|((name, _), _)| name)
            .collect();
        match &changed[..] {
            [one] => one.clone(),
            _ if from.look != to.look && from.params == to.params => "look".into(),
            _ => "settings".into(),
        }
    }

    /// Returns all separate settings with their names in the window, except the scene's objects.
    pub(super) fn parts(&self) -> Vec<(String, Vec<f32>)> {
        let Self { params: p, look, brush, rate, optics, .. } = self;
        let flag = |on: bool| f32::from(u8::from(on));
        let environment = &look.environment;
        let mut parts: Vec<(String, Vec<f32>)> = [
            ("up direction", p.up.to_vec()),
            ("heat buoyancy", vec![p.heat_buoyancy]),
            ("cooling", vec![p.cooling]),
            ("heat diffusion", vec![p.conduction]),
            ("vorticity", vec![p.vorticity]),
            ("viscosity", vec![p.viscosity]),
            ("friction", vec![p.friction]),
            (
                "turbulence",
                vec![p.turbulence.strength, p.turbulence.size, p.turbulence.spectrum, p.turbulence.stretch],
            ),
            (
                "ambient temperature",
                vec![match p.ambient {
                    Ambient::Mean => f32::INFINITY,
                    Ambient::Fixed(excess) => excess,
                }],
            ),
            ("steps per second", vec![*rate]),
            ("brush colour", vec![brush.ink as usize as f32]),
            ("white mix", brush.white.to_vec()),
            ("brush radius", vec![brush.radius]),
            ("eraser", vec![flag(brush.erases)]),
            ("brush density", vec![flag(brush.smoke.on), brush.smoke.value]),
            ("brush heat", vec![flag(brush.heat.on), brush.heat.value]),
            ("brush push", vec![flag(brush.force.on), brush.force.value]),
            ("camera field of view", vec![optics.fov]),
            ("camera projection", vec![flag(optics.parallel)]),
            ("camera aperture", vec![optics.lens.aperture]),
            ("camera focus", vec![optics.lens.focus]),
            ("camera shutter", vec![optics.lens.shutter]),
            ("exposure", vec![look.exposure]),
            ("tone map", vec![look.tone as usize as f32]),
            ("background", look.background.as_flattened().to_vec()),
            ("sky", look.sky.to_vec()),
            ("ground", look.ground.to_vec()),
            ("surroundings", vec![environment.rotation, environment.strength, flag(environment.shown)]),
            ("opacity", vec![look.extinction]),
            ("edge fade", vec![look.fade]),
            ("forward scattering", vec![look.anisotropy]),
            ("second scattering", look.second_lobe.to_vec()),
            ("glow", vec![look.glow, look.glow_heat]),
            ("sun direction", look.sun_direction.to_vec()),
            ("sun size", vec![look.sun_size]),
            ("sunlight", look.sun.to_vec()),
            ("multiple scattering", vec![flag(look.scattering != Scattering::Single)]),
            ("floor", look.floor.map_or(vec![], |floor| floor.to_vec())),
            ("box edges", vec![flag(look.outline)]),
        ]
        .map(|(name, values)| (name.to_owned(), values))
        .to_vec();
        for (ink, (smoke, color)) in Ink::ALL.iter().zip(p.smoke.iter().zip(look.colors)) {
            let ink = ink.called(self);
            parts.push((format!("{ink} buoyancy"), vec![smoke.buoyancy]));
            parts.push((format!("{ink} dissipation"), vec![smoke.dissipation]));
            parts.push((format!("{ink} diffusion"), vec![smoke.diffusion]));
            parts.push((format!("{ink} colour"), color.to_vec()));
        }
        parts
    }

    /// Returns whether a scene file with `other` would hold these settings too. The brush is not compared: no
    /// file holds it. Nor are optics, which belong to the camera.
    pub fn saves_as(&self, other: &Self) -> bool {
        let Self { opened, scene, params, look, rate, optics: _, brush: _, other: _, side: _ } = self;
        (params, look, rate) == (&other.params, &other.look, &other.rate)
            && Arc::ptr_eq(opened, &other.opened)
            && reads_same(scene, &other.scene)
    }

    /// Returns the scene with these settings, seen by `camera`, as its file would hold it.
    pub fn as_file(&self, camera: Camera) -> Scene {
        Scene { look: self.look.clone(), time: self.time(), camera, ..self.as_scene() }
    }

    /// Returns the division of time at this rate: frames of one step each, unless the scene divides them
    /// itself.
    fn time(&self) -> Time {
        let Time { frame_rate, step } = self.scene.time;
        if self.rate == Self::rate_of(&self.scene) {
            return self.scene.time;
        }
        match step {
            None => Time { frame_rate: self.rate, step },
            Some(_) => Time { frame_rate: frame_rate.min(self.rate), step: Some(1.0 / self.rate) },
        }
    }

    fn rate_of(scene: &Scene) -> f32 {
        1.0 / scene.time.steps_per_frame().1
    }

    /// Returns the scene with these parameters, for building a solver.
    pub fn as_scene(&self) -> Scene {
        Scene { params: self.params.clone(), ..Scene::clone(&self.scene) }
    }
}

/// Returns a value in words.
fn shown(value: Value) -> String {
    match value {
        Value::Number(x) => number(x),
        Value::Whole(n) => n.to_string(),
        Value::Flag(on) => on.to_string(),
        Value::Word(word) => word.to_owned(),
        other => format!("{other:?}"),
    }
}

fn number(x: f32) -> String {
    if x.is_infinite() { MEAN.into() } else { format!("{}", (f64::from(x) * 1e4).round() / 1e4) }
}

fn numbers(all: &[f32]) -> String {
    if all.is_empty() { "none".into() } else { all.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", ") }
}

/// Returns the short name of the objects that differ between two scenes; none if they are equal.
fn scene_change(from: &Arc<Scene>, to: &Arc<Scene>) -> Option<String> {
    if is_same(from, to) {
        return None;
    }
    let of = |what: &str, [old, new]: [usize; 2], first: Option<usize>| match old.cmp(&new) {
        std::cmp::Ordering::Less => Some(format!("add {what}")),
        std::cmp::Ordering::Greater => Some(format!("delete {what}")),
        std::cmp::Ordering::Equal => first.map(|n| format!("{what} {}", n + 1)),
    };
    let sources = from.sources.iter().zip(&to.sources).position(|(a, b)| a != b);
    let (old, new) = (surfaces(from), surfaces(to));
    let same_surface = |n: usize| (old.0.get(n), old.1.get(n)) == (new.0.get(n), new.1.get(n));
    let solids =
        from.solids.iter().zip(&to.solids).enumerate().position(|(n, (a, b))| a != b || !same_surface(n));
    let forces = from.forces.iter().zip(&to.forces).position(|(a, b)| a != b);
    let lights = from.look.lights.iter().zip(&to.look.lights).position(|(a, b)| a != b);
    of("source", [from.sources.len(), to.sources.len()], sources)
        .or_else(|| of("solid", [from.solids.len(), to.solids.len()], solids))
        .or_else(|| of("force", [from.forces.len(), to.forces.len()], forces))
        .or_else(|| of("light", [from.look.lights.len(), to.look.lights.len()], lights))
        .or_else(|| (from.camera_path != to.camera_path).then(|| "camera keyframes".into()))
        .or_else(|| {
            let pictures = [&from.look, &to.look].map(|look| &look.environment.sphere);
            let what = match (needs_load(from, to), pictures[0] != pictures[1]) {
                (true, _) => "box and solver",
                (false, true) => "surroundings",
                // A key with the value that it has without.
                (false, false) => "a key of the scene",
            };
            Some(what.into())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_name_of_its_setting() {
        let plain = Settings::of(Arc::new(Scene::parse("plain", "").unwrap()));
        let after = |change: fn(&mut Settings)| {
            let mut settings = plain.clone();
            change(&mut settings);
            Settings::change(&plain, &settings)
        };
        assert_eq!(after(|s| s.params.vorticity = 2.0), "vorticity");
        assert_eq!(after(|s| s.params.smoke[1].buoyancy = 2.0), "Green (G) buoyancy");
        let mut cream = plain.clone();
        cream.look.colors[0] = [0.9, 0.85, 0.75];
        let mut rising = cream.clone();
        rising.params.smoke[0].buoyancy = 2.0;
        assert_eq!(Settings::change(&cream, &rising), "Cream (R) buoyancy");
        assert_eq!(after(|s| s.look.colors[2] = [0.5; 3]), "Blue (B) colour");
        assert_eq!(after(|s| s.look.floor = None), "floor");
        assert_eq!(after(|s| s.brush.ink = Ink::Blue), "brush colour");
        assert_eq!(after(|s| (s.look.exposure, s.look.fade) = (1.0, 0.1)), "look");
    }

    #[test]
    fn the_surface_of_a_solid_belongs_to_it() {
        let ball = "[[solid]]\nshape = { sphere = { radius = 0.1 } }\nposition = [0.3, 0.3, 0.3]\n";
        let of =
            |text: &str| Settings::of(Arc::new(Scene::parse("s", &format!("{ball}{ball}{text}")).unwrap()));
        let plain = of("");
        for text in ["roughness = 0.2\n", "color = [0.1, 0.2, 0.3]\n"] {
            assert_eq!(Settings::change(&plain, &of(text)), "solid 2", "{text}");
        }
    }

    #[test]
    fn switched_off_amounts_are_not_painted() {
        let mut brush = Brush::for_box([1.0; 3]);
        brush.ink = Ink::Green;
        brush.heat.on = false;
        let paint = brush.paint();
        assert_eq!(paint.add, [0.0, brush.smoke.value, 0.0, 0.0]);
        assert_eq!(paint.force, brush.force.value);
    }

    #[test]
    fn white_is_all_three_in_its_own_proportions() {
        let mut brush = Brush::for_box([1.0; 3]);
        brush.ink = Ink::White;
        brush.white = [0.5, 0.25, 0.25];
        brush.smoke.value = 4.0;
        assert_eq!(brush.paint().add[..3], [2.0, 1.0, 1.0]);
        let look = Look { colors: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ..Look::default() };
        assert_eq!(brush.color(Ink::White, &look), [0.5, 0.25, 0.25]);
        assert_eq!(brush.color(Ink::Blue, &look), [0.0, 0.0, 1.0]);
    }
}
