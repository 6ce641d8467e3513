#version 330
// What stands in, behind and beneath the smoke: solids and the floor, with the smoke's shadow on them. CPU twin: scene.rs.
// Writes linear radiance, the share of the background seen past it (a), and the distance along the ray at which the smoke ends.
#include "common.glsl"
#ifdef SPLINES
#include "spline.glsl"
#endif
#include "light.glsl"
#include "irradiance.glsl"
#ifdef SOLIDS
#include "solid.glsl"
#include "glossy.glsl"
#endif
#if defined(SOLIDS) || defined(LAMPS)
#include "lamp.glsl"
#endif

uniform sampler2D floor_light; // share of the sun that arrives, and what a white floor sends of all other light
uniform vec2 floor_lo;       // x and z of its first node, m
uniform vec2 floor_spacing;  // between its nodes, m

uniform vec3 floor_albedo;   // negative: no floor
uniform float sun_radius;    // angular radius of the sun, rad
#ifdef SOLIDS
uniform vec3 sun_scale;      // share of the depth that dims the sun on surfaces
uniform sampler3D diffuse_red;   // mean radiance and net flux of all light but the sun's own
uniform sampler3D diffuse_green;
uniform sampler3D diffuse_blue;
uniform sampler3D within_red;    // the same of what smoke sends of light from within the box
uniform sampler3D within_green;
uniform sampler3D within_blue;
uniform vec3 diffuse_size;   // of the cubes that hold it, m
uniform float diffuse_off;   // how far off a surface it is read, m
uniform sampler3D depths;    // optical depth of the smoke to the sun
#endif

in vec2 uv;
layout(location = 0) out vec4 radiance;
layout(location = 1) out float t_max;

// Share of the way across the picture of the floor's light.
vec2 on_floor(vec3 p) {
    return ((p.xz - floor_lo) / floor_spacing + 0.5) / vec2(textureSize(floor_light, 0));
}

// Mean cosine between a normal and the sun's directions above the horizon.
float sun_cosine(vec3 normal) {
    return mean_cosine_above(cone_of_sun(tan(sun_radius)), dot(normal, sun_direction));
}

// Share of the sun above the horizon of a surface that solids leave to it.
float sunny(vec3 p, vec3 normal) {
#ifdef SOLIDS
    vec4 none = vec4(0.0);
    return lamp_seen(Lamp(vec4(sun_direction, 0.0), vec4(vec3(0.0), tan(sun_radius)), none, none, none, sun), p, normal);
#else
    return 1.0;
#endif
}

vec3 floor_radiance(vec3 p) {
    vec4 arrives = textureLod(floor_light, on_floor(p), 0.0);
    vec3 upwards = vec3(0, 1, 0);
    float direct = sunny(p, upwards) * sun_cosine(upwards) * arrives.r / PI;
    vec3 lit = sun * direct + arrives.gba;
#ifdef LAMPS
    lit += lamps_on_floor(p, on_floor(p)) / PI;
#endif
    return floor_albedo * lit;
}

#ifdef SOLIDS
float depth_at(vec3 p) { return textureLod(depths, in_points(p), 0.0).r; }

// φ and J of one colour.
vec4 moments(sampler3D light, vec3 share) {
#ifdef SPLINES
    return spline(light, share);
#else
    return textureLod(light, share, 0.0);
#endif
}

// φ − J·along.
float around(vec4 s, vec3 along) { return s.x - dot(along, s.yzw); }

vec3 around(vec4 red, vec4 green, vec4 blue, vec3 along) {
    return vec3(around(red, along), around(green, along), around(blue, along));
}

// Irradiance / π of something small and bright: `of_small` of render/light.rs.
float of_small(vec4 s, vec3 normal) {
    float along = length(s.yzw), arrives = -dot(normal, s.yzw);
    if (along <= 0.5 * s.x) return s.x + 2.0 * arrives;
    float cosine = arrives / along, parallel = min(2.0 * along / max(s.x, 1e-20) - 1.0, 1.0);
    return s.x * mix(1.0 + cosine, 4.0 * max(cosine, 0.0), parallel);
}

// A solid's surface: the sun as far as neither solids nor smoke hide it, and all other light.
vec3 solid_radiance(vec3 p, vec3 d, vec3 normal, vec4 surface) {
    Facet facet = facet_of(normal, -d, surface.a);
    float cosine = sun_cosine(normal), hair = 1e-3 * light_spacing;
    vec3 sunlit = vec3(0.0);
    if (cosine > 0.0) sunlit = sunny(p + hair * normal, normal) * exp(-sun_scale * depth_at(clamp(p, vec3(0.0), extent)));
    vec3 share = (p + diffuse_off * normal) / diffuse_size;
    vec4 red = moments(diffuse_red, share), green = moments(diffuse_green, share), blue = moments(diffuse_blue, share);
    vec4 small_red = moments(within_red, share), small_green = moments(within_green, share), small_blue = moments(within_blue, share);
    vec3 lit = sun * (sunlit * cosine / PI) + around(red, green, blue, 2.0 * normal), coat = vec3(0.0);
    lit += vec3(of_small(small_red, normal), of_small(small_green, normal), of_small(small_blue, normal));
#ifdef LAMPS
    lit += lamps_on_solid(p + hair * normal, facet, in_points(clamp(p, vec3(0.0), extent)), coat) / PI;
#endif
    lit = max(lit, 0.0);
    if (facet.share <= 0.0) return surface.rgb * lit;
    float reflected = reflectance(facet), focus = 1.0 - facet.roughness * facet.roughness / 3.0;
    coat += sun * (sunlit * glossy(facet, sun_direction, sun_radius));
    vec3 from = 3.0 * focus * reflect(d, normal);
    coat += reflected * max(around(red, green, blue, from), 0.0);
    coat += reflected * max(around(small_red, small_green, small_blue, from), 0.0);
    return (1.0 - reflected) * surface.rgb * lit + coat;
}
#endif

void main() {
    vec3 d = ray_direction(uv);
    radiance = vec4(0.0, 0.0, 0.0, 1.0);
    float t = -eye.y / d.y;
    bool below = floor_albedo.r >= 0.0 && t > 0.0 && eye.y > 0.0;
    vec3 p = vec3(eye.x + d.x * t, 0.0, eye.z + d.z * t);
    // The floor ends softly: there is no horizon.
    vec2 out_of_middle = (p.xz - stage.xy) / stage.z;
    float shown = below ? 1.0 - smoothstep(FLOOR_ENDS.x, FLOOR_ENDS.y, length(out_of_middle)) : 0.0;
    t_max = below ? t : FAR;
    if (shown > 0.0) radiance = vec4(floor_radiance(p) * shown, 1.0 - shown);
#ifdef SOLIDS
    vec3 normal;
    vec4 surface;
    float solid = meet_solids(eye, d, normal, surface);
    if (solid > 0.0 && solid < t_max) {
        radiance = vec4(solid_radiance(eye + d * solid, d, normal, surface), 0.0);
        t_max = solid;
    }
#endif
}
