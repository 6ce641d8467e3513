//! Boundary conditions of the pressure.

/// Boundary condition of the pressure on one side of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PressureBoundary {
    /// ∂p/∂n = 0: the velocity across the side is given, as at walls and inflows.
    Neumann,
    /// p = 0 on the side: air flows in and out freely.
    Dirichlet,
    /// The last cell of the axis is the first one's neighbour. Both sides of the axis must be periodic.
    Periodic,
}

/// Boundary conditions at the low and the high side of an axis.
pub type AxisBoundary = [PressureBoundary; 2];

/// Whether the axis leaves the pressure free up to a constant.
pub fn has_null_space(ends: AxisBoundary) -> bool {
    !ends.contains(&PressureBoundary::Dirichlet)
}

/// Whether the axis closes on itself.
pub fn is_periodic(ends: AxisBoundary) -> bool {
    ends[0] == PressureBoundary::Periodic
}
