// Lights: the sun where solids hide it, and further ones. CPU twin: lamp.rs.

uniform int lamps;
// A row for each light: middle (or the direction to a sun) and kind (0 sun, 1 ball, 2 rectangle); axis and half of the extent (or
// the tangent of a sun's angular radius); cosines of a cone's edge and of its full light; half edges of a rectangle; colour.
uniform sampler2D lamp_table;
uniform sampler2D lamp_floor;   // share that smoke lets through to the floor, four lights to a texel, block over block
uniform sampler3D lamp_depths;  // optical depth of the smoke between light and point, in the same way along z
uniform sampler2D noise;

const vec3 GAUSS = vec3(0.11270167, 0.5, 0.88729835), GAUSS_WEIGHT = vec3(5.0, 8.0, 5.0) / 18.0;

struct Lamp { vec4 middle, axis, cosines, across, along; vec3 color; };
struct Arriving { vec3 direction; float away, share; };

Lamp lamp_row(int n) {
    vec4 t[6];
    for (int i = 0; i < 6; i++) t[i] = texelFetch(lamp_table, ivec2(i, n), 0);
    return Lamp(t[0], t[1], t[2], t[3], t[4], t[5].rgb);
}

// The light of a point of the lamp, as if all came from there.
Arriving drawn(Lamp lamp, vec3 p, vec2 u) {
    if (lamp.middle.w < 0.5) {
        float cone = cone_of_sun(lamp.axis.w);
        return Arriving(in_cone(cone, lamp.middle.xyz, u), FAR, 1.0 / mean_cosine(cone));
    }
    vec3 to = lamp.middle.xyz - p;
    if (lamp.middle.w < 1.5) {
        float away = length(to), radius = lamp.axis.w, cone = cone_of_ball(away, radius);
        vec3 towards = away > 1e-9 ? to / away : vec3(0, 1, 0), direction = in_cone(cone, towards, u);
        float spot = smoothstep(lamp.cosines.x, lamp.cosines.y, -dot(towards, lamp.axis.xyz));
        float along = dot(to, direction), aside = max(away * away - along * along, 0.0);
        float free = max(along - sqrt(max(radius * radius - aside, 0.0)), 0.0);
        float square = max(max(away * away, radius * radius), 1e-12);
        return Arriving(direction, free, spot / square / max(mean_cosine(cone), 0.5));
    }
    to += lamp.across.xyz * (2.0 * u.x - 1.0) + lamp.along.xyz * (2.0 * u.y - 1.0);
    float away = max(length(to), 1e-6);
    return Arriving(to / away, away, max(-dot(to / away, lamp.axis.xyz), 0.0) / (away * away));
}

bool is_area(Lamp lamp) { return lamp.middle.w > 1.5; }

// Irradiance on a surface with a normal, for a colour of 1, without what hides it.
float lamp_on(Lamp lamp, vec3 p, vec3 normal) {
    vec3 to = lamp.middle.xyz - p;
    if (is_area(lamp)) {
        vec3 a = lamp.across.xyz, b = lamp.along.xyz;
        float area = 4.0 * length(a) * length(b);
        if (area > POINT_AREA * dot(to, to)) {
            vec3 corners[4] = vec3[4](to - a - b, to + a - b, to + a + b, to - a + b);
            return dot(to, lamp.axis.xyz) < 0.0 ? of_polygon(corners, normal) / area : 0.0;
        }
    }
    Arriving all = drawn(lamp, p, is_area(lamp) ? vec2(0.5) : vec2(0.0));
    float cone = lamp.middle.w < 0.5 ? cone_of_sun(lamp.axis.w) : is_area(lamp) ? 0.0 : cone_of_ball(length(to), lamp.axis.w);
    return all.share * mean_cosine_above(cone, dot(all.direction, normal));
}

#ifdef SOLIDS
// Whether solids may stand between a point and a light.
bool solids_near(Lamp lamp, vec3 p) {
    Arriving middle = drawn(lamp, p, is_area(lamp) ? vec2(0.5) : vec2(0.0));
    float extent = is_area(lamp) ? length(vec2(length(lamp.across), length(lamp.along))) : lamp.axis.w;
    for (int n = 0; n < solids; n++) {
        vec3 to = texelFetch(solid_table, ivec2(0, n), 0).xyz - p;
        float ball = texelFetch(solid_table, ivec2(1, n), 0).w;
        float aside = length(to - middle.direction * clamp(dot(to, middle.direction), 0.0, middle.away));
        if (aside < ball + extent * (lamp.middle.w < 0.5 ? length(to) : 1.0)) return true;
    }
    return false;
}
#endif

// Share of the light above the horizon of a surface that solids leave to it.
float lamp_seen(Lamp lamp, vec3 p, vec3 normal) {
#ifdef SOLIDS
    if (!solids_near(lamp, p)) return 1.0;
    bool wide = is_area(lamp) || lamp.axis.w > (lamp.middle.w < 0.5 ? POINT_SUN : POINT_BALL);
    int count = wide ? SHADOWS : 1;
    float turn = texelFetch(noise, ivec2(gl_FragCoord.xy) & 63, 0).r, open = 0.0, all = 0.0;
    for (int n = 0; n < count; n++) {
        vec2 u = wide ? vec2((float(n) + 0.5) / float(count), fract(float(n) * 0.618034 + turn)) : vec2(0.0);
        Arriving a = drawn(lamp, p, u);
        // Points below the horizon do not count in the irradiance without solids.
        float weight = wide ? a.share * max(dot(a.direction, normal), 0.0) : 1.0;
        vec3 met;
        vec4 surface;
        float t = weight > 0.0 ? meet_solids(p, a.direction, met, surface) : 0.0;
        open += t > 0.0 && t < a.away ? 0.0 : weight;
        all += weight;
    }
    return all > 0.0 ? open / all : 0.0;
#else
    return 1.0;
#endif
}

// Block n of several, one over the other: the coordinate of a place in it along the stacked axis, for a texture of so many
// texels in all.
float stacked(float share, int block, int blocks, float texels) {
    float size = texels / float(blocks);
    return (float(block) * size + clamp(share * size, 0.5, size - 0.5)) / texels;
}

// Irradiance of all further lights on the floor, at a share of the way across its picture.
vec3 lamps_on_floor(vec3 p, vec2 share) {
    vec3 sum = vec3(0.0);
    int blocks = (lamps + 3) / 4;
    for (int n = 0; n < lamps; n++) {
        Lamp lamp = lamp_row(n);
        float direct = lamp_on(lamp, p, vec3(0, 1, 0));
        if (direct > 0.0) {
            float y = stacked(share.y, n / 4, blocks, float(textureSize(lamp_floor, 0).y));
            float passes = textureLod(lamp_floor, vec2(share.x, y), 0.0)[n % 4];
            sum += lamp.color * (direct * passes * lamp_seen(lamp, p, vec3(0, 1, 0)));
        }
    }
    return sum;
}

#ifdef SOLIDS
// Radiance that the coat of a surface sends to the eye, for a colour of 1, without what hides the light.
float lamp_glossy(Lamp lamp, vec3 p, Facet facet) {
    if (!is_area(lamp)) {
        Arriving a = drawn(lamp, p, vec2(0.0));
        bool far = lamp.middle.w < 0.5;
        return a.share * glossy(facet, a.direction, far ? atan(lamp.axis.w) : lamp.axis.w / max(a.away + lamp.axis.w, 1e-6));
    }
    float near = 0.25 * length(lamp.across.xyz) * length(lamp.along.xyz), sum = 0.0;
    float size = 0.3 * max(length(lamp.across.xyz), length(lamp.along.xyz));
    for (int n = 0; n < 9; n++) {
        Arriving a = drawn(lamp, p, vec2(GAUSS[n % 3], GAUSS[n / 3]));
        float square = a.away * a.away, weight = GAUSS_WEIGHT[n % 3] * GAUSS_WEIGHT[n / 3];
        sum += weight * a.share * square / max(max(square, near), 1e-12) * glossy(facet, a.direction, size / a.away);
    }
    return sum;
}

// The irradiance on a solid, at a share of the way through the points of the light volume, and what its coat sends to the eye.
vec3 lamps_on_solid(vec3 p, Facet facet, vec3 share, out vec3 coat) {
    vec3 sum = vec3(0.0);
    coat = vec3(0.0);
    int blocks = (lamps + 3) / 4;
    for (int n = 0; n < lamps; n++) {
        Lamp lamp = lamp_row(n);
        float direct = lamp_on(lamp, p, facet.normal);
        if (direct > 0.0) {
            float z = stacked(share.z, n / 4, blocks, float(textureSize(lamp_depths, 0).z));
            float depth = textureLod(lamp_depths, vec3(share.xy, z), 0.0)[n % 4];
            vec3 arrives = lamp.color * (exp(-depth) * lamp_seen(lamp, p, facet.normal));
            sum += arrives * direct;
            coat += arrives * lamp_glossy(lamp, p, facet);
        }
    }
    return sum;
}
#endif
