//! `[domain] walls`: what each side is, and that the six agree.

use toml::Spanned;

use super::document::{self, SideKind};
use super::value::Number;
use crate::solver::{Inflow, Side, Sides};

/// Temperature excess held at each side \[K\].
type Held = [[Option<f32>; 2]; 3];

/// The sides: closed all around but for the open top, unless the file says otherwise.
pub fn resolve(walls: Option<&Spanned<document::Walls>>) -> Result<(Sides, Held), String> {
    let read = walls.map(|walls| *walls.get_ref()).unwrap_or_default().sides;
    let mut sides = [[Side::Closed; 2], [Side::Closed, Side::Open], [Side::Closed; 2]];
    let mut held = Held::default();
    for axis in 0..3 {
        for end in 0..2 {
            if let Some(read) = &read[axis][end] {
                let name = ["x", "y", "z"][axis].to_owned() + ["_min", "_max"][end];
                sides[axis][end] = side(read, axis).map_err(|message| format!("{name} {message}"))?;
                held[axis][end] = held_at(read);
            }
        }
        let periodic = sides[axis].map(|side| side == Side::Periodic);
        if periodic[0] != periodic[1] {
            let name = ["x", "y", "z"][axis];
            return Err(format!(
                "a periodic side needs the one across to be so too; write {name} = \"periodic\""
            ));
        }
    }
    Ok((sides, held))
}

fn side(read: &document::Side, axis: usize) -> Result<Side, String> {
    let velocity = read.velocity.map_or([0.0; 3], document::Vector::get);
    let smoke = read.smoke.map(|density| density.map_or(0.0, Number::get));
    if read.kind != SideKind::Inflow && read.smoke.iter().any(Option::is_some) {
        return Err("lets nothing in, so it has no smoke; only an inflow has".into());
    }
    match read.kind {
        SideKind::NoSlip if velocity[axis] != 0.0 => Err(format!(
            "cannot move across itself: velocity {velocity:?} must be 0 along {}",
            ["x", "y", "z"][axis]
        )),
        SideKind::NoSlip => Ok(Side::NoSlip(velocity)),
        SideKind::Inflow => {
            let temperature = read.temperature.map_or(0.0, Number::get);
            Ok(Side::Inflow(Inflow { velocity, scalars: [smoke[0], smoke[1], smoke[2], temperature] }))
        }
        _ if read.velocity.is_some() => Err("has no velocity; only no-slip and inflow have".into()),
        SideKind::Closed => Ok(Side::Closed),
        SideKind::Open | SideKind::Periodic if read.temperature.is_some() => {
            Err("holds no temperature; only walls do".into())
        }
        SideKind::Open => Ok(Side::Open),
        SideKind::Periodic => Ok(Side::Periodic),
    }
}

/// The temperature of a wall; that of an inflow comes with its air.
fn held_at(read: &document::Side) -> Option<f32> {
    let wall = matches!(read.kind, SideKind::Closed | SideKind::NoSlip);
    read.temperature.filter(|_| wall).map(Number::get)
}
