#version 330
// Puts the marched smoke over what is behind it: blended as source + destination × alpha.
// A march at a fraction of the size is interpolated between those of the four nearest rays that reach as far as
// this pixel's, so edges of what hides the smoke stay sharp.
uniform sampler2D marched;
uniform sampler2D reaches;
uniform vec2 marched_size;

in vec2 uv;
layout(location = 0) out vec4 radiance;

void main() {
    float reach = texture(reaches, uv).r;
    vec2 at = uv * marched_size - 0.5;
    vec2 base = floor(at), f = at - base;
    vec4 sum = vec4(0.0);
    float weights = 0.0;
    for (int n = 0; n < 4; n++) {
        vec2 corner = vec2(n & 1, n >> 1);
        vec2 pixel = clamp(base + corner, vec2(0.0), marched_size - 1.0);
        vec2 share = mix(1.0 - f, f, corner);
        float other = texture(reaches, (pixel + 0.5) / marched_size).r;
        float weight = share.x * share.y / (1e-3 + abs(other - reach) / min(other, reach)) + 1e-6;
        sum += weight * texelFetch(marched, ivec2(pixel), 0);
        weights += weight;
    }
    radiance = sum / weights;
}
