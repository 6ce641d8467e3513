// Linear radiance to display-referred sRGB: AgX (Troy Sobotka) in Benjamin Wrensch's fit, 2023, with a little
// contrast and saturation after it. CPU twin: tone.rs, which says more.

const float STOP_LO = -12.47393, STOP_HI = 4.026069;
const float SATURATION = 1.25;

const mat3 INSET = mat3(
    0.842479062253094, 0.0423282422610123, 0.0423756549057051,
    0.0784335999999992, 0.878468636469772, 0.0784336,
    0.0792237451477643, 0.0791661274605434, 0.879142973793104);
const mat3 OUTSET = mat3(
    1.19687900512017, -0.0528968517574562, -0.0529716355144438,
    -0.0980208811401368, 1.15190312990417, -0.0980434501171241,
    -0.0990297440797205, -0.0989611768448433, 1.15107367264116);

// The curve and the contrast in one.
vec3 sigmoid(vec3 x) {
    vec3 high = ((7.8042803 * x - 5.7787698) * x - 22.702112) * x + 30.65549;
    return (((high * x - 10.491944) * x + 1.5516805) * x - 0.040298995) * x + 3.8662586e-4;
}

uniform int tone_map;        // 0 AgX, 1 ACES, 2 none

vec3 encoded(vec3 x) {
    x = clamp(x, 0.0, 1.0);
    return mix(12.92 * x, 1.055 * pow(x, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, x));
}

// The film curve of ACES (Stephen Hill's fit, 2016), to linear light of the screen.
vec3 film(vec3 x) {
    const mat3 FILM = mat3(0.59719, 0.07600, 0.02840, 0.35458, 0.90834, 0.13383, 0.04823, 0.01566, 0.83777);
    const mat3 SCREEN = mat3(1.60475, -0.10208, -0.00327, -0.53108, 1.10813, -0.07276, -0.07367, -0.00605, 1.07602);
    x = FILM * (x / 0.6); // keeps middle grey where the other curves have it
    return SCREEN * ((x * (x + 0.0245786) - 0.000090537) / (x * (0.983729 * x + 0.432951) + 0.238081));
}

vec3 tone(vec3 radiance) {
    if (tone_map != 0) {
        vec3 x = clamp(radiance, 0.0, 1e6);
        return encoded(tone_map == 1 ? film(x) : x);
    }
    vec3 stops = clamp(log2(max(INSET * max(radiance, 0.0), 1e-10)), STOP_LO, STOP_HI);
    vec3 x = sigmoid((stops - STOP_LO) / (STOP_HI - STOP_LO));
    x = mix(vec3(dot(x, vec3(0.2126, 0.7152, 0.0722))), x, SATURATION);
    return clamp(OUTSET * x, 0.0, 1.0);
}
