// The cubic B-spline with the texels of a volume as its coefficients, at a share of the way through it, as eight trilinear reads
// (Sigg and Hadwiger, GPU Gems 2, 2005). CPU twins: trilinear.rs, cpu/packets.rs.
vec4 spline(sampler3D volume, vec3 share) {
    vec3 size = vec3(textureSize(volume, 0)), at = share * size - 0.5, base = floor(at), f = at - base;
    vec3 g = 1.0 - f;
    vec3 w0 = g * g * g / 6.0, w1 = 2.0 / 3.0 - 0.5 * f * f * (2.0 - f), w3 = f * f * f / 6.0, w2 = 1.0 - w0 - w1 - w3;
    vec3 near = w0 + w1, far = w2 + w3;
    vec3 lo = (base - 0.5 + w1 / near) / size, hi = (base + 1.5 + w3 / far) / size;
    vec4 sum = vec4(0.0);
    for (int n = 0; n < 8; n++) {
        bvec3 up = bvec3((n & 1) != 0, (n & 2) != 0, (n & 4) != 0);
        vec3 weight = mix(near, far, vec3(up));
        sum += weight.x * weight.y * weight.z * textureLod(volume, mix(lo, hi, vec3(up)), 0.0);
    }
    return sum;
}
