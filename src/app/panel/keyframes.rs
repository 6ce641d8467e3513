//! The keyframes of a solid and of the camera, one a line.

use egui::{DragValue, Ui};

use super::section::heading;
use super::typed_number::{self, Field};
use super::{Out, theme};
use crate::app::model::{Model, Readout};
use crate::look::Camera;
use crate::scene::CameraKey;
use crate::scene::edits::{Change, Entry};

/// Shortest time between two keyframes in the panel \[s\].
const APART: f32 = 0.01;

/// Name of the number fields.
const NAME: &str = "keyframes";

/// Position \[m\] at an instant \[s\].
type Key = (f32, [f32; 3]);

pub(super) fn show(ui: &mut Ui, model: &mut Model, n: usize, readout: &Readout, out: &mut Out) {
    let Some(solid) = model.settings.scene.solids.get(n) else { return };
    let (mut keys, time) = (solid.keyframes.clone(), readout.shown);
    let before = keys.clone();
    heading(ui, "Keyframes", "s, m");
    let mut gone = None;
    for at in 0..keys.len() {
        let earliest = at.checked_sub(1).map_or(0.0, |before| keys[before].0 + APART);
        let latest = keys.get(at + 1).map_or(f32::MAX, |after| after.0 - APART);
        ui.horizontal(|ui| {
            ui.add_space(10.0);
            let (t, p) = &mut keys[at];
            let number = |x| DragValue::new(x).speed(0.01).max_decimals(3);
            let field = |unit, range| Field { name: NAME, unit, range, whole: false, width: 56.0 };
            let times = f64::from(earliest)..=f64::from(latest.max(earliest));
            field("s", times).show(ui, number(t).suffix(" s"));
            let anywhere = f64::from(f32::MIN)..=f64::from(f32::MAX);
            p.iter_mut().for_each(|x| drop(field("m", anywhere.clone()).show(ui, number(x))));
            if ui.small_button("×").on_hover_text("Remove this keyframe.").clicked() {
                gone = Some(at);
            }
        });
    }
    typed_number::notice(ui, NAME);
    if let Some(at) = gone {
        keys.remove(at);
    }
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let help = "Adds a keyframe at the shown time, where the solid is then.";
        let button = ui.button(egui::RichText::new(format!("Add at {time:.2} s")).color(theme::TEXT));
        out.places.insert("solid.keyframe.add", button.rect);
        if button.on_hover_text(help).clicked() {
            insert(&mut keys, (time as f32, solid.position_at(time)));
        }
    });
    if keys != before {
        model.edits.push(change(n, &keys));
    }
}

/// Shows the keyframes of the camera: each holds the view of the moment it was added.
pub(super) fn show_camera(ui: &mut Ui, model: &mut Model, readout: &Readout, out: &mut Out) {
    let mut keys = model.settings.scene.camera_path.keys();
    let before = keys.clone();
    heading(ui, "Keyframes", "s");
    let mut gone = None;
    for (at, key) in keys.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.add_space(10.0);
            ui.label(egui::RichText::new(format!("{:.2} s", key.time)).color(theme::TEXT));
            if ui.small_button("Show").on_hover_text("Looks from this keyframe.").clicked() {
                // Lens and projection stay: no keyframe sets them.
                model.camera = Some(model.settings.scene.camera_path.at(key.time, &readout.camera));
            }
            if ui.small_button("×").on_hover_text("Remove this keyframe.").clicked() {
                gone = Some(at);
            }
        });
    }
    if let Some(at) = gone {
        keys.remove(at);
    }
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let time = readout.shown;
        let help = "Adds a keyframe at the shown time, with the present view.";
        let button = ui.button(egui::RichText::new(format!("Add at {time:.2} s")).color(theme::TEXT));
        out.places.insert("camera.keyframe.add", button.rect);
        if button.on_hover_text(help).clicked() {
            let Camera { position, target, fov, .. } = readout.camera;
            let key = CameraKey {
                time: time as f32,
                position: Some(position),
                target: Some(target),
                fov: Some(fov),
            };
            keys.retain(|old| (old.time - key.time).abs() >= APART);
            keys.push(key);
            keys.sort_by(|a, b| a.time.total_cmp(&b.time));
        }
    });
    if !keys.is_empty() {
        ui.horizontal(|ui| {
            ui.add_space(10.0);
            ui.checkbox(&mut model.playback.follows, "Recorded frames follow it").on_hover_text(
                "Scrubbing, playback and exports move the camera; the running simulation keeps your view.",
            );
        });
    }
    if keys != before {
        model.edits.push(camera_change(&keys));
    }
}

fn camera_change(keys: &[CameraKey]) -> Change {
    let vector = |p: [f32; 3]| format!("[{}]", p.map(short).join(", "));
    let line = |key: &CameraKey| {
        let CameraKey { time, position, target, fov } = *key;
        let values = [
            Some(format!("time = {}", short(time))),
            position.map(|p| format!("position = {}", vector(p))),
            target.map(|p| format!("target = {}", vector(p))),
            fov.map(|fov| format!("fov = {}", short(fov))),
        ];
        format!("{{ {} }}", values.into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    let text = format!("[{}]", keys.iter().map(line).collect::<Vec<_>>().join(", "));
    Change::Set("render.camera.keyframes".into(), (!keys.is_empty()).then_some(Entry::Other(text)))
}

/// Returns a number with four digits after the point at most.
fn short(x: f32) -> String {
    format!("{:?}", (f64::from(x) * 1e4).round() / 1e4)
}

/// Adds a keyframe in its place, or replaces the one of that instant.
fn insert(keys: &mut Vec<Key>, key: Key) {
    keys.retain(|(t, _)| (t - key.0).abs() >= APART);
    let at = keys.iter().position(|(t, _)| *t > key.0).unwrap_or(keys.len());
    keys.insert(at, key);
}

fn change(n: usize, keys: &[Key]) -> Change {
    let line = |(t, p): &Key| format!("[{}, [{}]]", short(*t), p.map(short).join(", "));
    let text = format!("[{}]", keys.iter().map(line).collect::<Vec<_>>().join(", "));
    Change::Set(format!("solid.{n}.keyframes"), (!keys.is_empty()).then_some(Entry::Other(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn keyframes_are_added_in_order_and_removed() {
        let mut keys = vec![(0.0, [0.0; 3]), (2.0, [1.0; 3])];
        insert(&mut keys, (1.0, [0.5; 3]));
        insert(&mut keys, (2.001, [0.9; 3]));
        assert_eq!(keys, [(0.0, [0.0; 3]), (1.0, [0.5; 3]), (2.001, [0.9; 3])]);
        let text = "[[solid]]\nshape = { sphere = { radius = 0.1 } }\nposition = [0.4, 0.4, 0.4]\n";
        let scene = Scene::parse("s", text).unwrap().edited(&[change(0, &keys)]).unwrap();
        assert_eq!(scene.solids[0].keyframes, keys);
        assert_eq!(scene.edited(&[change(0, &[])]).unwrap().solids[0].keyframes, []);
    }

    #[test]
    fn camera_keyframes_are_written_whatever_the_file_has_and_removed() {
        let tables = "[[render.camera.keyframes]]\ntime = 1\nfov = 28\n\n[[render.camera.keyframes]]\ntime = 3\n\
                      position = [1, 1, 5]\n";
        for text in ["", "[render]\ncamera = { fov = 30 }\n", tables] {
            let scene = Scene::parse("s", text).unwrap();
            let mut keys = scene.camera_path.keys();
            assert_eq!(keys.len(), if text == tables { 2 } else { 0 });
            let (position, target) = (Some([2.0, 1.0, 3.25]), Some([0.5; 3]));
            keys.push(CameraKey { time: 4.5, position, target, fov: Some(40.0) });
            let edited = scene.edited(&[camera_change(&keys)]).unwrap();
            assert_eq!(edited.camera_path.keys(), keys, "{text}");
            assert_eq!(edited.camera_at(5.0).position, [2.0, 1.0, 3.25]);
            assert!(edited.edited(&[camera_change(&[])]).unwrap().camera_path.is_empty());
        }
    }
}
