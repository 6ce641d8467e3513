"""Reads OpenVDB files with the library of OpenVDB and compares them with the values that a manifest names.

Usage: vdb.py MANIFEST. Prints a line for each grid, and ends with another status than 0 where one differs.
"""
import json
import sys
from pathlib import Path

import numpy as np

try:
    import openvdb as vdb  # the name since version 11
except ImportError:
    import pyopenvdb as vdb

manifest = Path(sys.argv[1])
for case in json.loads(manifest.read_text()):
    path = str(manifest.parent / case["file"])
    grids, metadata = vdb.readAll(path)
    for name, value in case.get("metadata", {}).items():
        assert metadata[name] == value, (name, metadata[name], value)
    by_name = {grid.name: grid for grid in grids}
    assert sorted(by_name) == sorted(grid["name"] for grid in case["grids"]), sorted(by_name)
    for wanted in case["grids"]:
        grid = by_name[wanted["name"]]
        components = wanted["components"]
        size = wanted["size"]
        expected = np.fromfile(manifest.parent / wanted["values"], dtype="<f4")
        # x fastest in the file, a[x, y, z] here.
        expected = expected.reshape([components, *reversed(size)]).transpose(3, 2, 1, 0)
        array = np.full([*size, components], np.nan, dtype="f4")
        array = np.ascontiguousarray(array if components == 3 else array[..., 0])
        grid.copyToArray(array, ijk=tuple(wanted["origin"]))
        array = array.reshape([*size, components])
        tolerance = wanted["tolerance"]
        error = np.abs(array - expected) / np.maximum(1.0, np.abs(expected))
        assert np.all(error <= tolerance), (path, wanted["name"], float(np.nanmax(error)))
        assert grid.activeVoxelCount() == wanted["active"], (grid.activeVoxelCount(), wanted["active"])
        if wanted["active"]:
            low, high = grid.evalActiveVoxelBoundingBox()
            assert [list(low), list(high)] == wanted["bounds"], (low, high, wanted["bounds"])
        h = wanted["voxel"]
        assert np.allclose(grid.transform.voxelSize(), [h] * 3)
        assert np.allclose(grid.transform.indexToWorld((0, 0, 0)), [0.5 * h] * 3)
        kind = {1: vdb.FloatGrid, 3: vdb.Vec3SGrid}[components]
        assert isinstance(grid, kind), type(grid)
        print(case["file"], wanted["name"], wanted["active"], "voxels agree")
