#version 330
// The 3D cursor: a clear ball with a bright rim, dimmed by the smoke between it and the eye, never wholly, and a thin
// ring on the floor. CPU twin: cursor.rs.
// Blended as alpha over the picture.
#include "common.glsl"

uniform sampler3D smoke;
uniform sampler2D t_maxima;
uniform float extinction;
uniform float dt;
uniform vec4 cursor;         // middle and radius
uniform vec3 cursor_color;   // linear
uniform vec3 floor_albedo;   // negative: no floor

in vec2 uv;
layout(location = 0) out vec4 radiance;

float transmittance(vec3 d, float end) {
    vec2 span = box_span(eye, d, vec3(0.0), extent);
    float a = max(span.x, 0.0), b = min(span.y, end);
    float step_length = max(2.0 * dt, (b - a) / 128.0), depth = 0.0;
    for (float t = a + 0.5 * step_length; t < b; t += step_length) {
        depth += step_length * dot(textureLod(smoke, (eye + d * t) / extent, 0.0).rgb, vec3(1.0));
    }
    return exp(-extinction * depth);
}

// Colour and alpha of the ball.
vec4 ball(vec3 d, float t_max) {
    vec3 to = cursor.xyz - eye;
    float along = dot(to, d), miss = length(to - along * d) / cursor.w;
    float half_chord = cursor.w * sqrt(max(1.0 - miss * miss, 0.0));
    float front = along - half_chord;
    // A pixel's width of softness at the rim.
    float soft = fwidth(miss);
    if (miss > 1.0 + soft || along <= 0.0 || front < 0.0 || front > t_max) return vec4(0.0);
    float inside = 1.0 - smoothstep(1.0 - soft, 1.0 + soft, miss);
    float rim = pow(min(miss, 1.0), BALL_POWERS.x);
    vec3 normal = normalize(-to + front * d);
    float sheen = pow(max(dot(normal, normalize(BALL_GLINT)), 0.0), BALL_POWERS.y);
    float alpha = dot(BALL_ALPHA, vec3(1.0, rim, sheen)) * inside;
    // Deep in smoke a trace of it stays: nobody should have to look for it.
    return vec4(mix(cursor_color, vec3(1.0), sheen), alpha * mix(BALL_LEAST, 1.0, transmittance(d, front)));
}

// A thin ring on the floor below it.
vec4 ring(vec3 d, float t_max) {
    float t = -eye.y / d.y;
    if (floor_albedo.r < 0.0 || eye.y <= 0.0 || t <= 0.0 || t > t_max * RING_BEHIND) return vec4(0.0);
    vec3 p = eye + d * t;
    float width = mix(RING_WIDTH * t, RING_PARALLEL * length(up), parallel), off = abs(length(p.xz - cursor.xz) - cursor.w);
    vec2 out_of_middle = (p.xz - stage.xy) / stage.z;
    float alpha = RING_ALPHA * (1.0 - smoothstep(width * 0.5, width, off)) * (1.0 - smoothstep(FLOOR_ENDS.x, FLOOR_ENDS.y, length(out_of_middle)));
    return alpha > 0.0 ? vec4(cursor_color, alpha * transmittance(d, t)) : vec4(0.0);
}

void main() {
    vec3 d = ray_direction(uv);
    float t_max = texture(t_maxima, uv).r;
    vec4 below = ring(d, t_max), over = ball(d, t_max);
    float alpha = over.a + (1.0 - over.a) * below.a;
    if (alpha <= 0.0) discard;
    radiance = vec4((over.rgb * over.a + below.rgb * (below.a - over.a * below.a)) / alpha, alpha);
}
