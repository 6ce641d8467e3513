/* An allocator that fails, before that of glibc: request number UPDRAFT_TEST_FAILS has no memory, and those after it
   neither if UPDRAFT_TEST_ALL is set. The number of requests goes to the file UPDRAFT_TEST_COUNT at the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static long count, fails;
static int all;

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("UPDRAFT_TEST_FAILS");
    all = getenv("UPDRAFT_TEST_ALL") != NULL;
    count = 0;
    fails = number ? atol(number) : 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("UPDRAFT_TEST_COUNT");
    long counted = count;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", counted);
        fclose(file);
    }
}

static int has_none(void) {
    long number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    int none = fails > 0 && (all ? number >= fails : number == fails);
    if (none)
        errno = ENOMEM;
    return none;
}

void *malloc(size_t size) {
    return has_none() ? NULL : __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    return has_none() ? NULL : __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    return has_none() ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *found = has_none() ? NULL : __libc_memalign(alignment, size);
    if (!found)
        return ENOMEM;
    *memory = found;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return has_none() ? NULL : __libc_memalign(alignment, size);
}
