// The quadratic B-spline with the texels of a volume as its coefficients, at a share of the way through it, as eight trilinear
// reads (as Sigg and Hadwiger, GPU Gems 2, 2005, for the cubic one). CPU twins: trilinear.rs, cpu/spline_taps.rs.
vec4 spline(sampler3D volume, vec3 share) {
    vec3 size = vec3(textureSize(volume, 0)), at = share * size - 0.5, middle = floor(at + 0.5), t = at - middle;
    vec3 low = 0.5 * (0.5 - t) * (0.5 - t), high = 0.5 * (0.5 + t) * (0.5 + t), near = 1.0 - high;
    vec3 lo = (middle + 0.5 - low / near) / size, hi = (middle + 1.5) / size;
    vec4 sum = vec4(0.0);
    for (int n = 0; n < 8; n++) {
        bvec3 up = bvec3((n & 1) != 0, (n & 2) != 0, (n & 4) != 0);
        vec3 weight = mix(near, high, vec3(up));
        sum += weight.x * weight.y * weight.z * textureLod(volume, mix(lo, hi, vec3(up)), 0.0);
    }
    return sum;
}
