#!/usr/bin/env python3
"""The plot of PERFORMANCE.md, from the JSON that `updraft bench --json` wrote.

    performance/plot.py FILE...        the plot goes to performance/size.png
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

runs = [run for file in sys.argv[1:] for run in json.load(open(file))["runs"]]
stages = ["advect velocity", "advect scalars", "project", "forces", "measure", "sources"]
colors = ["#2b5fa8", "#6f9fd8", "#c8452b", "#e2a03f", "#8a8a8a", "#c9c9c9"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=False)
for axis, threads in zip(axes, [1, 2]):
    chosen = sorted((run for run in runs if run["threads"] == threads), key=lambda run: run["cells"])
    names = [f"{run['cells']}³" for run in chosen]
    below = [0.0] * len(chosen)
    for stage, color in zip(stages, colors):
        heights = [run["ns_per_cell_and_step_by_stage"][stage]["median"] for run in chosen]
        axis.bar(names, heights, bottom=below, color=color, label=stage, width=0.65)
        below = [a + b for a, b in zip(below, heights)]
    for name, top in zip(names, below):
        axis.text(name, top, f"{top:.0f}", ha="center", va="bottom", fontsize=8)
    axis.set_title(f"{threads} thread" + ("s" if threads > 1 else ""), fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
axes[0].set_ylabel("ns per cell and step", fontsize=9)
axes[0].legend(fontsize=7, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.08), ncol=3)
fig.tight_layout()
fig.savefig(Path(__file__).resolve().parent / "size.png", dpi=110)
