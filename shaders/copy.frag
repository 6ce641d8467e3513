#version 330
// A finished picture, texel by texel.
uniform sampler2D picture;
uniform vec2 corner;         // of the viewport, pixels

layout(location = 0) out vec4 color;

void main() {
    color = texelFetch(picture, ivec2(gl_FragCoord.xy - corner), 0);
}
