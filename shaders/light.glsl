// The light volume and what a bit of medium scatters towards the eye. CPU twin: light.rs, medium.rs.

uniform sampler3D light;     // light scattered towards the eye for an albedo of 1, and the root of the optical depth to the sun
uniform vec3 light_nodes;    // points along each axis, one before and one after the box
uniform vec3 sun_direction;  // unit, towards the sun
uniform vec3 sun;            // irradiance

// The same with the depth itself.
vec4 light_at(vec3 p) {
    vec3 share = (p / extent * (light_nodes - 2.0) + 1.0) / light_nodes;
#ifdef SPLINES
    vec4 sent = spline(light, share);
#else
    vec4 sent = textureLod(light, share, 0.0);
#endif
    return vec4(sent.rgb, sent.a * abs(sent.a));
}
