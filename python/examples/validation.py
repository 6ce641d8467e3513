"""Two rows of VALIDATION.md from Python: the scenes of the repository, compared with exact solutions.

    python examples/validation.py          prints both rows; exit code 1 if one is off
"""

import pathlib
import sys

import numpy as np

import updraft

SCENES = pathlib.Path(__file__).resolve().parents[2] / "validation"


def taylor_green(n):
    """Relative error of the energy of a decaying vortex after 1 s; exact: ¼ exp(−4νt)."""
    h = 2 * np.pi / n
    scene = updraft.Scene(
        SCENES / "taylor-green-2d.toml", domain={"cells": [n, n, 1], "voxel": h}, time={"step": h / 2}
    )
    solver = scene.solver()
    stats = solver.step()
    energy = stats["kinetic_energy"] / ((2 * np.pi) ** 2 * h)
    return abs(energy / (0.25 * np.exp(-0.2 * stats["time"])) - 1)


def couette(n):
    """Greatest error of u after 0.5 s between a wall at rest and one at 1 m/s."""
    scene = updraft.Scene(
        SCENES / "couette.toml", domain={"cells": [4, n, 1], "voxel": 1 / n}, time={"step": 0.8 / n}
    )
    solver = scene.solver()
    time = solver.step()["time"]
    # Between the cells' centres and the walls, as the probe of the scene reads it.
    y = np.linspace(0, 1, 257)
    u = np.interp(y, [0, *(np.arange(n) + 0.5) / n, 1], [0, *solver.u[2, :, 0], 1])
    k = np.arange(1, 200)[:, None]
    waves = (-1.0) ** k / k * np.exp(-0.1 * (k * np.pi) ** 2 * time) * np.sin(k * np.pi * y)
    return np.abs(u - y - 2 / np.pi * waves.sum(0)).max()


# Each row: what, measured here, published in VALIDATION.md, unit.
ROWS = [
    ("Taylor–Green 2D at 32², energy at 1 s", 100 * taylor_green(32), 0.31, "%"),
    ("Taylor–Green 2D at 64², energy at 1 s", 100 * taylor_green(64), 0.067, "%"),
    ("Couette flow at 16 cells, u after 0.5 s", couette(16), 0.0026, "of the wall's speed"),
]

fine = True
for what, ours, published, unit in ROWS:
    close = ours < 1.1 * published
    fine &= close
    print(f"{what}: {ours:.4f} {unit}; VALIDATION.md has {published}{'' if close else '   OFF'}")
sys.exit(not fine)
