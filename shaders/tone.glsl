// Linear radiance to display-referred sRGB: AgX (Troy Sobotka) in Benjamin Wrensch's fit, 2023, with a little
// contrast and saturation after it. CPU twin: tone.rs, which says more.

// The curve and the contrast in one.
vec3 sigmoid(vec3 x) {
    vec3 y = vec3(CURVE[0]);
    for (int n = 1; n < 8; n++) y = y * x + CURVE[n];
    return y;
}

uniform int tone_map;        // 0 AgX, 1 ACES, 2 none

vec3 encoded(vec3 x) {
    x = clamp(x, 0.0, 1.0);
    return mix(12.92 * x, 1.055 * pow(x, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, x));
}

// The film curve of ACES (Stephen Hill's fit, 2016), to linear light of the screen.
vec3 film(vec3 x) {
    x = FILM * (x / FILM_SCALE); // middle grey is where the other curves have it
    return SCREEN * ((x * (x + FILM_OVER.x) + FILM_OVER.y) / (x * (FILM_UNDER.x * x + FILM_UNDER.y) + FILM_UNDER.z));
}

vec3 tone(vec3 radiance) {
    if (tone_map != 0) {
        vec3 x = clamp(radiance, 0.0, MOST_RADIANCE);
        return encoded(tone_map == 1 ? film(x) : x);
    }
    vec3 stops = clamp(log2(max(INSET * max(radiance, 0.0), 1e-10)), STOPS.x, STOPS.y);
    vec3 x = sigmoid((stops - STOPS.x) / (STOPS.y - STOPS.x));
    x = mix(vec3(dot(x, LUMINANCE)), x, SATURATION);
    return clamp(OUTSET * x, 0.0, 1.0);
}
