"""Writes OpenVDB files as its library does, compressed with Blosc, and their values beside them.

Usage: vdb_blosc.py FOLDER. FOLDER/blosc.vdb gets a grid for each file NAME.bin, floats with x fastest.
"""
import sys
from pathlib import Path

import numpy as np

try:
    import openvdb as vdb  # the name since version 11
except ImportError:
    import pyopenvdb as vdb

folder = Path(sys.argv[1])
random = np.random.default_rng(3)
size = (40, 33, 21)
x, y, z = np.meshgrid(*[np.arange(n) for n in size], indexing="ij")
ball = np.maximum(0, 1 - ((x - 20) ** 2 + (y - 15) ** 2 + (z - 9) ** 2) / 90).astype("f4")
grids = []


def add(name, values, kind=vdb.FloatGrid, half=False):
    grid = kind()
    grid.copyFromArray(np.ascontiguousarray(values), ijk=(-5, 3, 0))
    grid.name = name
    grid.transform = vdb.createLinearTransform(voxelSize=0.1)
    grid.saveFloatAsHalf = half
    grids.append(grid)
    values.reshape([*size, -1]).transpose(3, 2, 1, 0).astype("<f4").tofile(folder / f"{name}.bin")


add("smooth", ball)
add("half", np.round(300 * ball).astype("f4"), half=True)
add("noise", random.random(size).astype("f4"))
add("constant", np.full(size, 2.5, dtype="f4"))
add("vector", np.stack([ball, 2 * ball, -ball], -1).astype("f4"), kind=vdb.Vec3SGrid)
vdb.write(str(folder / "blosc.vdb"), grids=grids)
for grid in vdb.readAllGridMetadata(str(folder / "blosc.vdb")):
    assert "blosc" in grid.metadata["file_compression"], grid.metadata
print("written with Blosc")
