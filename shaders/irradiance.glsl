// Irradiance of wide lights on surfaces whose horizon may hide a part of them. CPU twin: irradiance.rs.

// A cone of directions with the same radiance in each is 1 - cos(half angle): up to 1 it lies within a hemisphere.

// The cone of a sun, from the tangent of its angular radius.
float cone_of_sun(float slope) {
    float secant = sqrt(1.0 + slope * slope);
    return slope * slope / (secant * secant + secant);
}

// The cone that a ball fills at a distance. Within the ball it opens, to all directions in the middle.
float cone_of_ball(float away, float radius) {
    if (away <= radius) return 2.0 - away / max(radius, 1e-9);
    float square = radius * radius / (away * away);
    return square / (1.0 + sqrt(1.0 - square));
}

// A direction of a cone around an axis, by two numbers in 0..1; 0 gives the axis.
vec3 in_cone(float cone, vec3 axis, vec2 u) {
    float less = u.x * cone, around = u.y * 6.2831853;
    vec3 a = normalize(cross(axis, abs(axis.x) < 0.7 ? vec3(1, 0, 0) : vec3(0, 1, 0)));
    vec3 aside = a * cos(around) + cross(axis, a) * sin(around);
    return axis * (1.0 - less) + aside * sqrt(max(less * (2.0 - less), 0.0));
}

float mean_cosine(float cone) { return 1.0 - 0.5 * cone; }

// Irradiance over that of a whole hemisphere, of a cone up to 1.
float form_factor(float cone, float cosine) {
    float square = cone * (2.0 - cone);
    if (cosine * cosine >= square) return square * max(cosine, 0.0);
    float sine = sqrt(1.0 - cosine * cosine), inverse_slope = (1.0 - cone) / sqrt(square);
    float y = clamp(-inverse_slope * cosine / sine, -1.0, 1.0), root = sine * sqrt(1.0 - y * y);
    return ((cosine * acos(y) - inverse_slope * root) * square + atan(root, inverse_slope)) / PI;
}

// Mean over a cone of the cosine to a normal, with 0 below its horizon. `cosine` is that between normal and axis.
float mean_cosine_above(float cone, float cosine) {
    if (cone > 1.0) return (1.0 - form_factor(2.0 - cone, -cosine)) / (2.0 * cone);
    float square = cone * (2.0 - cone);
    if (cosine * cosine >= square) return max(cosine, 0.0) * mean_cosine(cone);
    if (cone < NARROW_CONE) {
        float t = cosine / sqrt(square), root = sqrt(1.0 - t * t);
        return sqrt(square) / PI * (t * (0.5 * PI + asin(t) + t * root) + 2.0 / 3.0 * root * root * root);
    }
    return max(form_factor(cone, cosine) / (2.0 * cone), 0.0);
}

float of_edge(vec3 a, vec3 b, vec3 normal) {
    vec3 across = cross(a, b);
    float size = length(across);
    return size > 0.0 ? dot(across, normal) / size * atan(size, dot(a, b)) : 0.0;
}

// Irradiance at the origin of a flat convex polygon with a radiance of 1, as far as it lies above the horizon of a normal.
float of_polygon(vec3 corners[4], vec3 normal) {
    float sum = 0.0;
    vec3 sets = vec3(0.0), rises = vec3(0.0);
    for (int n = 0; n < 4; n++) {
        vec3 a = corners[n], b = corners[(n + 1) & 3];
        float up = dot(a, normal), on = dot(b, normal);
        if (up <= 0.0 && on <= 0.0) continue;
        if (up <= 0.0 || on <= 0.0) {
            vec3 horizon = a + (b - a) * (up / (up - on));
            if (up <= 0.0) a = rises = horizon;
            else b = sets = horizon;
        }
        sum += of_edge(a, b, normal);
    }
    return 0.5 * abs(sum + of_edge(sets, rises, normal));
}
