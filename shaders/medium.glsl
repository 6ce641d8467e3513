// What a bit of medium sends to the eye for each unit of its extinction. CPU twin: medium.rs.

uniform float extinction;    // 1/m for each unit of density
uniform float fade;          // width over which smoke thins out towards the sides, m
uniform mat3 colors;         // columns: albedo of red, green, blue
uniform vec3 lobes;          // mean cosines of the two lobes, share of the second
uniform float glow;          // luminance of opaque smoke at 2000 K

// What is left of the smoke near the sides of the box.
float shown(vec3 p) {
    vec3 inside = extent - p;
    inside.xz = min(inside.xz, p.xz);
    vec3 s = smoothstep(0.0, max(fade, 1e-6), inside);
    return s.x * s.y * s.z;
}

float henyey_greenstein(float g, float cosine) {
    float d = 1.0 + g * g - 2.0 * g * cosine;
    return (1.0 - g * g) / (4.0 * PI * d * sqrt(d));
}

// The phase function for one angle to the sun.
float phase_of(float cosine) {
    return mix(henyey_greenstein(lobes.x, cosine), henyey_greenstein(lobes.y, cosine), lobes.z);
}

// Radiance of opaque smoke from its emission, the green radiance as a share of that at 2000 K: Wien's law, luminance 1
// at 2000 K.
vec3 glowing(float emission) {
    return glow * AT_2000_K * pow(vec3(emission), WIEN / WIEN.g);
}

vec3 scattered(vec3 albedo, vec4 sent, float phase) {
    return albedo * (sun * (phase * exp(-sent.a)) + sent.rgb);
}
