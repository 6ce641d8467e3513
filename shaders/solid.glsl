// Solids in the smoke. CPU twin: solid.rs.

const int MOST_SOLIDS = 16;
uniform int solids;
uniform vec4 solid_place[MOST_SOLIDS];    // middle; 0 sphere, 1 box, 2 cylinder
uniform vec4 solid_size[MOST_SOLIDS];     // radius or half size
uniform vec4 solid_rotation[MOST_SOLIDS]; // unit quaternion
uniform vec4 solid_albedo[MOST_SOLIDS];

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

// The nearest solid along the ray: distance (or less than 0), normal and albedo.
float meet_solids(vec3 origin, vec3 d, out vec3 normal, out vec3 albedo) {
    float nearest = -1.0;
    for (int n = 0; n < solids; n++) {
        vec4 back = vec4(-solid_rotation[n].xyz, solid_rotation[n].w);
        vec3 o = turned(back, origin - solid_place[n].xyz), along = turned(back, d), local;
        float t;
        if (solid_place[n].w < 0.5) t = meet_sphere(o, along, solid_size[n].x, local);
        else if (solid_place[n].w < 1.5) t = meet_box(o, along, solid_size[n].xyz, local);
        else t = meet_cylinder(o, along, solid_size[n].x, solid_size[n].y, local);
        if (t > 0.0 && (nearest < 0.0 || t < nearest)) {
            nearest = t;
            normal = turned(solid_rotation[n], local);
            albedo = solid_albedo[n].rgb;
        }
    }
    return nearest;
}
