// What a bit of medium sends to the eye for each unit of its extinction. CPU twin: medium.rs.

uniform float extinction;    // 1/m for each unit of density
uniform mat3 colors;         // columns: albedo of red, green, blue
uniform float anisotropy;    // mean cosine g
uniform vec3 octave;         // weight of each octave of scattering; the first is 1

// Each octave sees half the optical depth of the one before, so their transmittances are squares of each other.
// Phase function of each octave, for one angle to the sun.
vec3 phase_of(float cosine) {
    vec3 g = anisotropy * vec3(1.0, 0.5, 0.25);
    vec3 d = 1.0 + g * g - 2.0 * g * cosine;
    return (1.0 - g * g) / (4.0 * 3.14159265 * d * sqrt(d));
}

vec3 arriving(vec3 octave, float phase) {
    return sun * (phase * octave.x) + 0.5 * (sky * octave.y + ground * octave.z);
}

vec3 scattered(vec3 albedo, vec3 depth, vec3 phase) {
    vec3 third = exp(-0.25 * depth), second = third * third, first = second * second;
    float enclosed = 1.0 - second.y * second.z;
    vec3 again = octave.y * albedo * arriving(second, phase.y)
        + octave.z * albedo * albedo / (1.0 - 0.8 * albedo) * arriving(third, phase.z);
    return albedo * (octave.x * arriving(first, phase.x) + enclosed * again);
}
