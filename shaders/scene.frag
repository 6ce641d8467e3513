#version 330
// What stands in, behind and beneath the smoke: solids and the floor, with the smoke's shadow on them. CPU twin: scene.rs.
// Writes linear radiance, the share of the background seen past it (a), and the distance along the ray at which the smoke ends.
#include "common.glsl"
#include "light.glsl"
#ifdef SOLIDS
#include "solid.glsl"
#endif

uniform sampler2D floor_light; // shares of the sun and of the sky that arrive
uniform vec2 floor_lo;       // x and z of its first node, m
uniform vec2 floor_spacing;  // between its nodes, m

uniform vec3 floor_albedo;   // negative: no floor

in vec2 uv;
layout(location = 0) out vec4 radiance;
layout(location = 1) out float reach;

const float FAR = 1e6;

// What arrives of the sun and of the sky at a point of the floor.
vec2 light_on_floor(vec3 p) {
    return textureLod(floor_light, ((p.xz - floor_lo) / floor_spacing + 0.5) / vec2(textureSize(floor_light, 0)), 0.0).rg;
}

vec3 floor_radiance(vec3 p) {
    vec2 arrives = light_on_floor(p);
    vec3 ambient = mix(ground, sky, 5.0 / 6.0);
    return floor_albedo * (sun * (max(sun_direction.y, 0.0) * arrives.x / 3.14159265) + ambient * arrives.y);
}

// A solid's surface, lit as if from just outside: the light volume is dark within.
vec3 solid_radiance(vec3 p, vec3 normal, vec3 albedo) {
    vec3 clear = exp(-depths(p + normal * 1.5 * extent / (light_nodes - 1.0)));
    vec3 direct = sun * (max(dot(normal, sun_direction), 0.0) * clear.x / 3.14159265);
    float up = 0.5 + normal.y / 3.0;
    return albedo * (direct + sky * (up * clear.y) + ground * ((1.0 - up) * clear.z));
}

void main() {
    vec3 d = ray_direction(uv);
    radiance = vec4(0.0, 0.0, 0.0, 1.0);
    float t = -eye.y / d.y;
    bool below = floor_albedo.r >= 0.0 && t > 0.0 && eye.y > 0.0;
    vec3 p = vec3(eye.x + d.x * t, 0.0, eye.z + d.z * t);
    // The floor ends softly: there is no horizon.
    vec2 out_of_middle = (p.xz - 0.5 * extent.xz) / max(extent.x, extent.z);
    float shown = below ? 1.0 - smoothstep(0.8, 3.0, length(out_of_middle)) : 0.0;
    reach = below ? t : FAR;
    if (shown > 0.0) radiance = vec4(floor_radiance(p) * shown, 1.0 - shown);
#ifdef SOLIDS
    vec3 normal, albedo;
    float solid = meet_solids(eye, d, normal, albedo);
    if (solid > 0.0 && solid < reach) {
        radiance = vec4(solid_radiance(eye + d * solid, normal, albedo), 0.0);
        reach = solid;
    }
#endif
}
