#version 330
// A line with soft edges, hidden where the scene is nearer.
uniform sampler2D reaches;
uniform vec2 viewport;
uniform float width;

in float across;
in vec4 color;
layout(location = 0) out vec4 radiance;

void main() {
    float edge = 1.0 - smoothstep((width - 1.0) / (width + 1.0), 1.0, abs(across));
    radiance = vec4(color.rgb, color.a * edge);
}
