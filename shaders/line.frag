#version 330
// A line with soft edges, hidden where the scene is nearer.
uniform sampler2D t_maxima;
uniform vec2 viewport;
uniform float width;
uniform vec2 edge;           // how far right and up reach at distance 1; 0: nothing hides the line

in float across;
in vec4 color;
in float depth;
layout(location = 0) out vec4 radiance;

void main() {
    if (edge.x > 0.0) {
        vec2 aside = (2.0 * gl_FragCoord.xy / viewport - 1.0) * edge;
        float away = sqrt(1.0 + dot(aside, aside)) * depth;
        if (LINE_AHEAD * away >= texelFetch(t_maxima, ivec2(gl_FragCoord.xy), 0).r) discard;
    }
    float cover = 1.0 - smoothstep((width - 1.0) / (width + 1.0), 1.0, abs(across));
    radiance = vec4(color.rgb, color.a * cover);
}
