/* A driver that loses contexts: libEGL, but a swap of buffers fails as after a reset of the device if the file
   UPDRAFT_TEST_LOSS exists. Each failed swap takes a byte from the file, and the last one removes it. The driver says
   that it is UPDRAFT_TEST_RENDERER, if that is set, and refuses the shaders that contain UPDRAFT_TEST_REFUSED. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int lost;

unsigned eglSwapBuffers(void *display, void *surface) {
    const char *path = getenv("UPDRAFT_TEST_LOSS");
    struct stat file;
    if (path && stat(path, &file) == 0) {
        if (file.st_size <= 1)
            unlink(path);
        else if (truncate(path, file.st_size - 1) != 0)
            abort();
        lost = 1;
        return 0;
    }
    unsigned (*swap)(void *, void *) = (unsigned (*)(void *, void *))dlsym(RTLD_NEXT, "eglSwapBuffers");
    return swap(display, surface);
}

int eglGetError(void) {
    if (lost) {
        lost = 0;
        return 0x300E; /* EGL_CONTEXT_LOST */
    }
    int (*error)(void) = (int (*)(void))dlsym(RTLD_NEXT, "eglGetError");
    return error();
}

static const unsigned char *(*get_string)(unsigned);

static const unsigned char *renamed(unsigned name) {
    const char *renderer = getenv("UPDRAFT_TEST_RENDERER");
    return name == 0x1F01 /* GL_RENDERER */ && renderer ? (const unsigned char *)renderer : get_string(name);
}

typedef void (*shader_source_function)(unsigned, int, const char *const *, const int *);

static shader_source_function shader_source;

static void refusing(unsigned shader, int count, const char *const *parts, const int *lengths) {
    const char *mark = getenv("UPDRAFT_TEST_REFUSED");
    for (int n = 0; n < count; n++) {
        size_t length = lengths && lengths[n] >= 0 ? (size_t)lengths[n] : strlen(parts[n]);
        if (memmem(parts[n], length, mark, strlen(mark))) {
            const char *refused = "#error this driver refuses it\n";
            shader_source(shader, 1, &refused, NULL);
            return;
        }
    }
    shader_source(shader, count, parts, lengths);
}

void *eglGetProcAddress(const char *name) {
    void *(*address)(const char *) = (void *(*)(const char *))dlsym(RTLD_NEXT, "eglGetProcAddress");
    void *found = address(name);
    if (strcmp(name, "glShaderSource") == 0 && getenv("UPDRAFT_TEST_REFUSED")) {
        shader_source = (shader_source_function)found;
        return (void *)refusing;
    }
    if (strcmp(name, "glGetString") != 0)
        return found;
    get_string = (const unsigned char *(*)(unsigned))found;
    return (void *)renamed;
}
