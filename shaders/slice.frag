#version 330
// A plane through the box in the colours of one quantity. CPU twin: slice.rs. Blended as alpha over the picture.
#include "common.glsl"
#include "colormap.glsl"

uniform sampler3D smoke;
uniform sampler3D velocity;
uniform sampler2D t_maxima;
uniform vec4 of_smoke;       // factors of what the quantity is made of
uniform vec4 of_flow;
uniform float of_speed;
uniform vec2 range;          // values at both ends of the colours
uniform int axis;
uniform float place;         // of the plane along the axis, m
uniform float clear;

in vec2 uv;
layout(location = 0) out vec4 radiance;

void main() {
    vec3 d = ray_direction(uv);
    float t = (place - eye[axis]) / d[axis];
    vec3 p = eye + d * t;
    p[axis] = place;
    if (t <= 0.0 || t > texture(t_maxima, uv).r || any(lessThan(p, vec3(0.0))) || any(greaterThan(p, extent))) discard;
    vec4 v = textureLod(velocity, p / extent, 0.0);
    float value = dot(textureLod(smoke, p / extent, 0.0), of_smoke) + dot(v, of_flow) + of_speed * length(v.xyz);
    // Half as much where there is nothing, so that the plane is not a black wall.
    float strength = abs(value) / max(max(abs(range.x), abs(range.y)), 1e-20);
    float cover = mix(SLICE_COVER.x, 1.0, smoothstep(0.0, SLICE_COVER.y, strength));
    radiance = vec4(colormap((value - range.x) / (range.y - range.x)), (1.0 - clear) * cover);
}
