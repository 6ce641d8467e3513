#version 330
// Front to back through the smoke. Reads its volumes and the distance it is seen to; writes what it sends to the eye
// (linear radiance) and what it lets through (a).
//
// Steps lie on a lattice: step n covers t0 + n stride on, clipped to the box. Extinction is integrated as if the middle
// were everywhere in it: exact for a uniform medium. Skipping an empty brick moves by whole steps and so changes nothing.
// The light is worked out at each step, at the mean position weighted by transmittance; with HALVES, a step is two readings of the smoke that
// share the light. CPU twins: cpu/reference.rs for one ray, cpu/march.rs for packets through smoke shaded at its cells.
#include "common.glsl"
#include "t_max.glsl"
#ifdef SPLINES
#include "spline.glsl"
#endif
#include "light.glsl"
#include "medium.glsl"

uniform sampler3D smoke;     // at cell centres: red, green, blue, emission
uniform sampler3D bricks;    // maxima over bricks and the cells around
uniform sampler2D noise;     // one tile of blue noise
uniform float noise_shift;
uniform vec3 brick_size;     // metres
uniform float brick_floor;   // a brick of less density is empty; negative: none is
uniform vec3 bounds_lo;      // around all that is not empty
uniform vec3 bounds_hi;
uniform float dt;            // between readings of the smoke, metres
uniform float march_extinction; // 1/m for each unit of density along the ray

in vec2 uv;
layout(location = 0) out vec4 radiance;

// Smoke between the cell centres, at a share of the way through the box.
#ifdef SPLINES
vec4 smoke_at(vec3 share) { return spline(smoke, share); }
#else
vec4 smoke_at(vec3 share) { return textureLod(smoke, share, 0.0); }
#endif

float total(vec4 s) { return s.r + s.g + s.b; }

#ifdef HALVES
#define PARTS 2.0
#else
#define PARTS 1.0
#endif

// What a ray has gathered so far.
vec3 sum = vec3(0.0);
float through = 1.0;

vec3 way;                    // the ray's direction
float phase;                 // and the phase function for it

// Shares of the three colours, and emission for each unit of density.
vec4 mixture(vec4 s) { return s / max(total(s), 1e-8); }

vec4 smoke_shown(vec3 p) { return max(smoke_at(p / extent), 0.0) * shown(p); }

// Offset towards the eye, from the middle of a step, of the mean position weighted by transmittance: 1/2 - 1/depth + 1/(e^depth - 1)
// of the length, within 0.01 up to a depth of 3 and constant from there.
float nearer(float depth, float len) {
    depth = min(depth, 3.0);
    return depth * (1.0 / 12.0 - 0.0025 * depth) * len;
}

void take(float t, float len) {
    vec3 p = eye + way * t;
#ifdef HALVES
    vec3 aside = way * (0.25 * len);
    vec4 s = smoke_shown(p - aside), s2 = smoke_shown(p + aside);
    vec2 depths = march_extinction * 0.5 * len * vec2(total(s), total(s2));
    vec2 passes_by = exp(-depths);
    float passes = passes_by.x * passes_by.y, depth = depths.x + depths.y;
    s = mix(mixture(s2), mixture(s), (1.0 - passes_by.x) / max(1.0 - passes, 1e-20));
#else
    vec4 s = smoke_shown(p);
    float depth = march_extinction * total(s) * len;
    float passes = exp(-depth);
    s = mixture(s);
#endif
    vec3 seen_at = p - way * nearer(depth, len);
    // A loop, because it is left out where no lane wants it, which an if is not.
    for (bool seen = passes < 1.0; seen; seen = false) {
        vec3 sent = scattered(colors * s.rgb, light_at(seen_at), phase);
#ifdef GLOW
        sent += glowing(s.a);
#endif
        sum += through * (1.0 - passes) * sent;
        through *= passes;
    }
}

void main() {
    float stride = PARTS * dt, per_stride = 1.0 / stride;
    vec3 d = ray_direction(uv);
    vec2 span = box_span(eye, d, vec3(0.0), extent);
    span.x = max(span.x, 0.0);
    span.y = min(span.y, t_max_of(floor(gl_FragCoord.xy)));
    vec2 tight = box_span(eye, d, bounds_lo, bounds_hi);
    float offset = fract(texelFetch(noise, ivec2(gl_FragCoord.xy) & NOISE_MASK, 0).r + noise_shift);
    float t0 = span.x - (1.0 - offset) * stride;
    float n = max(floor((tight.x - t0) * per_stride), 0.0);
    float last = ceil((min(span.y, tight.y) - t0) * per_stride);
    way = d;
    phase = phase_of(dot(d, sun_direction));
    // Bricks along the ray, and where it leaves the brick 0.
    vec3 eye_brick = eye / brick_size, way_brick = d / brick_size, brick_way = brick_size / d;
    vec3 leave_first = (step(vec3(0.0), d) - eye_brick) * brick_way;
    while (n < last && through > LEAST) {
        // Two loops, so that no lane reads the volumes while all of them skip.
        float until;
        bool empty;
        do {
            float a = max(t0 + n * stride, span.x), b = min(t0 + (n + 1.0) * stride, span.y);
            vec3 brick = floor(eye_brick + way_brick * (0.5 * (a + b)));
            vec3 leave = leave_first + brick * brick_way;
            until = max(n + 1.0, floor((min(min(leave.x, leave.y), leave.z) - t0) * per_stride));
            empty = total(texelFetch(bricks, ivec3(brick), 0)) <= brick_floor;
            n = empty ? until : n;
        } while (empty && n < last);
        until = min(until, last);
        while (n < until && through > LEAST) {
            float a = max(t0 + n * stride, span.x), b = min(t0 + (n + 1.0) * stride, span.y);
            take(0.5 * (a + b), max(b - a, 0.0));
            n += 1.0;
        }
    }
    radiance = vec4(sum, through);
}
