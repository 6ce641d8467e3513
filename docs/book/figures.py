#!/usr/bin/env python3
"""The figures of "The method", from what `updraft simulate` and `updraft render` wrote.

    docs/book/figures.py RUN SINGLE.png MULTIPLE.png      figures go to this file's folder

RUN holds fields.0060.npz of docs/book/method.toml. Needs NumPy, matplotlib and Pillow.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

HERE = Path(__file__).resolve().parent
CENTER, RADIUS = np.array([0.54, 0.50]), 0.12


def slice_(run):
    """The plane through the middle of the box: density, pressure, and u, v at the centres of cells."""
    with np.load(Path(run) / "fields.0060.npz") as fields:
        h, k = float(fields["voxel"]), fields["red"].shape[2] // 2
        u, v = fields["u"][:, :, k], fields["v"][:, :, k]
        u, v = (u[1:] + u[:-1]) / 2, (v[:, 1:] + v[:, :-1]) / 2
        return h, fields["red"][:, :, k], fields["pressure"][:, :, k], u, v


def plot_slice(run, path):
    h, red, pressure, u, v = slice_(run)
    nx, ny = red.shape
    box = [0, nx * h, 0, ny * h]
    x, y = (np.arange(nx) + 0.5) * h, (np.arange(ny) + 0.5) * h
    inside = (x[:, None] - CENTER[0]) ** 2 + (y[None, :] - CENTER[1]) ** 2 < RADIUS**2
    most = np.abs(pressure[:, 8:][~inside[:, 8:]]).max()
    figure, axes = plt.subplots(1, 2, figsize=(8, 4.6), layout="constrained", sharey=True)
    for axis, field, colours, limits, title in [
        (axes[0], red, "Greys", (0, np.quantile(red, 0.995)), "density ρ [-], velocity u [m/s]"),
        (axes[1], np.where(inside, np.nan, pressure), "RdBu_r", (-most, most), "pressure p [m²/s²]"),
    ]:
        image = axis.imshow(field.T, origin="lower", extent=box, cmap=colours, vmin=limits[0], vmax=limits[1])
        figure.colorbar(image, ax=axis, shrink=0.7)
        axis.add_patch(plt.Circle(CENTER, RADIUS, facecolor="#8a5a48", zorder=3))
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("x [m]")
    every = (slice(2, None, 4), slice(2, None, 4))
    shown = [np.where(inside, np.nan, part)[every].T for part in (u, v)]
    arrows = axes[0].quiver(x[2::4], y[2::4], *shown, color="#c8452b", width=0.006, scale=16)
    axes[0].quiverkey(arrows, 0.85, 0.96, 1, "1 m/s", labelpos="E", coordinates="axes", fontproperties={"size": 8})
    axes[0].set_ylabel("y [m]")
    figure.savefig(path, dpi=80)


def plot_light(single, multiple, path):
    images = [Image.open(single).convert("RGB"), Image.open(multiple).convert("RGB")]
    both = Image.new("RGB", (sum(image.width for image in images), images[0].height))
    both.paste(images[0], (0, 0))
    both.paste(images[1], (images[0].width, 0))
    both.save(path, optimize=True)


def main():
    run, single, multiple = sys.argv[1:]
    plot_slice(run, HERE / "method-slice.png")
    plot_light(single, multiple, HERE / "method-light.png")


main()
