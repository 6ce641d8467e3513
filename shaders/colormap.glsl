// Inferno (Smith and van der Walt, matplotlib): dark to bright evenly in lightness. Polynomial in display space by
// Matt Zucker (public domain), squared to linear. CPU twin: colormap.rs.
vec3 colormap(float x) {
    x = clamp(x, 0.0, 1.0);
    vec3 display = COLORMAP[6];
    for (int n = 5; n >= 0; n--) display = display * x + COLORMAP[n];
    return pow(max(display, 0.0), vec3(COLORMAP_GAMMA));
}
