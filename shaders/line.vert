#version 330
// Lines as strips of two triangles, `width` pixels wide whatever their distance. Each vertex knows the other
// end, and on which side of the line it lies.
uniform mat4 clip_from_world;
uniform vec2 viewport;       // pixels
uniform float width;         // pixels

in vec3 position;            // metres
in vec3 other;               // the other end
in float side;               // -1 or 1, as seen from this end
in float edge;               // -1 or 1, the same along a whole edge
in vec4 tint;                // linear, premultiplied by nothing

out float across;            // -1..1 over the line and its soft edge
out vec4 color;
out float depth;             // along the view, metres

// The end of the line that lies behind the eye is pulled to just before it.
vec4 in_front(vec4 a, vec4 b) {
    return a.w >= LINE_NEAR ? a : mix(a, b, (LINE_NEAR - a.w) / (b.w - a.w));
}

void main() {
    vec4 a = clip_from_world * vec4(position, 1.0), b = clip_from_world * vec4(other, 1.0);
    if (max(a.w, b.w) < LINE_NEAR) {
        depth = 0.0;
        gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
        return;
    }
    a = in_front(a, b);
    b = in_front(b, a);
    vec2 along = (b.xy / b.w - a.xy / a.w) * viewport;
    vec2 unit = along / max(length(along), 1e-6);
    vec2 normal = vec2(-unit.y, unit.x) * side;
    across = edge;
    color = tint;
    depth = a.z;
    a.xy += normal * (width + 1.0) / viewport * a.w;
    gl_Position = vec4(a.xy, 0.0, a.w);
}
