#version 330
// The magnitude of a flow field as a glowing volume: emission and absorption from a colour map.
// Reads the velocity volume and the distance the volume is seen to; writes like march.frag.
#include "common.glsl"
#include "colormap.glsl"
#include "t_max.glsl"

uniform sampler3D velocity;  // u, v, w, |ω| at cell centres
uniform sampler2D noise;
uniform float noise_shift;
uniform float dt;            // step in metres
uniform float vorticity;     // 1: show |ω|, 0: show |u|
uniform float top;           // the value at the upper end of the colour map
uniform float thickness;     // extinction at that value, 1/m

in vec2 uv;
layout(location = 0) out vec4 radiance;

void main() {
    vec3 d = ray_direction(uv);
    vec2 span = box_span(eye, d, vec3(0.0), extent);
    span.x = max(span.x, 0.0);
    span.y = min(span.y, t_max_of(floor(gl_FragCoord.xy)));
    float offset = fract(texelFetch(noise, ivec2(gl_FragCoord.xy) & NOISE_MASK, 0).r + noise_shift);
    float t0 = span.x - (1.0 - offset) * dt, n = 0.0, through = 1.0;
    vec3 sum = vec3(0.0);
    while (t0 + n * dt < span.y && through > LEAST) {
        float a = max(t0 + n * dt, span.x), b = min(t0 + (n + 1.0) * dt, span.y);
        vec4 v = texture(velocity, (eye + d * (0.5 * (a + b))) / extent);
        float x = mix(length(v.xyz), v.w, vorticity) / top;
        float passes = exp(-thickness * x * x * max(b - a, 0.0));
        sum += through * (1.0 - passes) * colormap(x);
        through *= passes;
        n += 1.0;
    }
    radiance = vec4(sum, through);
}
