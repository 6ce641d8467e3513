//! Keys of the picture: medium, light and camera.

use super::*;

/// Radiance and irradiance.
const LIGHT: RangeInclusive<f32> = 0.0..=1e6;
/// Mean cosines of a phase function.
const COSINE: RangeInclusive<f32> = -0.95..=0.95;

pub(super) fn render() -> Vec<Parameter> {
    vec![
        plain("render.size", Kind::Wholes(2), "px", 1.0..=16384.0, LookOnly)
            .default("[640, 480]")
            .says("Width and height of pictures."),
        number("render.samples", "-", 0.1..=16.0, LookOnly)
            .of(look!(l => l.samples))
            .says("Ray-march samples per cell edge."),
        number("render.exposure", "stops", -20.0..=20.0, LookOnly)
            .of(look!(l => l.exposure))
            .slider("Exposure", -4.0..=4.0)
            .says("Brightness in stops: each doubles it."),
        word::<ToneMap>("render.tone_map", LookOnly)
            .of(look!(l => l.tone))
            .says("Curve from radiance to the bytes of a picture."),
        plain("render.outline", Kind::Flag, "", SHARE, LookOnly)
            .of(look!(l => l.outline))
            .labelled("Box edges")
            .says("Render the edges of the box."),
        plain("render.floor", Kind::ColorOrNone, "-", SHARE, LookOnly)
            .of(look!(l => l.floor))
            .labelled("Floor")
            .says("Albedo of the floor at y = 0, which shows the smoke's shadow; false: no floor."),
    ]
}

pub(super) fn background() -> Vec<Parameter> {
    vec![
        color("render.background.top", "radiance", LIGHT, LookOnly)
            .of(look!(l => l.background[0]))
            .says("Background at the top of the picture."),
        color("render.background.bottom", "radiance", LIGHT, LookOnly)
            .of(look!(l => l.background[1]))
            .says("Background at the bottom."),
    ]
}

pub(super) fn medium() -> Vec<Parameter> {
    vec![
        number("render.medium.extinction", "1/m", 0.0..=1e6, LookOnly)
            .of(look!(l => l.extinction))
            .slider("Smoke thickness", 1.0..=400.0)
            .logarithmic()
            .says("Extinction per metre for a density of 1: how dense the smoke looks."),
        number("render.medium.fade", "-", 0.0..=0.5, LookOnly)
            .of(look!(l => l.fade))
            .slider("Fade at edges", 0.0..=0.5)
            .says("Width over which rendered smoke fades out at the sides, as a share of the shortest one."),
        number("render.medium.anisotropy", "-", COSINE, LookOnly)
            .of(look!(l => l.anisotropy))
            .slider("Forward scatter", -0.9..=0.9)
            .says("Mean cosine of the Henyey–Greenstein phase function: near 1 light scatters forward, 0 is even, near -1 it scatters back."),
        number("render.medium.second_lobe.share", "-", SHARE, LookOnly)
            .of(look!(l => l.second_lobe[1]))
            .slider("Backscatter", 0.0..=1.0)
            .says("Share of the scattered light in a second lobe; 0: none."),
        number("render.medium.second_lobe.anisotropy", "-", COSINE, LookOnly)
            .of(look!(l => l.second_lobe[0]))
            .slider("Backscatter angle", -0.9..=0.9)
            .says("Mean cosine of the second lobe."),
        number("render.medium.glow", "-", 0.0..=1e4, LookOnly)
            .of(look!(l => l.glow))
            .slider("Glow", 0.0..=20.0)
            .logarithmic()
            .says("Black-body emission of hot smoke: its luminance at 2000 K."),
        number("render.medium.glow_heat", "K", 1.0..=1e5, LookOnly)
            .of(look!(l => l.glow_heat))
            .slider("Glow temperature", 10.0..=1000.0)
            .logarithmic()
            .says(
                "Temperature excess that radiates like 2000 K, orange-white. Take that of the hottest smoke: below three quarters \
                 of it some cells outshine their neighbours so far that moving pictures of thick smoke are too bright.",
            ),
        word::<Scattering>("render.medium.scattering", LookOnly)
            .of(look!(l => l.scattering))
            .labelled("Multiple scattering")
            .says("Model of light scattered more than once, which makes smoke softer and brighter inside."),
        whole("render.medium.paths", 1.0..=1e6, LookOnly)
            .of(look!(l => l.paths))
            .says("Light paths per pixel for \"traced\"; with a noise goal, the most."),
        number("render.medium.noise", "-", SHARE, LookOnly)
            .of(look!(l => l.noise))
            .says("Standard error at which a traced pixel is done, as a share of its radiance; 0: all paths."),
        plain("render.medium.denoise", Kind::Flag, "", SHARE, LookOnly)
            .of(look!(l => l.denoise))
            .says("Smooth the noise of a traced picture: only its difference from \"multiple\" is smoothed, and the opacity is that of \"multiple\"."),
    ]
}

pub(super) fn light() -> Vec<Parameter> {
    vec![
        plain("render.light.direction", Kind::Direction, "-", ANY, LookOnly)
            .of(look!(l => l.sun_direction))
            .says("Direction to the sun."),
        number("render.light.size", "degrees", 0.0..=90.0, LookOnly)
            .of(look!(l => l.sun_size))
            .slider("Sun size", 0.0..=30.0)
            .says(
                "Angular diameter of the sun: the larger, the softer its shadows. Below 1° they are sharp.",
            ),
        color("render.light.sun", "irradiance", LIGHT, LookOnly)
            .of(look!(l => l.sun))
            .slider("Sunlight", 0.0..=40.0)
            .says("Irradiance of the sun on a surface that faces it."),
        color("render.light.sky", "radiance", LIGHT, LookOnly)
            .of(look!(l => l.sky))
            .says("Radiance of the sky straight up."),
        color("render.light.ground", "radiance", LIGHT, LookOnly)
            .of(look!(l => l.ground))
            .says("Radiance from below."),
        number("render.light.resolution", "-", 0.0625..=1.0, LookOnly)
            .of(look!(l => l.light_scale))
            .says(
                "Points of the light volume per cell and axis: 1, 1/2, 1/3 and so on, the nearest. At most 2²⁵ points in all; pictures in motion of more than 2¹⁹ cells have at most 1/2.",
            ),
    ]
}

pub(super) fn environment() -> Vec<Parameter> {
    vec![
        text("render.environment.file", LookOnly).says(
            "A picture of the whole sphere, Radiance HDR or OpenEXR, relative to the scene file: light in place of sky and ground.",
        ),
        number("render.environment.rotation", "degrees", -360.0..=360.0, LookOnly)
            .of(look!(l => l.environment.rotation))
            .says("Turn around the vertical, seen from above counter-clockwise; at 0 its middle is seen along -z."),
        number("render.environment.strength", "-", LIGHT, LookOnly)
            .of(look!(l => l.environment.strength))
            .says("Factor on its radiance."),
        plain("render.environment.shown", Kind::Flag, "", SHARE, LookOnly)
            .of(look!(l => l.environment.shown))
            .says("Whether it is seen as the background."),
    ]
}

/// Returns the parameters of `[[light]]`.
pub(super) fn light_list() -> Vec<Parameter> {
    let position = |path| vector(path, "m", ANY, LookOnly).says("Its middle.");
    let target = |path| vector(path, "m", ANY, LookOnly).says("A point straight ahead of it.");
    let radius = |path| {
        number(path, "m", 0.0..=1e6, LookOnly)
            .default("0.02")
            .says("Radius of the light: the larger, the softer its shadows.")
    };
    vec![
        color("light.#.color", "-", LIGHT, LookOnly).default("[1.0, 1.0, 1.0]").says("Colour of the light."),
        number("light.#.strength", "irradiance", LIGHT, LookOnly).default("5.0").says(
            "Irradiance on a surface that faces it: of a sun everywhere, of others 1 m straight ahead.",
        ),
        plain("light.#.sun.direction", Kind::Direction, "-", ANY, LookOnly)
            .says("Direction to a further sun."),
        number("light.#.sun.size", "degrees", 0.0..=90.0, LookOnly)
            .default("0.5")
            .says("Its angular diameter: the larger, the softer its shadows."),
        position("light.#.point.position"),
        radius("light.#.point.radius"),
        position("light.#.spot.position"),
        target("light.#.spot.target"),
        number("light.#.spot.angle", "degrees", 0.1..=179.0, LookOnly)
            .default("40.0")
            .says("Full angle of its cone."),
        number("light.#.spot.softness", "-", SHARE, LookOnly)
            .default("0.2")
            .says("Share of the half angle over which light falls off at the edge of the cone."),
        radius("light.#.spot.radius"),
        position("light.#.area.position"),
        target("light.#.area.target"),
        plain("light.#.area.size", Kind::Pair, "m", SIZE, LookOnly)
            .says("Width and height of the rectangle; the width lies level."),
    ]
}

pub(super) fn camera() -> Vec<Parameter> {
    vec![
        vector("render.camera.position", "m", ANY, LookOnly)
            .says("Position of the eye; absent: it sees the whole box from slightly above."),
        vector("render.camera.target", "m", ANY, LookOnly)
            .says("Point in the middle of the picture; absent: the middle of the box."),
        vector("render.camera.up", "-", ANY, LookOnly).says("Up direction of the picture; absent: y."),
        number("render.camera.fov", "degrees", 1.0..=170.0, LookOnly)
            .says("Vertical field of view; absent: 34."),
        word::<CameraProjection>("render.camera.projection", LookOnly)
            .default("\"perspective\"")
            .says("Perspective or parallel rays."),
        number("render.camera.aperture", "m", 0.0..=100.0, LookOnly)
            .default("0")
            .says("Diameter of the lens: what is nearer or farther than the focus is blurred. 0: all is sharp."),
        number("render.camera.focus", "m", 0.0..=1e6, LookOnly)
            .default("0")
            .says("Distance at which the picture is sharp; 0: that of the target."),
        number("render.camera.shutter", "-", SHARE, LookOnly)
            .default("0")
            .says("Share of a frame's time that files are exposed for: smoke, solids and camera blur as they move. 0, and in the window: an instant."),
        number("render.camera.keyframes.#.time", "s", ANY, LookOnly).says("Instant; times rise."),
        vector("render.camera.keyframes.#.position", "m", ANY, LookOnly)
            .says("Position then. The camera moves smoothly from one keyframe to the next that names it."),
        vector("render.camera.keyframes.#.target", "m", ANY, LookOnly).says("Target then."),
        number("render.camera.keyframes.#.fov", "degrees", 1.0..=170.0, LookOnly).says("Field of view then."),
    ]
}
