#version 330
// Puts the background behind, then linear radiance to the bytes of the picture, dithered by less than one of them.
#include "tone.glsl"

uniform sampler2D scene;     // linear radiance; a: the share of the background that is seen
uniform vec3 background_top;
uniform vec3 background_bottom;
uniform sampler2D noise;
uniform float exposure;      // factor
uniform vec2 corner;         // of the viewport, pixels

in vec2 uv;
layout(location = 0) out vec4 color;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy - corner);
    vec4 s = texelFetch(scene, pixel, 0);
    vec3 x = tone((s.rgb + s.a * mix(background_bottom, background_top, uv.y)) * exposure);
    // The target rounds to the nearest byte: half a byte either way.
    float dither = texelFetch(noise, pixel & NOISE_MASK, 0).r - 0.5;
    color = vec4(x + dither / 255.0, 1.0);
}
