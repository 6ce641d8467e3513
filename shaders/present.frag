#version 330
// Puts the background behind, then linear radiance to the bytes of the picture, dithered by less than one of them.
#include "tone.glsl"

uniform sampler2D scene;     // linear radiance; a: the share of the background that is seen
uniform vec3 background_top;
uniform vec3 background_bottom;
uniform sampler2D environment; // a picture of the whole sphere, rows from the top
uniform vec3 environment_turn; // sine and cosine of its turn, and the factor on it; 0: not seen
uniform vec3 forward;        // of the camera, as in common.glsl
uniform vec3 right;
uniform vec3 up;
uniform sampler2D noise;
uniform float exposure;      // factor
uniform vec2 corner;         // of the viewport, pixels

in vec2 uv;
layout(location = 0) out vec4 color;

vec3 background() {
    if (environment_turn.z <= 0.0) return mix(background_bottom, background_top, uv.y);
    vec3 d = normalize(forward + right * (2.0 * uv.x - 1.0) + up * (2.0 * uv.y - 1.0));
    vec2 turn = environment_turn.xy;
    d = vec3(turn.y * d.x - turn.x * d.z, d.y, turn.y * d.z + turn.x * d.x);
    vec2 size = vec2(textureSize(environment, 0));
    vec2 at = vec2(0.5 + atan(d.x, -d.z) / (2.0 * PI), acos(clamp(d.y, -1.0, 1.0)) / PI) * size - 0.5;
    ivec2 low = ivec2(floor(at)), count = ivec2(size);
    vec2 f = at - floor(at);
    vec3 rows[2];
    for (int j = 0; j < 2; j++) {
        int y = clamp(low.y + j, 0, count.y - 1), x = (low.x + count.x) % count.x, next = (low.x + count.x + 1) % count.x;
        rows[j] = mix(texelFetch(environment, ivec2(x, y), 0).rgb, texelFetch(environment, ivec2(next, y), 0).rgb, f.x);
    }
    return environment_turn.z * mix(rows[0], rows[1], f.y);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy - corner);
    vec4 s = texelFetch(scene, pixel, 0);
    vec3 x = tone((s.rgb + s.a * background()) * exposure);
    // The target rounds to the nearest byte: half a byte either way.
    float dither = texelFetch(noise, pixel & NOISE_MASK, 0).r - 0.5;
    color = vec4(x + dither / 255.0, 1.0);
}
