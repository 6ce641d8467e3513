#version 330
// Linear radiance to the bytes of the picture, dithered by less than one of them.
#include "tone.glsl"

uniform sampler2D scene;
uniform sampler2D noise;
uniform float exposure;      // factor
uniform vec2 corner;         // of the viewport, pixels

layout(location = 0) out vec4 color;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy - corner);
    vec3 x = tone(texelFetch(scene, pixel, 0).rgb * exposure);
    // The target rounds to the nearest byte: half a byte either way.
    float dither = texelFetch(noise, pixel & 63, 0).r - 0.5;
    color = vec4(x + dither / 255.0, 1.0);
}
