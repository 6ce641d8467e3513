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

vec3 tone(vec3 radiance) {
    vec3 stops = clamp(log2(max(INSET * max(radiance, 0.0), 1e-10)), STOP_LO, STOP_HI);
    vec3 x = sigmoid((stops - STOP_LO) / (STOP_HI - STOP_LO));
    x = mix(vec3(dot(x, vec3(0.2126, 0.7152, 0.0722))), x, SATURATION);
    return clamp(OUTSET * x, 0.0, 1.0);
}
