#!/usr/bin/env bash
# Makes scenes.png: each built-in scene early, in the middle and late. With ImageMagick.
# scenes.sh [UPDRAFT [ARGUMENT..]]: the program, and what to add to its commands
set -euo pipefail
updraft=${1:-updraft}
shift || true
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

row() {
    local scene=$1 frames=$2
    "$updraft" render "$scene" --frames "$frames" --size 320x180 --quiet --out "$work/$scene.####.png" "${@:3}"
    convert "$work/$scene".????.png +append -font "$here/../fonts/DejaVuSans-Bold.ttf" -gravity SouthWest -pointsize 13 -fill '#c8c8c8' -annotate +8+6 "$scene" "$work/row-$scene.png"
}

row plume 24-96:36 "$@"
row sphere 24-96:36 "$@"
row mesh 24-96:36 "$@"
row colors 24-96:36 "$@"
row text 12-84:36 "$@"
row fog 12-60:24 "$@"
row rings 10-82:36 "$@"
row shear 30-110:40 "$@"
row wind-tunnel 48-144:48 "$@"
row convection 60-180:60 "$@"
row cavity 48-144:48 "$@"
row taylor-green 24-84:30 "$@"

cd "$work"
convert \( row-plume.png row-sphere.png +append \) \( row-mesh.png row-colors.png +append \) \
    \( row-text.png row-fog.png +append \) \( row-rings.png row-shear.png +append \) \
    \( row-wind-tunnel.png row-convection.png +append \) \( row-cavity.png row-taylor-green.png +append \) \
    -append "$here/scenes.png"
