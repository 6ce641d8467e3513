#version 330
// Front to back through the three densities. Reads the volumes and the distance the smoke is seen to;
// writes what the smoke sends to the eye (linear radiance) and what it lets through (a).
//
// Steps lie on a lattice: step n covers t0 + (n - 1 + offset) dt on, clipped to the box, and is integrated as
// if its middle were everywhere in it: exact for a uniform medium. Skipping an empty brick moves by whole
// steps and so changes nothing.
#include "common.glsl"
#include "light.glsl"
#include "medium.glsl"

uniform sampler3D smoke;     // red, green, blue, temperature at cell centres
uniform sampler3D bricks;    // maxima over bricks and the cells around
uniform sampler2D reaches;   // how far the ray is free
uniform sampler2D noise;     // one tile of blue noise
uniform float noise_shift;
uniform vec3 brick_size;     // metres
uniform float brick_floor;   // a brick of less density is empty; negative: none is
uniform vec3 bounds_lo;      // around all that is not empty
uniform vec3 bounds_hi;
uniform float dt;            // step in metres

in vec2 uv;
layout(location = 0) out vec4 radiance;

const float LEAST = 1.0 / 512.0; // less light than this is not followed

float total(vec4 s) { return s.r + s.g + s.b; }

void main() {
    vec3 d = ray_direction(uv);
    vec2 span = box_span(eye, d, vec3(0.0), extent);
    span.x = max(span.x, 0.0);
    span.y = min(span.y, texture(reaches, uv).r);
    vec2 tight = box_span(eye, d, bounds_lo, bounds_hi);
    float end = min(span.y, tight.y);
    float offset = fract(texelFetch(noise, ivec2(gl_FragCoord.xy) & 63, 0).r + noise_shift);
    float t0 = span.x - (1.0 - offset) * dt;
    float n = max(floor((tight.x - t0) / dt), 0.0);
    vec3 phase = phase_of(dot(d, sun_direction));
    vec3 sum = vec3(0.0);
    float through = 1.0;
    vec3 side = step(vec3(0.0), d);
    while (t0 + n * dt < end && through > LEAST) {
        // Two loops, so that no lane reads the volumes while all of them skip.
        float until;
        bool empty;
        do {
            float a = max(t0 + n * dt, span.x), b = min(t0 + (n + 1.0) * dt, span.y);
            vec3 brick = floor((eye + d * (0.5 * (a + b))) / brick_size);
            vec3 leave = ((brick + side) * brick_size - eye) / d;
            until = max(n + 1.0, floor((min(min(leave.x, leave.y), leave.z) - t0) / dt));
            empty = total(texelFetch(bricks, ivec3(brick), 0)) <= brick_floor;
            n = empty ? until : n;
        } while (empty && t0 + n * dt < end);
        while (n < until && t0 + n * dt < end && through > LEAST) {
            float a = max(t0 + n * dt, span.x), b = min(t0 + (n + 1.0) * dt, span.y);
            vec3 p = eye + d * (0.5 * (a + b));
            vec4 s = max(textureLod(smoke, p / extent, 0.0), 0.0);
            float density = total(s);
            float passes = exp(-extinction * density * (b - a));
            vec3 albedo = colors * s.rgb / max(density, 1e-8);
            sum += through * (1.0 - passes) * scattered(albedo, depths(p), phase);
            through *= passes;
            n += 1.0;
        }
    }
    radiance = vec4(sum, through);
}
