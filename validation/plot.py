#!/usr/bin/env python3
"""The numbers and plots of VALIDATION.md, from the files that the runs of run.sh wrote.

    validation/plot.py [DIR]        DIR is validation-runs; plots go to validation/plots

Prints one line for each number: case, published, ours, error. Cases that are not in DIR are left out.
"""

import csv
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.font_manager
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
RUNS = Path(sys.argv[1] if len(sys.argv) > 1 else "validation-runs")
PLOTS = HERE / "plots"
RED, BLUE, GREY = "#c8452b", "#2b5fa8", "#777777"
SCHEMES = ["semi-lagrangian", "monotone", "maccormack", "cubic", "lagrange", "conservative"]


def columns(path):
    """A CSV with a header, as arrays by name; words stay words, empty cells are NaN."""
    rows = list(csv.reader(open(path)))

    def numbers(cells):
        try:
            return np.array([float(cell) if cell else np.nan for cell in cells])
        except ValueError:
            return np.array(cells)

    return {name: numbers(cells) for name, cells in zip(rows[0], zip(*rows[1:]))}


def published(name):
    return columns(HERE.parent / "tests" / "data" / f"{name}.csv")


def stats(run):
    return columns(RUNS / run / "stats.csv")


def lines(run, probe):
    """(time, columns) of each frame of a line probe."""
    table = columns(RUNS / run / f"probe-{probe}.csv")
    for time in np.unique(table["time"]):
        here = table["time"] == time
        yield time, {name: values[here] for name, values in table.items()}


def last(run, probe):
    return list(lines(run, probe))[-1][1]


def fields(run):
    return [np.load(path) for path in sorted((RUNS / run).glob("fields.*.npz"))]


def there(run):
    return (RUNS / run / "stats.csv").exists()


def say(case, wanted, ours, error):
    print(f"{case:38} {wanted:>12} {ours:>12} {error:>10}")


def compare(case, wanted, ours, digits=4):
    say(case, f"{wanted:.{digits}g}", f"{ours:.{digits}g}", f"{100 * (ours / wanted - 1):+.2f} %")


def figure(width=4.6, height=3.2):
    fig, axes = plt.subplots(figsize=(width, height), constrained_layout=True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return fig, axes


def save(fig, name):
    fig.savefig(PLOTS / f"{name}.png", dpi=110)
    plt.close(fig)


def peak(x, y):
    """Place and height of the parabola through the greatest value and its neighbours."""
    at = int(np.clip(np.argmax(y), 1, len(y) - 2))
    low, here, high = y[at - 1 : at + 2]
    bend = 2 * here - low - high
    part = 0.5 * (high - low) / bend if bend > 0 else 0.0
    return x[at] + part * (x[at + 1] - x[at]), here + 0.25 * part * (high - low)


def crest(x, y):
    """Place and height of the quartic through the greatest value and two on either side of it."""
    at = int(np.clip(np.argmax(y), 2, len(y) - 3))
    around = slice(at - 2, at + 3)
    fine = np.linspace(x[at - 1], x[at + 1], 2001)
    values = np.polyval(np.polyfit(x[around] - x[at], y[around], 4), fine - x[at])
    return fine[np.argmax(values)], values.max()


def taylor_green_2d():
    fig, axes = figure()
    for suffix, label, color in (("-plain", "projection", GREY), ("", "reflection", RED)):
        cells = [n for n in (32, 64, 128) if there(f"taylor-green-2d-{n}{suffix}")]
        errors = []
        for n in cells:
            run = stats(f"taylor-green-2d-{n}{suffix}")
            volume = (2 * np.pi) ** 2 * (2 * np.pi / n)
            exact = 0.25 * np.exp(-0.2 * run["time"][-1])
            errors.append(abs(run["kinetic_energy"][-1] / volume / exact - 1))
            say(f"taylor-green-2d {label} {n}²: energy", "0", "", f"{100 * errors[-1]:.4f} %")
        for a, b in zip(errors, errors[1:]):
            say("  order of accuracy", "", f"{np.log2(a / b):.2f}", "")
        axes.loglog(cells, errors, "o-", color=color, label=label)
    axes.set(xlabel="cells along a side", ylabel="relative error of energy at t = 1 s", xticks=[32, 64, 128])
    axes.set_xticklabels(["32", "64", "128"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    save(fig, "taylor-green-2d")


def taylor_green_moving():
    errors = {}
    for n in (n for n in (32, 64, 128) if there(f"taylor-green-moving-{n}")):
        line = last(f"taylor-green-moving-{n}", "u")
        exact = 1 + np.sin(line["x"] - 2) * np.exp(-0.04)
        errors[n] = abs(line["u"] - exact).max()
        say(f"taylor-green-moving {n}²: u", "0", "", f"{errors[n]:.5f}")
    cells = list(errors)
    for a, b in zip(cells, cells[1:]):
        say("  order of accuracy", "2", f"{np.log2(errors[a] / errors[b]):.2f}", "")


def couette():
    k = np.arange(1, 200)[:, None]
    for n in (16, 32):
        errors = []
        for time, line in list(lines(f"couette-{n}", "across"))[1:]:
            waves = (-1.0) ** k / k * np.exp(-0.1 * (k * np.pi) ** 2 * time) * np.sin(k * np.pi * line["y"])
            errors.append(abs(line["u"] - line["y"] - 2 / np.pi * waves.sum(0)).max())
        say(f"couette {n} cells: u after 0.5, 2 s", "0", "", f"{errors[0]:.5f}, {errors[-1]:.5f}")


def plate():
    viscosity, worst = 0.0066667, 0.0
    for time, line in list(lines("plate", "above"))[1:]:
        exact = [math.erfc(d / np.sqrt(4 * viscosity * time)) for d in line["y"] - 0.355]
        worst = max(worst, abs(line["u"] - exact).max())
    say("plate: u, from 0.1 s on", "0", "", f"{worst:.4f}")
    time, drag, _, _ = force_on_solid("plate", -1 / (8 * 0.015625**2))
    compare("  drag at 1 s [N/m² ρ⁻¹]", np.sqrt(viscosity / (np.pi * time[-1])), drag[-1])


def taylor_couette():
    _, line = list(lines("taylor-couette", "across"))[-1]
    r = line["x"] - 1.12
    error = abs(line["v"] - (1 / r - r) / 3)[(r > 0.55) & (r < 0.95)].max()
    say("taylor-couette: greatest error over speed", "0", "", f"{error / 0.5:.4f}")


def spheres():
    for share, radius, wanted in ((0.125, 0.310176, 4.292), (0.343, 0.434219, 15.4)):
        if there(f"spheres-{share}"):
            through = columns(RUNS / f"spheres-{share}" / "probe-through.csv")["u"][-1]
            compare(f"spheres, share {share}: drag / Stokes", wanted, 0.1 / (6 * np.pi * radius * through))


def rolls():
    now = fields("rolls")[-1]
    v, t = now["v"][:, :, 0], now["temperature"][:, :, 0]
    carried = (v[:, 1:-1] * 0.5 * (t[:, 1:] + t[:, :-1])).sum() / t.size
    compare("rolls at Ra 1e4: Nu", 2.661, 1 + carried / 0.01186782)


def hot_cylinder():
    for exponent, wanted in ((4, 3.24), (5, 4.86), (6, 8.90)):
        run = f"hot-cylinder-1e{exponent}"
        if not there(run):
            continue
        now, kappa = fields(run)[-1], 1 / np.sqrt(0.7 * 10.0**exponent)
        u, v, t = (now[name][:, :, 0] for name in ("u", "v", "temperature"))
        n, out = len(t), 0.0
        low, high = n // 4, 3 * n // 4
        for speed, heat in ((u, t), (v.T, t.T)):
            for face, sign in ((low, -1), (high, 1)):
                below, above = heat[face - 1, low:high], heat[face, low:high]
                carried = speed[face, low:high] * 0.5 * (below + above) / n
                out += sign * (carried - kappa * (above - below)).sum()
        compare(f"hot cylinder at Ra 1e{exponent}: heat / 2 κ ΔT", wanted, out / (2 * kappa))


def lock_exchange():
    def place(now):
        heavy = (now["red"][:, : now["red"].shape[1] // 8, 0] > 0.5).any(1)
        return now["time"], (np.flatnonzero(heavy)[-1] + 0.5) * now["voxel"]

    time, front = np.array([place(now) for now in fields("lock-exchange")]).T
    spread = (time > 2.9) & (time < 6.1)
    compare("lock exchange: front [m/s]", 0.5, np.polyfit(time[spread], front[spread], 1)[0])


def dipole():
    for run in ("dipole-256", "dipole-384"):
        if not there(run):
            continue
        now, voxel = stats(run), 2 / int(run[-3:])
        for time, energy, enstrophy in ((0.25, 1.502, 472.7), (0.5, 1.013, 380.6), (0.75, 0.767, 255.2)):
            at = abs(now["time"] - time).argmin()
            compare(f"{run} at {time} s: energy", energy, now["kinetic_energy"][at] / voxel)
            compare("  enstrophy", enstrophy, now["enstrophy"][at] / voxel)


def oscillating_cylinder():
    for run, cells in (("oscillating-cylinder", 12), ("oscillating-cylinder-24", 24)):
        if not there(run):
            continue
        time, force, _, _ = force_on_solid(run, cells)
        time = time - 0.5 * time[0]
        second = time > 5
        phase = 2 * np.pi / 5 * time[second]
        speed, growth = -np.cos(phase), 2 * np.pi / 5 * np.sin(phase)
        terms = np.stack([-0.5 * abs(speed) * speed, -0.25 * np.pi * growth], 1)
        drag, inertia = np.linalg.lstsq(terms, force[second], rcond=None)[0]
        compare(f"{run}: cd", 2.09, drag)
        compare("  cm", 1.45, inertia)


def internal_wave():
    swing = [(time, line["v"][0]) for time, line in lines("internal-wave", "middle")]
    time, v = np.array(swing).T
    turns = np.flatnonzero(v[:-1] * v[1:] < 0)
    at = time[turns] - v[turns] * (time[turns + 1] - time[turns]) / (v[turns + 1] - v[turns])
    compare("internal wave: frequency [1/s]", np.sqrt(0.5), len(at) * np.pi / at[-1], 5)
    compare("  amplitude of its third period / first", 1.0, abs(v[time > 18]).max() / abs(v[time < 9]).max(), 5)


def taylor_green_3d():
    run, data = stats("taylor-green-3d"), published("taylor-green-re100")
    volume = (2 * np.pi) ** 3
    time, energy = run["time"], run["kinetic_energy"] / volume
    enstrophy = 2 * 0.01 * run["enstrophy"] / volume
    middle, loss = 0.5 * (time[1:] + time[:-1]), -np.diff(energy) / np.diff(time)
    for label, x, y in (("energy", middle, loss), ("enstrophy", time, enstrophy)):
        at, most = peak(x, y)
        compare(f"taylor-green-3d from {label}: dissipation", 0.012975, most)
        say("  at", "4.887", f"{at:.3f}", f"{at - 4.887:+.3f} s")
    fig, axes = figure()
    axes.plot(middle, loss, color=RED, label="loss of energy")
    axes.plot(time, enstrophy, color=BLUE, ls="--", label="2ν · enstrophy")
    axes.plot(data["t"], data["dissipation"], "o", ms=4, color="black", label="pseudo-spectral")
    axes.set(xlabel="time [s]", ylabel="dissipation [m²/s³]", xlim=(0, 7.5), ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)
    save(fig, "taylor-green-3d")


def cavity(re):
    run, data = f"cavity-re{re}", published(f"cavity-re{re}")
    down, across = last(run, "vertical"), last(run, "horizontal")
    is_u, inside = data["profile"] == "u", (data["position"] > 0) & (data["position"] < 1)
    ours = np.where(
        is_u,
        np.interp(data["position"], down["y"], down["u"]),
        np.interp(data["position"], across["x"], across["v"]),
    )
    worst = np.abs(ours - data["converged"])[inside].max()
    say(f"cavity Re {re}: greatest difference", "0", "", f"{worst:.4f}")
    fig, axes = figure()
    axes.plot(down["y"], down["u"], color=RED, label="u along y")
    axes.plot(across["x"], across["v"], color=BLUE, label="v along x")
    axes.plot(data["position"], data["converged"], "o", ms=3.5, color="black", label="converged")
    axes.plot(data["position"], data["ghia"], "+", ms=5, color=GREY, label="Ghia et al. 1982")
    axes.set(xlabel="position [m]", ylabel="velocity [m/s]", title=f"Re {re}")
    axes.legend(frameon=False, fontsize=8)
    save(fig, run)


def heated(ra):
    run = f"heated-{ra}"
    end = fields(run)[-1]
    u, v, heat = (end[name][:, :, 0].astype(float) for name in ("u", "v", "temperature"))
    n, kappa = heat.shape[0], 1 / np.sqrt(0.71 * float(ra))
    nusselt = 1 + (u[1:-1] * 0.5 * (heat[1:] + heat[:-1])).sum() / n**2 / kappa
    across = last(run, "horizontal")
    row = {name: values[published("heated-cavity")["Ra"] == float(ra)][0] for name, values in published("heated-cavity").items()}
    compare(f"heated cavity Ra {ra}: Nu", row["Nu"], nusselt)
    half = n // 2
    carried, conducted = u[half] * 0.5 * (heat[half] + heat[half - 1]), kappa * n * (heat[half] - heat[half - 1])
    middle = (carried - conducted).mean() / kappa
    # The slope of the parabola through the wall and two cells.
    wall = ((8 * 0.5 - 9 * heat[0] + heat[1]) * n / 3).mean()
    say("  Nu on the middle line, on the hot wall", "", f"{middle:.4g}, {wall:.4g}", "")
    # The faces in the middle lie on the centre lines; what is published is the greatest of a smooth profile.
    middles = (np.arange(n) + 0.5) / n
    for name, wanted, (at, most) in (
        ("u", "u_max", crest(middles, u[half])),
        ("v", "v_max", crest(middles, v[:, half])),
    ):
        compare(f"  greatest {name} [κ/L]", row[wanted], most / kappa)
        place = row[f"{wanted}_{'y' if name == 'u' else 'x'}"]
        say("    at", f"{place}", f"{at:.4f}", f"{at - place:+.4f}")
    return across["x"], across["v"] / kappa


def heated_cavity():
    fig, axes = figure()
    runs = [ra for ra in ("1e3", "1e4", "1e6") if there(f"heated-{ra}")]
    data = published("heated-cavity")
    for ra, color in zip(runs, (GREY, BLUE, RED)):
        x, v = heated(ra)
        axes.plot(x, v / v.max(), color=color, label=f"Ra {ra}")
        axes.plot(data["v_max_x"][data["Ra"] == float(ra)], [1], "o", color=color)
    axes.set(xlabel="x / L", ylabel="v on the middle line / greatest v", xlim=(0, 1))
    axes.legend(frameon=False, fontsize=8)
    save(fig, "heated-cavity")


def rayleigh_benard():
    rates = {}
    fig, axes = figure()
    for ra, color in ((1600, BLUE), (1850, RED)):
        run = stats(f"rayleigh-benard-{ra}")
        time = run["time"] / np.sqrt(ra)
        late = run["time"] > 0.5 * run["time"][-1]
        rates[ra] = 0.5 * np.polyfit(time[late], np.log(run["kinetic_energy"][late]), 1)[0]
        say(f"rayleigh-benard Ra {ra}: growth [κ/d²]", "< 0" if ra < 1708 else "> 0", f"{rates[ra]:.3f}", "")
        axes.semilogy(time, np.sqrt(run["kinetic_energy"] / run["kinetic_energy"][late][0]), color=color, label=f"Ra {ra}")
    compare("  onset, from these two: Ra", 1707.762, 1600 - 250 * rates[1600] / (rates[1850] - rates[1600]))
    axes.set(xlabel="time [d²/κ]", ylabel="speed of the rolls")
    axes.legend(frameon=False)
    save(fig, "rayleigh-benard")


def kelvin_helmholtz():
    frames = [(time, line["v"][:-1]) for time, line in lines("kelvin-helmholtz", "middle")]
    time = np.array([frame[0] for frame in frames])
    wave = np.array([2 / len(v) * abs(np.fft.rfft(v)[1]) for _, v in frames])
    fit = (wave > 3 * wave[0]) & (wave < 30 * wave[0])
    rate, start = np.polyfit(time[fit], np.log(wave[fit]), 1)
    compare("kelvin-helmholtz: growth [1/s]", 0.1897, rate)
    fig, axes = figure()
    axes.semilogy(time, wave, color=RED, label="updraft")
    line = np.exp(np.log(wave[fit][0]) + 0.1897 * (time - time[fit][0]))
    axes.semilogy(time, line, "--", color="black", lw=1, label="exp(0.1897 t)")
    axes.set(xlabel="time [s]", ylabel="amplitude of the wave [m/s]", ylim=(2e-4, 1))
    axes.legend(frameon=False)
    save(fig, "kelvin-helmholtz")


def zalesak():
    rows = {"semi-lagrangian": "SL linear", "maccormack": "MacCormack clamp", "cubic": "SL Catmull–Rom clamp"}
    data = published("zalesak")
    shown = []
    for scheme in SCHEMES:
        for n in (50, 100, 200):
            if there(f"zalesak-{scheme}-{n}"):
                before, after = (f["red"][:, :, 0].astype(float) for f in fields(f"zalesak-{scheme}-{n}"))
                error = abs(after - before).sum() / before.sum()
                if scheme in rows:
                    compare(f"zalesak {scheme} {n}²", data[f"l1_n{n}"][data["scheme"] == rows[scheme]][0], error)
                else:
                    say(f"zalesak {scheme} {n}²", "-", f"{error:.4g}", "")
                if n == 100:
                    shown = shown or [("start", before)]
                    shown.append((scheme, after))
    fig, axes = plt.subplots(1, len(shown), figsize=(1.5 * len(shown), 1.75), constrained_layout=True)
    for ax, (name, disc) in zip(axes, shown):
        ax.imshow(disc.T[52:98, 27:73], origin="lower", cmap="magma", vmin=0, vmax=1)
        ax.set_title(name, fontsize=8)
        ax.axis("off")
    save(fig, "zalesak")


def lamb_oseen():
    fig, axes = figure()
    worst = 0
    for index, (time, line) in enumerate(lines("lamb-oseen", "across")):
        r = line["x"] - 0.5
        near = r < 0.25
        spread = 0.05**2 + 4 * 0.001 * time
        exact = np.where(r > 0, (1 - np.exp(-(r**2) / spread)) / (2 * np.pi * np.maximum(r, 1e-9)), 0)
        if time > 0:
            worst = max(worst, abs(line["v"] - exact)[near].max() / exact.max())
        if index % 5 == 0:
            axes.plot(r[near], line["v"][near], color=plt.cm.plasma(0.25 * time + 0.1), label=f"{time:.2f} s")
            axes.plot(r[near][::6], exact[near][::6], "o", ms=3, color="black")
    say("lamb-oseen: greatest error / greatest v", "0", "", f"{100 * worst:.2f} %")
    axes.set(xlabel="distance from the axis [m]", ylabel="velocity around it [m/s]")
    axes.legend(frameon=False, fontsize=8, title="dots: exact", title_fontsize=8)
    save(fig, "lamb-oseen")


def images(box, at, reach=12):
    """Velocity along x at `at`, the middle of the box in y and z, of the images in closed walls of a dipole there, whose
    own field is (3 cos² − 1) / r³. Along x they alternate."""
    total = 0.0
    n = np.arange(-reach, reach + 1)
    y, z = np.meshgrid(n * box[1], n * box[2], indexing="ij")
    for m in range(-2 * reach, 2 * reach + 1):
        sign, x = (1, m * box[0]) if m % 2 == 0 else (-1, (m - 1) * box[0] + 2 * (box[0] - at))
        r = np.sqrt(x**2 + y**2 + z**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            field = sign * (3 * x**2 / r**2 - 1) / r**3
        total += field[r > 1e-9].sum()
    return total


def moving(run, first, wanted, dipole, box):
    """Speed of the greatest velocity on the axis from time `first`, beside that of theory, walls included or not."""
    places = np.array([(time, *peak(line["x"], line["u"])) for time, line in lines(run, "axis")])
    late = places[:, 0] >= first
    speed = np.polyfit(places[late, 0], places[late, 1], 1)[0]
    slowed = wanted + dipole * np.mean([images(box, at) for at in places[late, 1]])
    compare(f"{run}: speed [m/s], unbounded", wanted, speed)
    compare("  with the images in the walls", slowed, speed)
    return places, slowed


def single_vortices():
    fig, axes = figure()
    for run, first, wanted, dipole, box, color in (
        ("hill", 0.5, 1.0, 0.5, (9.6, 6.4, 6.4), RED),
        ("ring", 1.0, (np.log(32) - 0.25) / (4 * np.pi), 0.25, (6, 6, 6), BLUE),
    ):
        if there(run):
            places, slowed = moving(run, first, wanted, dipole, box)
            time, place = places[:, 0], places[:, 1]
            start = np.mean(place - slowed * time)
            axes.plot(slowed * time, place - start, "o", ms=3.5, color=color, label=run)
    span = axes.get_xlim()[1]
    axes.plot([0, span], [0, span], color="black", lw=0.8)
    axes.set(xlabel="theory, walls included [m]", ylabel="way of the vortex [m]")
    axes.legend(frameon=False)
    save(fig, "vortices")


def across(run, height, field):
    """Distance from the axis, and the mean of a field along x and along z at a height, once the plume stands."""
    means = []
    for axis in "xz":
        late = [line for time, line in lines(run, f"{axis}-{round(100 * height)}") if time > 8]
        means.append(np.mean([line[field] for line in late], axis=0))
    return late[0]["z"] - 0.5, np.array(means)


def bells(run, field, heights):
    """Width and top of the Gaussian fitted to the logarithm where the field is strong, at each height; and the profiles."""
    found = []
    for height in heights:
        r, means = across(run, height, field)
        fits = [np.polyfit(r[mean > 0.25 * mean.max()], np.log(mean[mean > 0.25 * mean.max()]), 2) for mean in means]
        width = np.mean([np.sqrt(-1 / bend) for bend, _, _ in fits])
        found.append((width, r / width, means.mean(axis=0) / means.mean(axis=0).max()))
    return found


def plumes():
    fig, (profile, fall) = plt.subplots(1, 2, figsize=(7.6, 3.2), constrained_layout=True)
    for run, label, color in (("plume", "reflection", RED), ("plume-plain", "projection", GREY)):
        if there(run):
            plume(run, label, color, profile if run == "plume" else None, fall)
    s = np.linspace(-3, 3, 61)
    profile.plot(s, np.exp(-(s**2)), "k--", lw=0.8)
    profile.set(xlim=(-3, 3), xlabel="distance / width", ylabel="mean upward velocity / that on the axis")
    profile.legend(frameon=False, fontsize=8)
    fall.set(xlabel="height above the virtual origin [m]", ylabel="mean velocity on the axis [m/s]")
    fall.legend(frameon=False, fontsize=8)
    fall.set(xticks=[0.5, 1, 1.5], xticklabels=["0.5", "1", "1.5"], yticks=[0.4, 0.5, 0.6, 0.8], yticklabels=["0.4", "0.5", "0.6", "0.8"])
    fall.minorticks_off()
    save(fig, "plume")


def plume(run, label, color, profile, fall):
    heights = np.array([0.5, 0.8, 1.1, 1.4, 1.7])
    rises, warms = (bells(run, field, heights) for field in ("v", "temperature"))
    grows, offset = np.polyfit(heights, [width for width, _, _ in rises], 1)
    origin = -offset / grows
    compare(f"{run}: width / height", 0.11, grows)
    compare("  the same of the temperature", 0.125, np.polyfit(heights, [width for width, _, _ in warms], 1)[0])
    if profile:
        for height, (_, r, v) in zip(heights, rises):
            profile.plot(r, v, label=f"{height} m", lw=1)
    late = [line for time, line in lines(run, "axis") if time > 8]
    y = late[0]["y"]
    free = (y > 0.5) & (y < 1.7)
    for field, wanted in (("v", "-0.333"), ("temperature", "-1.667")):
        mean = np.mean([line[field] for line in late], axis=0)[free]
        power = np.polyfit(np.log(y[free] - origin), np.log(mean), 1)[0]
        say(f"  {field} on the axis ~ height^n, n", wanted, f"{power:.3f}", "")
        if field == "v":
            fall.loglog(y[free] - origin, mean, color=color, label=label)
            third = (y[free] - origin) ** (-1 / 3)
            fall.loglog(y[free] - origin, third * np.exp(np.mean(np.log(mean / third))), "k--", lw=0.8)


def leapfrog(run):
    """Times, and how far the red ring is ahead of the blue one."""
    times, ahead = [], []
    for frame in fields(run):
        x = (np.arange(frame["red"].shape[0]) + 0.5) * float(frame["voxel"])
        red, blue = (frame[name].astype(float).sum(axis=(1, 2)) for name in ("red", "blue"))
        times.append(float(frame["time"]))
        ahead.append((red * x).sum() / red.sum() - (blue * x).sum() / blue.sum())
    return np.array(times), np.array(ahead)


def rings():
    fig, axes = figure()
    for run, label, color in (("rings", "cubic, reflection", RED), ("rings-maccormack", "MacCormack, projection", GREY)):
        if there(run):
            time, ahead = leapfrog(run)
            turns = np.flatnonzero(np.diff(np.sign(ahead))) + 1
            leads = [max(part, key=abs) for part in np.split(ahead, turns)]
            say(f"{run}: leads of red, then blue ... [m]", "", " ".join(f"{lead:.3f}" for lead in leads), "")
            for turn in turns:
                part = ahead[turn - 1] / (ahead[turn - 1] - ahead[turn])
                say("  passes at [s]", "", f"{time[turn - 1] + part * (time[turn] - time[turn - 1]):.2f}", "")
            axes.plot(time, ahead, color=color, label=label)
    axes.axhline(0, color="black", lw=0.6)
    axes.set(xlabel="time [s]", ylabel="red ring ahead by [m]")
    axes.legend(frameon=False, fontsize=8)
    save(fig, "rings-ahead")
    smoke_sheet()


def smoke_sheet():
    """The pictures that run.sh renders of both runs, one row each."""
    rows = [
        [(label, path) for path in sorted((RUNS / run).glob("smoke.*.png"))]
        for run, label in (("rings", "cubic, reflection"), ("rings-maccormack", "MacCormack, projection"))
    ]
    if not all(rows):
        return
    wide, high = Image.open(rows[0][0][1]).size
    font = ImageFont.truetype(matplotlib.font_manager.findfont("DejaVu Sans"), 13)
    sheet = Image.new("RGB", (wide * len(rows[0]), high * len(rows)))
    draw = ImageDraw.Draw(sheet)
    for y, row in enumerate(rows):
        for x, (label, path) in enumerate(row):
            at = (x * wide, y * high)
            sheet.paste(Image.open(path).convert("RGB"), at)
            time = f"{int(path.suffixes[0][1:]) / 12:.2f} s"
            draw.text((at[0] + 8, at[1] + 6), f"{label}, {time}" if x == 0 else time, fill="#c8ccd2", font=font)
    sheet.save(PLOTS / "rings-smoke.png", optimize=True)


def force_on_solid(run, per_force):
    """Time, drag, the part of the pressure in it, and the force across the wind, as coefficients."""
    table = columns(RUNS / run / "probe-drag.csv")
    across = table["fy"] if np.ptp(table["fy"]) > np.ptp(table["fz"]) else table["fz"]
    # The first row is the start, when no step has been done.
    return tuple(values[1:] for values in (table["time"], per_force * table["fx"], per_force * table["px"], per_force * across))


def street(run, label, frequency, wanted, per_force):
    """Strouhal number from the force across the wind and mean drag over whole periods of the last part of a run."""
    time, drag, pressed, across = force_on_solid(run, per_force)
    late = time > 0.6 * time[-1]
    t, f = time[late], across[late] - across[late].mean()
    rising = np.flatnonzero((f[:-1] <= 0) & (f[1:] > 0))
    starts = t[rising] - f[rising] * (t[rising + 1] - t[rising]) / (f[rising + 1] - f[rising])
    if len(starts) > 1:
        compare(f"{label}: St", frequency, (len(starts) - 1) / (starts[-1] - starts[0]))
        late = (time >= starts[0]) & (time < starts[-1])
    else:
        say(f"{label}: St", f"{frequency}", "no street", "")
    label = f"  drag, mean over {max(len(starts) - 1, 0)} periods"
    if wanted:
        compare(label, wanted, drag[late].mean())
    else:
        say(label, "", f"{drag[late].mean():.4f}", "")
    say("  of it by pressure", "", f"{pressed[late].mean():.4f}", "")
    say("  lift, rms", "", f"{across[late].std():.4f}", "")


def cylinder():
    fig, axes = plt.subplots(3, 1, figsize=(6.4, 6.6), constrained_layout=True, height_ratios=(1, 1, 0.8))
    for ax, re, frequency, wanted in zip(axes, (100, 200), (0.1645, 0.197), (1.34, None)):
        run = f"cylinder-re{re}"
        if not there(run):
            ax.set_visible(False)
            continue
        frame = fields(run)[-1]
        u, v = frame["u"][:, :, 0].astype(float), frame["v"][:, :, 0].astype(float)
        h = 40 / u.shape[1]
        street(run, f"cylinder Re {re}", frequency, wanted, 2 / h)
        # At the corners of cells, where v changes along x and u along y.
        curl = (v[1:, 1:-1] - v[:-1, 1:-1] - u[1:-1, 1:] + u[1:-1, :-1]) / h
        extent = (h, u.shape[0] * h - 2 * h, h, 40 - h)
        ax.imshow(curl.T, origin="lower", extent=extent, cmap="RdBu_r", vmin=-2.5, vmax=2.5, interpolation="bilinear")
        ax.add_patch(plt.Circle((16, 20), 0.5, color="#333333"))
        ax.set(xlim=(14, 38), ylim=(16.6, 23.4), xticks=[], yticks=[])
        ax.set_title(f"vorticity at Re {re}", fontsize=9, loc="left")
        time, drag, _, across = force_on_solid(run, 2 / h)
        color = BLUE if re == 100 else RED
        axes[2].plot(time, drag, color=color, label=f"Re {re}")
        axes[2].plot(time, across, color=color, lw=0.8)
    axes[2].set(xlabel="time [diameters / wind]", ylabel="drag and lift", xlim=(0, None), ylim=(-1.5, 2))
    axes[2].legend(frameon=False, fontsize=8, loc="lower right", ncols=2)
    for side in ("top", "right"):
        axes[2].spines[side].set_visible(False)
    save(fig, "cylinder")


def main():
    PLOTS.mkdir(exist_ok=True)
    plt.rcParams["font.size"] = 9
    cases = [
        ("taylor-green-2d-64", taylor_green_2d),
        ("taylor-green-moving-64", taylor_green_moving),
        ("taylor-green-3d", taylor_green_3d),
        ("couette-32", couette),
        ("taylor-couette", taylor_couette),
        ("plate", plate),
        ("spheres-0.343", spheres),
        ("cavity-re100", lambda: cavity(100)),
        ("cavity-re1000", lambda: cavity(1000)),
        ("heated-1e4", heated_cavity),
        ("rayleigh-benard-1850", rayleigh_benard),
        ("rolls", rolls),
        ("internal-wave", internal_wave),
        ("hot-cylinder-1e4", hot_cylinder),
        ("lock-exchange", lock_exchange),
        ("dipole-256", dipole),
        ("oscillating-cylinder", oscillating_cylinder),
        ("kelvin-helmholtz", kelvin_helmholtz),
        ("zalesak-cubic-100", zalesak),
        ("lamb-oseen", lamb_oseen),
        ("hill", single_vortices),
        ("plume", plumes),
        ("rings", rings),
        ("cylinder-re100", cylinder),
        ("sphere-re300", lambda: street("sphere-re300", "sphere Re 300", 0.1355, 0.663, 8 / np.pi)),
    ]
    for run, draw in cases:
        if there(run):
            draw()


main()
