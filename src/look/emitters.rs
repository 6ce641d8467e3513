//! Lights beside the sun and the sky.

/// A light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Its kind and place.
    pub emitter: Emitter,
    /// Linear R, G, B.
    pub color: [f32; 3],
    /// Irradiance on a surface that faces it: everywhere under a sun, of other lights at a distance of 1 m straight ahead. The
    /// sun of a default [`Look`](super::Look) has about 10.
    pub strength: f32,
}

/// The kind and the place of a light. None is seen itself.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Emitter {
    /// A sun: parallel light.
    Sun {
        /// Unit vector towards it.
        direction: [f32; 3],
        /// Angular diameter \[degrees\].
        size: f32,
    },
    /// A ball, the same in all directions.
    Point {
        /// Its middle \[m\].
        position: [f32; 3],
        /// Radius \[m\]: the larger, the softer its shadows.
        radius: f32,
    },
    /// A ball that sends light into a cone.
    Spot {
        /// Its middle \[m\].
        position: [f32; 3],
        /// A point on the axis of the cone \[m\].
        target: [f32; 3],
        /// Full angle of the cone \[degrees\].
        angle: f32,
        /// Share of the cone's half angle over which light falls off at its edge.
        softness: f32,
        /// Radius \[m\].
        radius: f32,
    },
    /// One side of a rectangle, with the cosine of a Lambertian surface.
    Area {
        /// Its middle \[m\].
        position: [f32; 3],
        /// A point straight ahead \[m\].
        target: [f32; 3],
        /// Width and height \[m\]. The width lies level.
        size: [f32; 2],
    },
}

impl Light {
    /// Most lights of a look.
    pub const MOST: usize = 8;

    /// Position \[m\]; `None` for a sun.
    pub fn position(&self) -> Option<[f32; 3]> {
        match self.emitter {
            Emitter::Sun { .. } => None,
            Emitter::Point { position, .. }
            | Emitter::Spot { position, .. }
            | Emitter::Area { position, .. } => Some(position),
        }
    }
}
