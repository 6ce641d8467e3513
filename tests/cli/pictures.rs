//! Pictures and films as files.

use std::path::Path;

use super::command::{command, done, files, folder, refused, stderr, stdout, succeeded, updraft, words};
use super::{SMALL, render};

/// Reads rows of RGB or RGBA bytes, the number of bytes per pixel, and the size.
pub fn pixels(path: &Path) -> (Vec<u8>, usize, [u32; 2]) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut data = vec![0; reader.output_buffer_size().expect("a size")];
    reader.next_frame(&mut data).expect("pixels");
    let info = reader.info();
    (data, info.color_type.samples(), [info.width, info.height])
}

#[test]
fn pictures_are_of_the_asked_size_and_show_smoke() {
    let dir = folder();
    let output = render(dir.path(), "22-24", "out/a.####.png", &["--set", "render.floor=false"]);
    succeeded(&output);
    assert_eq!(files(&dir.path().join("out")), ["a.0022.png", "a.0023.png", "a.0024.png"]);
    assert_eq!(stdout(&output), "3 pictures: out/a.0022.png to out/a.0024.png\n");
    assert!(stderr(&output).contains("ms/step"), "plain progress lines: {}", stderr(&output));
    let (smoke, samples, size) = pixels(&dir.path().join("out/a.0024.png"));
    assert_eq!(size, [160, 120]);
    let empty = ["--set", "source=[]", "--set", "render.floor=false", "--quiet"];
    let quiet = render(dir.path(), "0", "empty.png", &empty);
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", stderr(&quiet));
    let (without, _, _) = pixels(&dir.path().join("empty.png"));
    let changed = smoke
        .chunks(samples)
        .zip(without.chunks(samples))
        .filter(|(a, b)| a.iter().zip(b.iter()).any(|(a, b)| a.abs_diff(*b) > 12));
    let share = changed.count() as f64 / (160.0 * 120.0);
    assert!((0.01..0.7).contains(&share), "smoke covers {share} of the picture");
}

#[test]
fn moving_pictures_hold_every_frame() {
    let dir = folder();
    succeeded(&render(dir.path(), "1-5", "a.apng", &[]));
    let file = std::io::BufReader::new(std::fs::File::open(dir.path().join("a.apng")).unwrap());
    let reader = png::Decoder::new(file).read_info().unwrap();
    assert_eq!(reader.info().animation_control().map(|a| a.num_frames), Some(5));
    for name in ["a.mp4", "a.webm", "a.gif"] {
        let output = render(dir.path(), "1-5", name, &["--size", "161x121"]);
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        if text.contains("no ffmpeg here") {
            eprintln!("SKIPPED: {text}");
            assert!(dir.path().join("a.0005.png").exists());
            return;
        }
        assert!(std::fs::metadata(dir.path().join(name)).unwrap().len() > 500, "{name}");
    }
    assert_eq!(files(dir.path()), ["a.apng", "a.gif", "a.mp4", "a.webm"]);
}

/// Reads the channels of a linear picture by name.
fn exr_channels(path: &Path, size: [usize; 2]) -> impl Fn(&str) -> Vec<f32> + use<> {
    let read = exr::prelude::read_first_flat_layer_from_file(path).expect("an EXR").layer_data;
    assert_eq!([read.size.x(), read.size.y()], size);
    move |name| {
        let found = read.channel_data.list.iter().find(|channel| channel.name.to_string() == name);
        found.expect("a channel").sample_data.values_as_f32().collect()
    }
}

/// Frame 0 is exactly the start: a cube full of smoke from a file, lit from the side, has the radiance σ p E
/// e^(−σ d) (1 − e^(−σ l)) / σ, pixel by pixel, with and without OpenGL.
#[test]
fn frame_0_is_the_density_of_the_file() {
    let dir = folder();
    let cube = updraft::npz::Array { shape: [16; 3], values: vec![0.5; 16 * 16 * 16] };
    let file = std::fs::File::create(dir.path().join("cube.npz")).unwrap();
    updraft::npz::write(file, &[], [("red", cube.clone()), ("blue", cube)]).unwrap();
    let scene = "source = []
        [domain]
        cells = [16, 16, 16]
        voxel = 0.0625
        [initial]
        fields = 'cube.npz'
        [smoke.red]
        color = [1.0, 0.5, 0.25]
        [smoke.blue]
        color = [1.0, 0.5, 0.25]
        [render]
        size = [48, 48]
        floor = false
        outline = false
        camera = { position = [0.5, 0.5, 50.0], target = [0.5, 0.5, 0.5], fov = 1.0 }
        medium = { extinction = 2.0, anisotropy = 0.0, scattering = 'single', fade = 0.0 }
        light = { direction = [1, 0, 0], sun = [3, 2, 1], sky = [0, 0, 0], ground = [0, 0, 0] }";
    std::fs::write(dir.path().join("cube.toml"), scene).unwrap();
    for (out, more) in [("a.exr", &[][..]), ("b.exr", &["--cpu"][..])] {
        let args = ["render", "cube.toml", "--frames", "0", "--out", out];
        done(dir.path(), &[&args[..], more].concat());
        let channel = exr_channels(&dir.path().join(out), [48, 48]);
        // The whole picture shows the cube: its front is 0.855 m high there, its middle 0.864 m.
        let height = 2.0 * 49.5 * 0.5_f32.to_radians().tan();
        for (name, colour) in [("R", 3.0), ("G", 2.0 * 0.5), ("B", 0.25)] {
            for (n, got) in channel(name).into_iter().enumerate() {
                let x = 0.5 + ((n % 48) as f32 + 0.5 - 24.0) / 48.0 * height;
                let lit = colour / (4.0 * std::f32::consts::PI) * (-2.0 * (1.0 - x)).exp();
                let want = lit * (1.0 - (-2.0_f32).exp());
                assert!((got - want).abs() < 0.01 * want, "{out} {name} at x = {x}: {got}, not {want}");
            }
        }
        assert!(channel("A").iter().all(|a| (a - 1.0 + (-2.0_f32).exp()).abs() < 2e-3));
    }
}

/// Single scattering, multiple and light paths are chosen by name, and each draws another picture.
#[test]
fn scattering_is_chosen_by_name() {
    let dir = folder();
    let means = ["single", "multiple", "traced"].map(|name| {
        let (out, set) = (format!("{name}.exr"), format!("render.medium.scattering={name}"));
        let medium = ["--set", "render.medium.paths=16", "--set", "render.medium.extinction=40"];
        let more = [&["--size", "32x24", "--set", &set], &medium[..]].concat();
        succeeded(&render(dir.path(), "24", &out, &more));
        let reds = exr_channels(&dir.path().join(out), [32, 24])("R");
        reds.iter().sum::<f32>() / reds.len() as f32
    });
    let [single, multiple, traced] = means;
    assert!(single < 0.97 * multiple && single < 0.97 * traced, "{means:?}");
    assert!((multiple / traced - 1.0).abs() < 0.15 && multiple != traced, "{means:?}");
}

/// Such overrides were once taken and ignored; those of the box gave the same smoke other sides.
#[test]
fn pictures_of_a_finished_run_refuse_overrides_of_its_flow() {
    let dir = folder();
    let run = ["simulate", "plume", "--frames", "1", "--format", "npz", "--out", "run", "-q"];
    done(dir.path(), &[&run[..], SMALL].concat());
    let render = |set: &str| {
        let args = [
            "render",
            "--from",
            "run",
            "--size",
            "16x12",
            "--cpu",
            "-q",
            "--out",
            "a.####.png",
            "--set",
            set,
        ];
        updraft(dir.path(), &args)
    };
    for set in [
        "fluid.vorticity=2",
        "source=[]",
        "domain.walls=open",
        "time.step=0.01",
        "initial.red=1",
        "domain.voxel=0.05",
    ] {
        let key = set.split('=').next().unwrap_or_default();
        refused(
            &render(set),
            &format!("--set {set}: `{key}` has no effect here: the smoke in run is simulated already"),
        );
    }
    let sheet = ["flipbook", "--from", "run", "--cpu", "-q", "--out", "b.png", "--set", "fluid.cooling=2"];
    refused(
        &updraft(dir.path(), &sheet),
        "`fluid.cooling` has no effect here: the smoke in run is simulated already",
    );
    assert_eq!(files(dir.path()), ["run"]);
    succeeded(&render("render={exposure=1, floor=false}"));
}

/// Such frames were once rendered as if they had this box, this size and this instant.
#[test]
fn pictures_of_frames_of_another_run_are_refused() {
    let dir = folder();
    let simulate = |out: &str, format: &str, more: &str| {
        let args = words("simulate plume --frames 1-2 -q --set domain.cells=[12,18,12]");
        let more =
            if more.contains("voxel") { more.to_owned() } else { format!("--set domain.voxel=0.08 {more}") };
        done(dir.path(), &[&args[..], &["--out", out, "--format"], &words(format), &words(&more)].concat());
    };
    let render = |more: &str| {
        let args = words("render --from run --size 16x12 --cpu -q --force --out a.####.png");
        updraft(dir.path(), &[&args[..], &words(more)].concat())
    };
    let path = |run: &str, n: u32, format: &str| dir.path().join(format!("{run}/fields.{n:04}.{format}"));
    for format in ["vdb", "npz"] {
        simulate("run", &format!("{format} --force"), "");
        simulate("small", &format!("{format} --force"), "--set domain.voxel=0.07");
        simulate("fast", &format!("{format} --force"), "--set time.frame_rate=30");
        simulate("red", &format!("{format} --force --fields red"), "--set domain.voxel=0.07");
        let own = std::fs::read(path("run", 2, format)).unwrap();
        for (from, n, wanted) in [
            ("small", 2, "`voxel` is 0.07, and by scene.toml it is 0.08; it is a frame of another run"),
            ("fast", 2, "`frame_rate` is 30.0, and by scene.toml it is 24.0"),
            ("run", 1, "`time` is 0.041666668, and by scene.toml it is 0.083333336"),
            ("red", 2, "voxel` is 0.07, and by scene.toml it is 0.08"),
        ] {
            std::fs::copy(path(from, n, format), path("run", 2, format)).unwrap();
            let output = render("--frames 2");
            refused(&output, &format!("run/fields.0002.{format}: its `"));
            assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
        }
        if format == "npz" {
            refused(&render(""), "run/fields.0002.npz: its `voxel`");
            assert!(!dir.path().join("a.0001.png").exists(), "before any picture");
        }
        std::fs::write(path("run", 2, format), own).unwrap();
        // A film may be slower than the run.
        succeeded(&render("--frames 2 --set time.frame_rate=12"));
    }
    std::fs::remove_file(path("run", 2, "npz")).unwrap();
    simulate("wide", "vdb", "--set domain.cells=[24,18,12] --set source.0.shape.disc.center=[1.5,0.01,0.41]");
    std::fs::copy(path("wide", 2, "vdb"), path("run", 2, "vdb")).unwrap();
    refused(&render("--frames 2"), "fields.0002.vdb: its smoke reaches beyond the box of scene.toml");
}

/// Without an EGL driver pictures are rendered on the CPU, which is reported once.
#[cfg(feature = "viewer")]
#[test]
fn without_opengl_pictures_are_drawn_on_the_cpu() {
    let dir = folder();
    let args = ["render", "plume", "--frames", "1-2", "--size", "64x48", "--out", "a.####.png"];
    let hidden = command(dir.path(), &[&args, SMALL].concat())
        .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent")
        .output()
        .unwrap();
    let text = stderr(&hidden);
    assert!(hidden.status.success(), "{text}");
    assert_eq!(text.matches("rendering on the CPU").count(), 1, "{text}");
    assert!(text.lines().any(|line| line.starts_with("updraft: no OpenGL")), "{text}");
    let args = ["render", "plume", "--frames", "2", "--size", "64x48", "--out", "b.####.png", "--cpu"];
    let chosen = updraft(dir.path(), &[&args, SMALL].concat());
    assert!(!stderr(&chosen).contains("rendering on the CPU"), "it was asked for");
    let bytes = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    assert_eq!(bytes("a.0002.png"), bytes("b.0002.png"));
}

/// Linear pictures, rendered without OpenGL.
#[test]
fn exr_has_radiance_alpha_and_depth() {
    let dir = folder();
    succeeded(&render(dir.path(), "24", "a.exr", &["--cpu", "--size", "80x60"]));
    let channel = exr_channels(&dir.path().join("a.exr"), [80, 60]);
    assert!(channel("R").iter().any(|&x| x > 0.1), "something is lit");
    let alpha = channel("A");
    assert!(alpha.iter().any(|&a| a > 0.9) && alpha.iter().any(|&a| a < 0.1), "smoke or floor, and sky");
    assert!(channel("Z").iter().all(|z| z.is_finite() && *z > 0.0));
}

/// Without ffmpeg a video becomes PNGs, with a message.
#[test]
fn without_ffmpeg_there_are_pictures() {
    let dir = folder();
    let args = ["render", "plume", "--frames", "1-2", "--size", "64x48", "--out", "a.mp4"];
    for more in [&[][..], &["--quiet", "--force"]] {
        let output = command(dir.path(), &[&args, SMALL, more].concat()).env("PATH", "").output().unwrap();
        let text = stderr(&output);
        assert!(text.contains("no ffmpeg here to write a.mp4; writing a.####.png"), "{text}");
        assert!(output.status.success(), "{text}");
        assert_eq!(files(dir.path()), ["a.0001.png", "a.0002.png"]);
    }
}
