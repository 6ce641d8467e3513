"""Smoke in three dimensions: a solver on CPU threads and a volume renderer.

    import updraft
    solver = updraft.Scene("plume", domain={"cells": [48, 72, 48], "voxel": 0.02}).solver()
    solver.step()
    solver.temperature.max()

Lengths are metres, times seconds, temperatures kelvin above the air outside; y points up. Arrays are indexed [x, y, z].
"""

import numpy as _np

from ._updraft import Scene, Solver, __version__, scenes

__all__ = ["Scene", "Solver", "centers", "faces", "scenes", "__version__"]


def centers(scene):
    """Coordinates of the cells' centres: three arrays that broadcast to the shape of `red` [m]."""
    return _np.meshgrid(
        *((_np.arange(n, dtype=_np.float32) + 0.5) * scene.voxel for n in scene.cells), indexing="ij", sparse=True
    )


def faces(scene, axis):
    """Coordinates of the faces across `axis` (0, 1 or 2): three arrays that broadcast to the shape of u, v or w [m]."""
    lines = [(_np.arange(n, dtype=_np.float32) + 0.5) * scene.voxel for n in scene.cells]
    lines[axis] = _np.arange(scene.cells[axis] + 1, dtype=_np.float32) * scene.voxel
    return _np.meshgrid(*lines, indexing="ij", sparse=True)
