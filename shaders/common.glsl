// Shared by all passes: the camera's rays and the medium.
// World space, metres. Linear light.

uniform vec3 eye;
uniform vec3 forward;        // unit; right and up reach to the picture's edges at distance 1
uniform vec3 right;
uniform vec3 up;
uniform vec3 extent;         // the box spans from the origin to here

vec3 ray_direction(vec2 uv) {
    vec3 d = normalize(forward + right * (2.0 * uv.x - 1.0) + up * (2.0 * uv.y - 1.0));
    // No component may be so small that dividing by it gives infinities to multiply with zero.
    return mix(d, vec3(1e-7), lessThan(abs(d), vec3(1e-7)));
}

// Distances at which the ray enters and leaves the box from lo to hi; entered after left if it misses.
vec2 box_span(vec3 origin, vec3 d, vec3 lo, vec3 hi) {
    vec3 a = (lo - origin) / d, b = (hi - origin) / d;
    vec3 near = min(a, b), far = max(a, b);
    return vec2(max(max(near.x, near.y), near.z), min(min(far.x, far.y), far.z));
}
