// What a bit of medium sends to the eye for each unit of its extinction. CPU twin: medium.rs.

uniform float extinction;    // 1/m for each unit of density
uniform float fade;          // width over which smoke thins out towards the sides, m
uniform mat3 colors;         // columns: albedo of red, green, blue
uniform vec3 lobes;          // mean cosines of the two lobes, share of the second
uniform float glow;          // luminance of opaque smoke at 2000 K
uniform vec3 octave;         // weight of each octave of scattering; the first is 1

// Each octave sees half the optical depth of the one before, so their transmittances are squares of each other.
// What is left of the smoke near the sides of the box.
float shown(vec3 p) {
    vec3 inside = extent - p;
    inside.xz = min(inside.xz, p.xz);
    vec3 s = smoothstep(0.0, max(fade, 1e-6), inside);
    return s.x * s.y * s.z;
}

vec3 henyey_greenstein(vec3 g, float cosine) {
    vec3 d = 1.0 + g * g - 2.0 * g * cosine;
    return (1.0 - g * g) / (4.0 * 3.14159265 * d * sqrt(d));
}

// Phase function of each octave, for one angle to the sun.
vec3 phase_of(float cosine) {
    const vec3 SCALE = vec3(1.0, 0.5, 0.25);
    return mix(henyey_greenstein(lobes.x * SCALE, cosine), henyey_greenstein(lobes.y * SCALE, cosine), lobes.z);
}

// Radiance of opaque smoke from its emission, the green radiance as a share of that at 2000 K: Wien's law, luminance 1
// at 2000 K.
vec3 glowing(float emission) {
    const vec3 WIEN = vec3(23587.0, 26160.0, 30942.0), AT_2000_K = vec3(1.815, 0.840, 0.178);
    return glow * AT_2000_K * pow(vec3(emission), WIEN / WIEN.g);
}

vec3 arriving(vec3 octave, float phase) {
    return sun * (phase * octave.x) + 0.5 * (sky * octave.y + ground * octave.z);
}

vec3 scattered(vec3 albedo, vec3 depth, vec3 phase) {
    vec3 third = exp(-0.25 * depth), second = third * third, first = second * second;
    float enclosed = 1.0 - second.y * second.z;
    vec3 again = octave.y * albedo * arriving(second, phase.y)
        + octave.z * albedo * albedo / (1.0 - 0.85 * albedo) * arriving(third, phase.z);
    return albedo * (octave.x * arriving(first, phase.x) + enclosed * again);
}
