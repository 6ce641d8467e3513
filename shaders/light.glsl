// The light volume and what a bit of medium scatters towards the eye. CPU twin: light.rs, medium.rs.

uniform sampler3D light;     // optical depth to the sun, effective depth to sky and ground
uniform vec3 light_nodes;    // nodes along each axis, the first and last on the sides of the box
uniform vec3 sun_direction;  // unit, towards the sun
uniform vec3 sun;            // irradiance
uniform vec3 sky;            // radiance straight up and straight down
uniform vec3 ground;

vec3 depths(vec3 p) {
    return textureLod(light, (p / extent * (light_nodes - 1.0) + 0.5) / light_nodes, 0.0).xyz;
}
