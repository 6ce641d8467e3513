//! Sheets for games and moving pictures, read by other programs.

#[path = "common/command.rs"]
mod command;

use std::path::Path;
use std::process::Command;

use command::{done, files, refused, stderr, succeeded, updraft, words};

const SMALL: &[&str] =
    &["--set", "domain.cells=[24, 36, 24]", "--set", "domain.voxel=0.04", "--cpu", "--quiet"];

/// A sheet: RGBA bytes, its size, and whether it is marked as sRGB.
struct Sheet {
    bytes: Vec<u8>,
    size: [usize; 2],
    is_srgb: bool,
}

impl Sheet {
    fn read(path: &Path) -> Self {
        let file = std::io::BufReader::new(std::fs::File::open(path).expect("a sheet"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        assert_eq!(reader.info().color_type, png::ColorType::Rgba);
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).expect("its pixels");
        let info = reader.info();
        Self { bytes, size: [info.width as usize, info.height as usize], is_srgb: info.srgb.is_some() }
    }

    /// Returns the pixels of frame `n` of a sheet of `columns`, each of `side` pixels square.
    fn frame(&self, n: usize, columns: usize, side: usize) -> impl Iterator<Item = [f64; 4]> + '_ {
        let corner = n / columns * side * self.size[0] + n % columns * side;
        (0..side * side).map(move |at| {
            let pixel = corner + at / side * self.size[0] + at % side;
            [0, 1, 2, 3].map(|c| f64::from(self.bytes[4 * pixel + c]) / 255.0)
        })
    }
}

/// Returns the mean of `channel`, weighted by the opacity in `weights`.
fn mean(sheet: &Sheet, weights: &Sheet, n: usize, side: usize, channel: usize) -> f64 {
    let pairs = || sheet.frame(n, 2, side).zip(weights.frame(n, 2, side));
    let total: f64 = pairs().map(|(_, weight)| weight[3]).sum();
    pairs().map(|(pixel, weight)| pixel[channel] * weight[3]).sum::<f64>() / total
}

/// Such options were once taken and ignored.
#[test]
fn options_without_effect_on_a_sheet_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let flipbook = |more: &[&str]| {
        let args =
            ["flipbook", "plume", "--frames", "1-2", "--grid", "2x1", "--sheet", "32x16", "--out", "a.png"];
        updraft(dir.path(), &[&args[..], SMALL, more].concat())
    };
    for (set, wanted) in [
        (
            "render.size=[64, 64]",
            "`render.size` has no effect here: --sheet and --grid say the size of a frame",
        ),
        (
            "render.floor=#888888",
            "`render.floor` has no effect here: a frame shows smoke alone; leave it out",
        ),
        (
            "render.camera={fov=20}",
            "`render.camera.fov` has no effect here: the camera is in front of the box; leave it out, or add",
        ),
    ] {
        refused(&flipbook(&["--set", set]), wanted);
    }
    refused(
        &flipbook(&["--maps", "color", "--motion-y", "down"]),
        "--motion-y has no effect here: no sheet of the motion is written; add motion to --maps",
    );
    assert!(files(dir.path()).is_empty());
    succeeded(&flipbook(&["--camera", "scene", "--set", "render.camera.fov=20"]));
}

#[test]
fn a_flipbook_has_its_sheets_and_a_description() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["flipbook", "plume", "--frames", "8-32:8", "--grid", "2x2", "--sheet", "128x128"];
    let args = [&args[..], &["--maps", "color,motion,six-way", "--out", "smoke.png"], SMALL].concat();
    done(dir.path(), &args);
    let wanted = ["smoke.json", "smoke.light-a.png", "smoke.light-b.png", "smoke.motion.png", "smoke.png"];
    assert_eq!(files(dir.path()), wanted);
    let about: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("smoke.json")).unwrap()).unwrap();
    assert_eq!(about["frames"], serde_json::json!([8, 16, 24, 32]));
    assert_eq!(
        (&about["grid"], &about["frame_size"]),
        (&serde_json::json!([2, 2]), &serde_json::json!([64, 64]))
    );
    assert_eq!(about["frames_per_second"], 3.0);
    let [color, motion, a, b] = ["smoke.png", "smoke.motion.png", "smoke.light-a.png", "smoke.light-b.png"]
        .map(|name| Sheet::read(&dir.path().join(name)));
    for (sheet, is_srgb) in [(&color, true), (&motion, false), (&a, false), (&b, false)] {
        assert_eq!((sheet.size, sheet.is_srgb), ([128, 128], is_srgb));
    }
    // There is smoke, more of it later, and none at the upper edge of the first frame.
    let cover = |n: usize| color.frame(n, 2, 64).map(|pixel| pixel[3]).sum::<f64>();
    assert!(cover(0) > 20.0 && cover(3) > 1.5 * cover(0), "{} {}", cover(0), cover(3));
    assert!(color.frame(0, 2, 64).take(64).all(|pixel| pixel[3] == 0.0));
    // The alpha of both kinds of maps is the same.
    let apart = color.frame(3, 2, 64).zip(a.frame(3, 2, 64)).map(|(x, y)| (x[3] - y[3]).abs());
    assert!(apart.fold(0.0, f64::max) < 0.02);
    // Pixels without smoke have the colour of smoke, not black: edges would turn dark.
    let darkest = |with: bool| {
        let pixels = color.frame(3, 2, 64).filter(|pixel| (pixel[3] > 0.5) == with);
        pixels.map(|pixel| pixel[0]).fold(1.0, f64::min)
    };
    assert!(darkest(false) > 0.5 * darkest(true), "{} {}", darkest(false), darkest(true));
    // The plume rises; sideways it does not move on the whole.
    let scale = about["maps"]["motion"]["scale"].as_f64().unwrap();
    let [x, y] = [0, 1].map(|c| (2.0 * mean(&motion, &color, 3, 64, c) - 1.0) * scale);
    assert!(y > 0.02 && y < 1.0 && x.abs() < 0.6 * y, "{x} {y} with {scale}");
    // A light is brighter on its own side of the smoke: right and left halves, top and bottom.
    let side = |sheet: &Sheet, channel: usize, inside: &dyn Fn(usize) -> bool| {
        let pixels = sheet.frame(3, 2, 64).zip(color.frame(3, 2, 64)).enumerate();
        let kept = pixels.filter(|(at, _)| inside(*at));
        kept.map(|(_, (pixel, weight))| pixel[channel] * weight[3]).sum::<f64>()
    };
    // Row and column of the middle of the smoke.
    let mass: f64 = cover(3);
    let middle = |of: &dyn Fn(usize) -> usize| {
        let rows = color.frame(3, 2, 64).enumerate().map(|(at, pixel)| of(at) as f64 * pixel[3]);
        (rows.sum::<f64>() / mass) as usize
    };
    let [row, column] = [middle(&|at| at / 64), middle(&|at| at % 64)];
    let right = |sheet: &Sheet, channel| {
        side(sheet, channel, &|at| at % 64 > column) / side(sheet, channel, &|at| at % 64 <= column)
    };
    assert!(right(&a, 0) > 1.3 * right(&b, 0), "light from the right: {} {}", right(&a, 0), right(&b, 0));
    let top = |sheet: &Sheet, channel| {
        side(sheet, channel, &|at| at / 64 <= row) / side(sheet, channel, &|at| at / 64 > row)
    };
    assert!(top(&a, 1) > 1.3 * top(&b, 1), "light from the top: {} {}", top(&a, 1), top(&b, 1));
    // Light from behind shines through thin smoke, and less through thick.
    let behind = |least: f64, most: f64| {
        let pixels = || a.frame(3, 2, 64).zip(b.frame(3, 2, 64)).zip(color.frame(3, 2, 64));
        let part = || pixels().filter(|(_, color)| (least..most).contains(&color[3]));
        let [back, front] =
            [0, 1].map(|which| part().map(|((a, b), color)| [a, b][which][2] * color[3]).sum::<f64>());
        back / front
    };
    let [thin, thick] = [behind(0.02, 0.3), behind(0.8, 1.1)];
    assert!(thin > 1.3 * thick, "light from behind: thin {thin}, thick {thick}");
}

/// The next frame, moved back by the motion, is closer to the frame than without. This checks the scale, both
/// signs and the axes together.
#[test]
fn motion_leads_from_one_frame_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    // In this scene smoke moves more than it appears and disappears.
    let tall = concat!(env!("CARGO_MANIFEST_DIR"), "/gallery/tall-plume.toml");
    let args =
        ["flipbook", tall, "--frames", "20-26:2", "--grid", "2x2", "--sheet", "256x256", "--out", "a.png"];
    done(dir.path(), &[&args[..], SMALL].concat());
    let about: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("a.json")).unwrap()).unwrap();
    let scale = about["maps"]["motion"]["scale"].as_f64().unwrap();
    let color = Sheet::read(&dir.path().join("a.png"));
    let motion: Vec<[f64; 4]> = Sheet::read(&dir.path().join("a.motion.png")).frame(0, 2, 128).collect();
    let [now, next] = [0, 1].map(|n| color.frame(n, 2, 128).collect::<Vec<_>>());
    let error = |times: f64| {
        let mut sum = 0.0;
        for at in 0..128 * 128 {
            let by = [0, 1].map(|c| (2.0 * motion[at][c] - 1.0) * scale * times * 128.0);
            // Rows count downwards.
            let x = (at % 128) as f64 + by[0];
            let y = (at / 128) as f64 - by[1];
            let place = |x: f64| (x.round().clamp(0.0, 127.0)) as usize;
            sum += (next[place(y) * 128 + place(x)][3] - now[at][3]).powi(2);
        }
        sum
    };
    let [without, with, against] = [0.0, 1.0, -1.0].map(error);
    assert!(with < 0.6 * without && without < against, "{with} with, {without} without, {against} against");
}

#[test]
fn a_finished_run_gives_the_same_flipbook_as_a_live_one() {
    let dir = tempfile::tempdir().unwrap();
    let small = [&SMALL[..4], &["--set", "time.frame_rate=60"]].concat();
    let args = ["simulate", "plume", "--frames", "1-8", "--format", "npz", "--out", "run", "--quiet"];
    done(dir.path(), &[&args[..], &small].concat());
    let sheet = ["--frames", "2-8:2", "--grid", "2x2", "--sheet", "64x64"];
    let live = [&["flipbook", "plume", "--out", "live.png"][..], &sheet, SMALL, &small[4..]].concat();
    done(dir.path(), &live);
    let stored =
        [&["flipbook", "--from", "run", "--out", "stored.png", "--cpu", "--quiet"][..], &sheet].concat();
    done(dir.path(), &stored);
    let about: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("stored.json")).unwrap()).unwrap();
    assert_eq!((&about["scene"], about["frames_per_second"].as_f64()), (&"run".into(), Some(30.0)));
    for ending in ["png", "motion.png"] {
        let [a, b] = ["live", "stored"].map(|name| Sheet::read(&dir.path().join(format!("{name}.{ending}"))));
        let most = a.bytes.iter().zip(&b.bytes).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(most <= Some(2), "{ending}: {most:?}");
    }
}

#[test]
fn a_flipbook_of_a_run_takes_the_frames_that_the_run_has() {
    let dir = tempfile::tempdir().unwrap();
    let simulate = words("simulate plume --frames 2-12:2 --format npz --out run --quiet");
    done(dir.path(), &[&simulate[..], &SMALL[..4]].concat());
    let flipbook = words("flipbook --from run --sheet 64x64 --cpu --quiet");
    for (grid, frames) in [("4x2", &[2, 4, 6, 8, 10, 12][..]), ("2x2", &[2, 4, 6, 8])] {
        let out = format!("{grid}.png");
        done(dir.path(), &[&flipbook[..], &["--grid", grid, "--out", &out]].concat());
        let text = std::fs::read(dir.path().join(format!("{grid}.json"))).unwrap();
        let about: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(about["frames"], serde_json::json!(frames));
    }
}

/// Once smoke was blurred only if the sheet of the motion was written too.
#[test]
fn an_open_shutter_blurs_the_same_colours_whatever_other_sheets_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let sheet = |out: &str, maps: &str, shutter: &str| {
        let args = words(
            "flipbook plume --frames 4-7 --grid 2x2 --sheet 64x64 --camera scene --set time.frame_rate=6",
        );
        let set = format!("render.camera.shutter={shutter}");
        done(dir.path(), &[&args[..], &["--maps", maps, "--set", &set, "--out", out], SMALL].concat());
        Sheet::read(&dir.path().join(out)).bytes
    };
    let [alone, beside] = [sheet("a.png", "color", "1"), sheet("b.png", "color,motion", "1")];
    assert!(alone == beside);
    assert!(alone != sheet("c.png", "color", "0"));
}

#[test]
fn sheets_that_engines_cannot_use_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let flipbook = |args: &str| updraft(dir.path(), &[&["flipbook", "plume"], &words(args)[..]].concat());
    refused(&flipbook("--sheet 1000x1024"), "power of two");
    refused(&flipbook("--sheet 1024x1024 --grid 6x6"), "does not divide");
    refused(&flipbook("--grid 4x4 --frames 1-120"), "--frames 1-120:8");
    refused(&flipbook("--out a.exr"), "sheets are written as .png");
    std::fs::write(dir.path().join("a.json"), "mine").unwrap();
    refused(&flipbook("--out a.png"), "a.json exists already");
}

/// ffprobe counts the frames and knows the codecs; without it the test is skipped.
#[test]
fn ffprobe_counts_the_frames_of_moving_pictures() {
    if Command::new("ffprobe").arg("-version").output().is_err() {
        eprintln!("skipped: no ffprobe here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, codec) in [("a.apng", "apng"), ("a.gif", "gif"), ("a.mp4", "h264"), ("a.webm", "vp9")] {
        let args = ["render", "plume", "--frames", "1-5", "--size", "64x48", "--out", name];
        done(dir.path(), &[&args[..], SMALL].concat());
        let args =
            ["-v", "error", "-count_frames", "-select_streams", "v", "-of", "json", "-show_streams", name];
        let probe = Command::new("ffprobe").args(args).current_dir(dir.path()).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&probe.stdout).unwrap();
        let stream = &report["streams"][0];
        let found = ["codec_name", "nb_read_frames", "width", "height"].map(|key| stream[key].clone());
        let wanted = serde_json::json!([codec, "5", 64, 48]);
        assert_eq!(serde_json::json!(found), wanted, "{name}: {stream}");
        assert!(probe.stderr.is_empty(), "{}", stderr(&probe));
        if ["a.mp4", "a.webm"].contains(&name) {
            let found = ["color_range", "color_space"].map(|key| stream[key].clone());
            assert_eq!(serde_json::json!(found), serde_json::json!(["tv", "bt709"]), "{name}: {stream}");
        }
    }
}

/// A film has the colours of the pictures, also in a column that an odd size adds; without ffmpeg the test is skipped.
#[test]
fn films_have_the_colours_of_pictures() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("skipped: no ffmpeg here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let flat = "render.background={top=[0.5,0.05,0.02],bottom=[0.5,0.05,0.02]}";
    let [mut film, mut picture] = [None, None];
    for (name, colours) in [("a.png", &mut picture), ("a.mp4", &mut film)] {
        let args = ["render", "plume", "--frames", "1", "--size", "63x47", "--out", name, "--set", flat];
        let more = ["--set", "render.floor=false", "--set", "render.medium.extinction=0"];
        done(dir.path(), &[&args[..], &more, SMALL].concat());
        let args = ["-v", "error", "-i", name, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"];
        let raw = Command::new("ffmpeg").args(args).current_dir(dir.path()).output().unwrap();
        *colours = Some(raw.stdout);
    }
    let (film, picture) = (film.unwrap(), picture.unwrap());
    assert_eq!([film.len(), picture.len()], [64 * 48 * 3, 63 * 47 * 3]);
    for (n, pixel) in film.chunks_exact(3).enumerate() {
        for c in 0..3 {
            let off = pixel[c].abs_diff(picture[c]);
            assert!(off <= 4, "pixel {n}: {pixel:?} for {:?}", &picture[..3]);
        }
    }
}

/// ffmpeg finds the radiance and the opacity that the writer's library reads; without it the test is skipped.
#[test]
fn ffmpeg_reads_the_radiance_of_an_exr() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("skipped: no ffmpeg here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let args = ["render", "plume", "--frames", "20", "--size", "64x48", "--out", "a.exr"];
    done(dir.path(), &[&args[..], SMALL].concat());
    let layer =
        exr::prelude::read_first_flat_layer_from_file(dir.path().join("a.exr")).expect("an EXR").layer_data;
    let args = words("-v error -apply_trc linear -i a.exr -f rawvideo -pix_fmt gbrapf32le -");
    let read = Command::new("ffmpeg").args(args).current_dir(dir.path()).output().unwrap();
    succeeded(&read);
    let floats: Vec<f32> =
        read.stdout.as_chunks().0.iter().map(|bytes: &[u8; 4]| f32::from_le_bytes(*bytes)).collect();
    for (name, plane) in ["G", "B", "R", "A"].into_iter().zip(floats.chunks_exact(64 * 48)) {
        let channel =
            layer.channel_data.list.iter().find(|channel| channel.name.eq(name)).expect("a channel");
        let wanted: Vec<f32> = channel.sample_data.values_as_f32().collect();
        assert!(wanted.iter().any(|&x| x > 0.05), "{name} is dark");
        assert!(plane.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-3 * b.abs()), "{name}");
    }
    assert_eq!(floats.len(), 4 * 64 * 48);
}
