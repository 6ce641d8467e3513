// The light volume and what a bit of medium scatters towards the eye. CPU twin: light.rs, medium.rs.

uniform sampler3D light;     // light scattered towards the eye for an albedo of 1, and the root of the optical depth to the sun
uniform vec3 light_nodes;    // points along each axis, one before and one after the box
uniform float light_spacing; // distance between them
uniform vec3 sun_direction;  // unit, towards the sun
uniform vec3 sun;            // irradiance

// Place in the light volume.
vec3 in_points(vec3 p) { return (p / light_spacing + 1.0) / light_nodes; }

// The same with the depth itself.
vec4 light_at(vec3 p) {
    vec3 share = in_points(p);
#ifdef SPLINES
    vec4 sent = spline(light, share);
#else
    vec4 sent = textureLod(light, share, 0.0);
#endif
    return vec4(sent.rgb, sent.a * abs(sent.a));
}
