//! A picture of a volume from a function of the position instead of a solver: a torus of smoke.
//!
//!     cargo run --release --no-default-features --features files --example volume

use updraft::output::whole::Existing;
use updraft::render::CpuRenderer;
use updraft::render::{Mode, View};
use updraft::{Camera, Dims, Look, Snapshot, output};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dims = Dims::new([64, 48, 64])?;
    let torus = Snapshot::from_fn(dims, 1.0 / 64.0, |[x, y, z]| {
        let (x, y, z) = (x - 0.5, y - 0.35, z - 0.5);
        let around = x.hypot(z) - 0.28;
        let density = 6.0 * (1.0 - around.hypot(y) / 0.12).clamp(0.0, 1.0);
        // Red, green, blue and temperature excess: the colours change around the axis.
        let share = 0.5 + 0.5 * z.atan2(x).sin();
        [density * share, 0.0, density * (1.0 - share), 0.0]
    });
    let (look, camera) = (Look::default(), Camera::framing(torus.extent()));
    let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
    let image = CpuRenderer::new().render(&torus, &view, [480, 360], &|_| ())?;
    let path = std::env::temp_dir().join("torus.png");
    output::png::write(&path, Existing::Replace, &image)?;
    println!("{}", path.display());
    Ok(())
}
