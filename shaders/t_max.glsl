// How far the rays of a march are free that has fewer of them than the picture has pixels.

uniform sampler2D t_maxima;  // how far each pixel's ray is free
uniform vec2 marched_size;  // of the march

// That of the ray through the middle of a texel of the march. Every pass must ask here: the middle may lie between two pixels,
// and at an edge it matters which of them is meant.
float t_max_of(vec2 texel) {
    vec2 size = vec2(textureSize(t_maxima, 0));
    return texelFetch(t_maxima, ivec2(min((texel + 0.5) * size / marched_size, size - 1.0)), 0).r;
}
