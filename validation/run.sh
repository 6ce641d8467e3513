#!/usr/bin/env bash
# Runs every case of VALIDATION.md into a folder, one after the other, and then the plots and the table from there.
#
#   validation/run.sh [DIR] [CASE..]      DIR is validation-runs; without cases, all of them
#
# UPDRAFT is the command to use (target/release/updraft, else the installed one), THREADS its threads (0: all).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-validation-runs}
shift $(($# > 0))
wanted=" $* "
built=$here/../target/release/updraft
[[ -x "$built" ]] || built=updraft
updraft=${UPDRAFT:-$built}
mkdir -p "$out"

# case NAME SCENE FRAMES [ARGUMENT..]: a run of validation/SCENE.toml into $out/NAME.
case_() {
    local name=$1 scene=$2 frames=$3
    shift 3
    if [[ "$wanted" == "  " || "$wanted" == *" $name "* ]]; then
        printf '%s\n' "$name"
        "$updraft" simulate "$here/$scene.toml" --frames "$frames" --out "$out/$name" \
            --threads "${THREADS:-0}" --force --quiet "$@" >"$out/$name.log"
    fi
}

# The square of N cells of edge L / N: overrides of grid and step, DT in units of L / N.
square() { python3 -c "
n, length, dt = $1, $2, $3
print(f'domain.cells=[{n}, {n}, 1]', f'domain.voxel={length / n!r}', f'time.step={dt * length / n!r}', sep='\n')"; }

part() { python3 -c "print($1 / $2)"; }

# on_square N L DT NAME SCENE FRAMES [ARGUMENT..]
on_square() {
    local set=() line
    while read -r line; do set+=(--set "$line"); done < <(square "$1" "$2" "$3")
    shift 3
    case_ "$@" "${set[@]}"
}

for n in 32 64 128; do
    on_square $n 6.283185307 0.5 taylor-green-2d-$n taylor-green-2d 1-1
    on_square $n 6.283185307 0.5 taylor-green-2d-$n-plain taylor-green-2d 1-1 --set solver.integrator=projection
done
for n in 32 64 128; do on_square $n 6.283185307 1.01859164 taylor-green-moving-$n taylor-green-moving 1-2; done
case_ taylor-green-3d taylor-green-3d 1-75
for n in 16 32; do
    case_ couette-$n couette 1-4 --set "domain.cells=[16, $n, 1]" --set domain.voxel="$(part 1 $n)" --set time.step="$(part 0.8 $n)"
done
case_ plate plate 1-10
case_ taylor-couette taylor-couette 3-3
case_ spheres-0.343 spheres 10-10
case_ spheres-0.125 spheres 30-30 --set solid.0.shape.sphere.radius=0.310176
case_ cavity-re100 cavity 1-16
case_ cavity-re1000 cavity 1-50 --set fluid.viscosity=0.001
fields=(--format npz --fields "u,v,temperature")
case_ heated-1e3 heated-cavity 30-30 "${fields[@]}" --set fluid.viscosity=0.02664583 --set fluid.conduction=0.03752933
case_ heated-1e4 heated-cavity 40-40 "${fields[@]}"
case_ heated-1e6 heated-cavity 200-200 "${fields[@]}" \
    --set fluid.viscosity=0.0008426150 --set fluid.conduction=0.001186782
case_ rayleigh-benard-1850 rayleigh-benard 1-80
case_ rayleigh-benard-1600 rayleigh-benard 1-80 --set fluid.viscosity=0.025 --set fluid.conduction=0.025
case_ rolls rayleigh-benard 50-50 "${fields[@]}" --set fluid.viscosity=0.008426150 --set fluid.conduction=0.01186782 \
    --set "domain.cells=[64, 32, 1]" --set domain.voxel=0.03125 \
    --set "initial.temperature=0.5 - y + 0.05 * cos(pi * x) * sin(pi * y)"
case_ internal-wave internal-wave 1-270
case_ hot-cylinder-1e4 hot-cylinder 60-60 "${fields[@]}"
case_ hot-cylinder-1e5 hot-cylinder 60-60 "${fields[@]}" \
    --set fluid.viscosity=0.002645751 --set fluid.conduction=0.003779645
case_ hot-cylinder-1e6 hot-cylinder 80-80 "${fields[@]}" \
    --set fluid.viscosity=0.0008366600 --set fluid.conduction=0.001195229
case_ lock-exchange lock-exchange 0-28 --format npz --fields red
for n in 256 384; do on_square $n 2 0.08 dipole-$n dipole 1-15; done
case_ oscillating-cylinder oscillating-cylinder 200-200
keyframes=$(python3 -c "
from math import pi, sin
print([[n / 40, [8 - 2.5 / pi * sin(pi * n / 100), 6, 0]] for n in range(404)])")
case_ oscillating-cylinder-24 oscillating-cylinder 200-200 --set "domain.cells=[384, 288, 1]" \
    --set domain.voxel=0.0416666667 --set time.step=0.025 --set "solid.0.keyframes=$keyframes"
case_ kelvin-helmholtz kelvin-helmholtz 1-50
for n in 50 100 200; do
    for scheme in semi-lagrangian monotone maccormack cubic lagrange conservative; do
        on_square $n 1 1 zalesak-$scheme-$n zalesak 0-1 --format npz --fields red --set solver.advection=$scheme
    done
done
case_ lamb-oseen lamb-oseen 0-15
case_ hill hill 0-30
case_ ring ring 0-12
case_ plume plume 0-360
case_ plume-plain plume 0-360 --set solver.integrator=projection
# The full box: some 20 minutes of one thread each.
smoke=(--format npz --fields red,green,blue,temperature)
plain=(--set solver.advection=maccormack --set solver.integrator=projection)
case_ rings rings 0-36 "${smoke[@]}"
case_ rings-maccormack rings 0-36 "${smoke[@]}" "${plain[@]}"
for run in rings rings-maccormack; do
    for frame in 0 8 16 22 26 34; do
        if [[ "$wanted" == "  " || "$wanted" == *" $run "* ]]; then
            "$updraft" render --from "$out/$run" --frames $frame-$frame --out "$out/$run/smoke.####.png" --force --quiet
        fi
    done
done
# 12 cells on a diameter; the box is 40 diameters high, the cylinder 16 behind the inflow.
for re in 100 200; do
    case_ cylinder-re$re cylinder-re$re 1200-1200 --format npz --fields u,v
done
case_ sphere-re300 sphere-re300 1-1200

python3 "$here/plot.py" "$out"
