#version 330
// As composite.frag, for a march at the size of the picture: texel by texel.
uniform sampler2D marched;

layout(location = 0) out vec4 radiance;

void main() {
    radiance = texelFetch(marched, ivec2(gl_FragCoord.xy), 0);
}
