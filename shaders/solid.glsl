// Solids in the smoke. CPU twin: solid.rs.

uniform int solids;
// A row for each solid: middle and kind (0 sphere, 1 box, 2 cylinder, 3 mesh); radius, half size or scale, and the radius of a
// ball around it; rotation, a unit quaternion; of a mesh the first node and the spacing; its nodes and its first layer; albedo and roughness.
uniform sampler2D solid_table;
uniform sampler3D distances; // of all meshes, one behind the other: normal and distance

vec3 turned(vec4 q, vec3 v) {
    vec3 t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

vec3 away_from_zero(vec3 d) { return mix(d, vec3(1e-7), lessThan(abs(d), vec3(1e-7))); }

// Distance, or less than 0 for a miss; the normal in the solid's own frame.
float meet_sphere(vec3 o, vec3 d, float radius, out vec3 normal) {
    float b = dot(o, d);
    vec3 off = o - d * b;
    float root = radius * radius - dot(off, off), t = -b - sqrt(max(root, 0.0));
    normal = (o + d * t) / radius;
    return root > 0.0 ? t : -1.0;
}

float meet_box(vec3 o, vec3 d, vec3 size, out vec3 normal) {
    vec3 inv = 1.0 / away_from_zero(d);
    vec3 near = -o * inv - abs(inv) * size, far = -o * inv + abs(inv) * size;
    float t = max(max(near.x, near.y), near.z);
    normal = -sign(d) * (t == near.x ? vec3(1, 0, 0) : t == near.y ? vec3(0, 1, 0) : vec3(0, 0, 1));
    return t < min(min(far.x, far.y), far.z) ? t : -1.0;
}

float meet_cylinder(vec3 o, vec3 d, float radius, float half_height, out vec3 normal) {
    float inv = 1.0 / away_from_zero(d).y;
    vec2 caps = -o.y * inv + abs(inv) * half_height * vec2(-1.0, 1.0);
    float a = max(dot(d.xz, d.xz), 1e-12), b = dot(o.xz, d.xz) / a;
    vec2 off = o.xz - d.xz * b;
    float root = (radius * radius - dot(off, off)) / a;
    vec2 side = -b + sqrt(max(root, 0.0)) * vec2(-1.0, 1.0);
    float t = max(side.x, caps.x);
    vec3 p = o + d * t;
    normal = side.x > caps.x ? vec3(p.x, 0.0, p.z) / radius : vec3(0.0, -sign(d.y), 0.0);
    return root > 0.0 && t < min(side.y, caps.y) ? t : -1.0;
}

// Normal and distance of a mesh at a point in its own frame.
vec4 field_at(vec3 p, vec4 low, vec4 nodes) {
    vec3 at = clamp((p - low.xyz) / low.w, vec3(0.0), nodes.xyz - 1.0);
    return textureLod(distances, (at + vec3(0.5, 0.5, 0.5 + nodes.w)) / vec3(textureSize(distances, 0)), 0.0);
}

// Sphere tracing in the mesh's own frame. CPU twin: distance.rs.
float meet_mesh(vec3 o, vec3 d, vec4 low, vec4 nodes, out vec3 normal) {
    vec2 span = box_span(o, away_from_zero(d), low.xyz, low.xyz + low.w * (nodes.xyz - 1.0));
    float t = max(span.x, 0.0), near = MESH_NEAR * low.w;
    vec2 last = vec2(0.0);
    bool away = false; // a ray that begins on the surface leaves it first
    for (int n = 0; n < MESH_STEPS && t < span.y; n++) {
        float s = field_at(o + d * t, low, nodes).w;
        away = away || s >= near;
        if (s < (away ? near : -near)) {
            // Steps have a least length: the surface lies between the last two.
            float share = (last.y - 0.5 * near) / max(last.y - s, 1e-12);
            t = away ? mix(last.x, t, clamp(share, 0.0, 1.0)) : t;
            vec3 slope = field_at(o + d * t, low, nodes).xyz;
            normal = dot(slope, slope) > 1e-18 ? normalize(slope) : -d;
            return t;
        }
        last = vec2(t, s);
        t += max(s, MESH_STEP * low.w);
    }
    normal = -d;
    return -1.0;
}

// The nearest solid along the ray: distance (or less than 0), normal, albedo and roughness.
float meet_solids(vec3 origin, vec3 d, out vec3 normal, out vec4 surface) {
    float nearest = -1.0;
    for (int n = 0; n < solids; n++) {
        vec4 place = texelFetch(solid_table, ivec2(0, n), 0), size = texelFetch(solid_table, ivec2(1, n), 0);
        vec4 rotation = texelFetch(solid_table, ivec2(2, n), 0);
        vec4 back = vec4(-rotation.xyz, rotation.w);
        vec3 o = turned(back, origin - place.xyz), along = turned(back, d), local;
        float t;
        if (place.w < 0.5) t = meet_sphere(o, along, size.x, local);
        else if (place.w < 1.5) t = meet_box(o, along, size.xyz, local);
        else if (place.w < 2.5) t = meet_cylinder(o, along, size.x, size.y, local);
        else {
            vec4 low = texelFetch(solid_table, ivec2(3, n), 0), nodes = texelFetch(solid_table, ivec2(4, n), 0);
            t = size.x * meet_mesh(o / size.x, along, low, nodes, local);
        }
        if (t > 0.0 && (nearest < 0.0 || t < nearest)) {
            nearest = t;
            normal = turned(rotation, local);
            surface = texelFetch(solid_table, ivec2(5, n), 0);
        }
    }
    return nearest;
}
