#version 330
// What stands in, behind and beneath the smoke: solids and the floor, with the smoke's shadow on them. CPU twin: scene.rs.
// Writes linear radiance, the share of the background seen past it (a), and the distance along the ray at which the smoke ends.
#include "common.glsl"
#include "light.glsl"
#ifdef SOLIDS
#include "solid.glsl"
#endif

uniform vec3 floor_albedo;   // negative: no floor
uniform vec4 cursor;         // middle and radius; its ring on the floor shows where it is. Radius 0: none
uniform vec3 cursor_color;

in vec2 uv;
layout(location = 0) out vec4 radiance;
layout(location = 1) out float reach;

const float FAR = 1e6;

// What the smoke lets through from the sun and from the sky to a point of the floor. A point outside the box
// looks through it from where its ray to the sun enters; the sky is dimmed only near the box.
vec2 light_on_floor(vec3 p) {
    vec3 s = mix(sun_direction, vec3(1e-7), lessThan(abs(sun_direction), vec3(1e-7)));
    vec2 span = box_span(p, s, vec3(0.0), extent);
    vec3 nearest = clamp(p, vec3(0.0), extent);
    bool through = span.y > max(span.x, 0.0);
    vec3 clear = exp(-depths(through ? p + s * max(span.x, 0.0) : nearest));
    float away = length(p - nearest) / max(extent.x, extent.z);
    return vec2(through ? clear.x : 1.0, mix(1.0, clear.y, exp(-4.0 * away)));
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

// A thin ring below the cursor.
float cursor_ring(vec3 p, float t) {
    float width = 0.003 * t;
    float off = abs(length(p.xz - cursor.xz) - cursor.w);
    return cursor.w > 0.0 ? 1.0 - smoothstep(width * 0.5, width, off) : 0.0;
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
    // A loop, because it is left out where no lane wants it, which an if is not.
    for (bool lit = shown > 0.0; lit; lit = false) {
        vec3 color = mix(floor_radiance(p), cursor_color, 0.6 * cursor_ring(p, t));
        radiance = vec4(color * shown, 1.0 - shown);
    }
#ifdef SOLIDS
    vec3 normal, albedo;
    float solid = meet_solids(eye, d, normal, albedo);
    if (solid > 0.0 && solid < reach) {
        radiance = vec4(solid_radiance(eye + d * solid, normal, albedo), 0.0);
        reach = solid;
    }
#endif
}
