// Shared by all passes: the camera's rays and the medium.
// World space, metres. Linear light.

uniform vec3 camera;         // the eye, or the origin of the middle one of parallel rays
uniform float parallel;      // 1: right and up move the origin of a ray; 0: they turn it
uniform vec3 forward;        // unit; right and up reach to the picture's edges, at distance 1 unless rays are parallel
uniform vec3 right;
uniform vec3 up;
uniform vec3 extent;         // the box spans from the origin to here
uniform vec3 stage;          // x and z of the middle of the box at the start, and its longer horizontal side

vec3 eye;                    // origin of the ray; ray_direction sets it

vec3 ray_direction(vec2 uv) {
    vec3 aside = right * (2.0 * uv.x - 1.0) + up * (2.0 * uv.y - 1.0);
    eye = camera + parallel * aside;
    vec3 d = normalize(forward + (1.0 - parallel) * aside);
    // No component may be so small that dividing by it gives infinities to multiply with zero.
    return mix(d, vec3(1e-7), lessThan(abs(d), vec3(1e-7)));
}

// Distances at which the ray enters and leaves the box from lo to hi; entered after left if it misses.
vec2 box_span(vec3 origin, vec3 d, vec3 lo, vec3 hi) {
    vec3 a = (lo - origin) / d, b = (hi - origin) / d;
    vec3 near = min(a, b), far = max(a, b);
    return vec2(max(max(near.x, near.y), near.z), min(min(far.x, far.y), far.z));
}
