// The glossy coat of solids. CPU twin: glossy.rs.

struct Facet { vec3 normal, to_eye; float roughness, share; };

Facet facet_of(vec3 normal, vec3 to_eye, float roughness) {
    float r = clamp(roughness, COAT_LEAST, 1.0);
    return Facet(normal, to_eye, r, min((1.0 - r) / (1.0 - COAT_FADES), 1.0));
}

// Share of even light that the coat sends to the eye.
float reflectance(Facet f) {
    float r = f.roughness, x = 1.0 - r;
    float a = min(x * x, exp2(-9.28 * max(dot(f.normal, f.to_eye), 0.0))) * x + 0.0425 - 0.0275 * r;
    return f.share * (COAT_NORMAL * (1.04 - 0.572 * r - 1.04 * a) + 0.022 * r - 0.04 + 1.04 * a);
}

float masking(float alpha, float cosine) {
    return 2.0 / (1.0 + sqrt(1.0 + alpha * alpha * max(1.0 - cosine * cosine, 0.0) / (cosine * cosine)));
}

// Radiance that light of an irradiance of 1 and an angular radius sends to the eye by the coat.
float glossy(Facet f, vec3 towards, float radius) {
    float light = dot(f.normal, towards), seen = dot(f.normal, f.to_eye);
    if (f.share <= 0.0 || light <= 0.0 || seen <= 0.0) return 0.0;
    float alpha = min(f.roughness * f.roughness + radius / 3.0, 1.0), square = alpha * alpha;
    vec3 middle = normalize(towards + f.to_eye);
    float facing = dot(f.normal, middle), d = facing * facing * (square - 1.0) + 1.0;
    float fresnel = COAT_NORMAL + (1.0 - COAT_NORMAL) * pow(1.0 - clamp(dot(middle, towards), 0.0, 1.0), 5.0);
    return f.share * fresnel * square / (PI * d * d) * masking(alpha, seen) * masking(alpha, light) / (4.0 * seen);
}
