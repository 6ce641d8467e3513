"""Writes OpenVDB files with the library of OpenVDB, which compresses with Blosc, and their values.

Usage: write_vdb.py FOLDER. Beside each file GRID.vdb there is GRID.f32 with the values of the box of its 20 x 30 x 16 voxels from
(-3, -5, -2) on, x fastest, component by component.
"""
import sys
from pathlib import Path

import numpy as np

try:
    import openvdb as vdb  # the name since version 11
except ImportError:
    import pyopenvdb as vdb

folder = Path(sys.argv[1])
random = np.random.default_rng(4)
x, y, z = np.meshgrid(*[np.arange(n) for n in (18, 22, 13)], indexing="ij")


def write(name, grid, half=False):
    grid.name = name
    grid.saveFloatAsHalf = half
    grid.transform = vdb.createLinearTransform(0.05)
    vdb.write(str(folder / f"{name}.vdb"), grids=[grid])
    components = 3 if isinstance(grid, vdb.Vec3SGrid) else 1
    values = np.zeros((20, 30, 16, components) if components == 3 else (20, 30, 16), dtype="f4")
    grid.copyToArray(values, ijk=(-3, -5, -2))
    values.reshape(20, 30, 16, components).transpose(3, 2, 1, 0).astype("<f4").tofile(folder / f"{name}.f32")


def scalar(values, background=0.0):
    grid = vdb.FloatGrid(background)
    grid.copyFromArray(values.astype("f4"))
    return grid


smooth = 1.5 + 0.25 * np.sin(0.3 * x) + 0.01 * y - 0.02 * z
smooth[(x - 9) ** 2 + (y - 11) ** 2 + (z - 6) ** 2 > 60] = 0
steps = np.floor(x / 4.0)
noise = random.random(x.shape)
write("smooth", scalar(smooth))
write("steps", scalar(steps))
write("noise", scalar(noise))
write("half", scalar(np.round(64 * smooth) / 64), half=True)
write("half-steps", scalar(steps), half=True)
tiles = vdb.FloatGrid(2.5)
tiles.fill((0, 0, 0), (7, 31, 7), -7.25, True)
tiles.fill((3, 3, 3), (4, 5, 6), 1.0, False)
write("tiles", tiles)
vectors = vdb.Vec3SGrid()
vectors.copyFromArray(np.ascontiguousarray(np.stack([smooth, steps, noise], axis=-1).astype("f4")))
write("vectors", vectors)
