// What a bit of medium sends to the eye for each unit of its extinction. CPU twin: medium.rs.

uniform float extinction;    // 1/m for each unit of density
uniform mat3 colors;         // columns: albedo of red, green, blue
uniform vec2 anisotropy;     // g, and the octaves: how many
uniform vec3 octave;         // factors on weight, depth and g from one octave to the next

const int MOST = 4;
struct Phase { vec4 sun; };  // phase function of each octave, for one angle to the sun

float henyey_greenstein(float g, float cosine) {
    float d = 1.0 + g * g - 2.0 * g * cosine;
    return (1.0 - g * g) / (4.0 * 3.14159265 * d * sqrt(d));
}

Phase phase_of(float cosine) {
    vec4 p;
    float g = anisotropy.x;
    for (int n = 0; n < MOST; n++) {
        p[n] = henyey_greenstein(g, cosine);
        g *= octave.z;
    }
    return Phase(p);
}

vec3 scattered(vec3 albedo, vec3 depth, Phase phase) {
    vec3 sum = vec3(0.0), weight = albedo;
    float scale = 1.0;
    for (int n = 0; n < int(anisotropy.y); n++) {
        vec3 arrives = exp(-scale * depth);
        sum += weight * (sun * (phase.sun[n] * arrives.x) + 0.5 * (sky * arrives.y + ground * arrives.z));
        weight *= albedo * octave.x;
        scale *= octave.y;
    }
    return sum;
}
