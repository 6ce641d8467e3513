#version 330
// Puts the marched smoke over what is behind it: blended as source + destination × alpha.
// A march at a fraction of the size is interpolated between those of the nearest rays that reach as far as this
// pixel's, so edges of what hides the smoke stay sharp.
#include "t_max.glsl"

uniform sampler2D marched;

in vec2 uv;
layout(location = 0) out vec4 radiance;

// A ray's texel and its weight: less the further away it is, and the more its length differs.
vec4 weighed(vec2 pixel, float share, float t_max, inout float weights) {
    pixel = clamp(pixel, vec2(0.0), marched_size - 1.0);
    float other = t_max_of(pixel);
    float weight = share / (1e-3 + abs(other - t_max) / min(other, t_max)) + 1e-6;
    weights += weight;
    return weight * texelFetch(marched, ivec2(pixel), 0);
}

void main() {
    float t_max = texture(t_maxima, uv).r;
    vec2 at = uv * marched_size - 0.5;
    vec2 base = floor(at), f = at - base;
    vec4 sum = vec4(0.0);
    float weights = 0.0;
    for (int n = 0; n < 4; n++) {
        vec2 corner = vec2(n & 1, n >> 1);
        vec2 share = mix(1.0 - f, f, corner);
        sum += weighed(base + corner, share.x * share.y, t_max, weights);
    }
    // Just beside an edge none of the four may: look one further. A loop, because that is left out where no lane
    // wants it, which an if is not.
    for (bool lost = weights < FEW_WEIGHTS; lost; lost = false) {
        for (int n = 0; n < 16; n++) {
            vec2 corner = vec2(n & 3, n >> 2) - 1.0;
            vec2 share = max(2.0 - abs(corner - f), 0.0);
            sum += weighed(base + corner, share.x * share.y, t_max, weights);
        }
    }
    radiance = sum / weights;
}
