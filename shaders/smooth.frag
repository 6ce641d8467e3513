#version 330
// As composite.frag, where nothing hides the smoke within the box: interpolated between the four nearest rays.
uniform sampler2D marched;

in vec2 uv;
layout(location = 0) out vec4 radiance;

void main() {
    radiance = textureLod(marched, uv, 0.0);
}
