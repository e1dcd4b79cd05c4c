/* Preloaded into a program: as long as the file named by FAIL_WRITE_WHILE is there, whatever would change a file of the folder
 * FAIL_WRITE_IN fails with the error number that stands in it, as on a disk that has become read-only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, #name))

/* The error to fail with, or 0. */
static int failure(int fd) {
    const char *flag = getenv("FAIL_WRITE_WHILE"), *folder = getenv("FAIL_WRITE_IN");
    FILE *file = flag && folder ? fopen(flag, "r") : NULL;
    if (!file) return 0;
    int error = 0;
    if (fscanf(file, "%d", &error) != 1) error = 0;
    fclose(file);
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0 ? error : 0;
}

#define FAIL_OR(call, fd)          \
    int error = failure(fd);       \
    if (error) {                   \
        errno = error;             \
        return -1;                 \
    }                              \
    return call

ssize_t write(int fd, const void *data, size_t length) {
    FAIL_OR(REAL(write, ssize_t(*)(int, const void *, size_t))(fd, data, length), fd);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) {
    FAIL_OR(REAL(pwrite, ssize_t(*)(int, const void *, size_t, off_t))(fd, data, length, at), fd);
}
ssize_t pwrite64(int fd, const void *data, size_t length, off_t at) {
    FAIL_OR(REAL(pwrite64, ssize_t(*)(int, const void *, size_t, off_t))(fd, data, length, at), fd);
}
int ftruncate(int fd, off_t size) { FAIL_OR(REAL(ftruncate, int (*)(int, off_t))(fd, size), fd); }
int ftruncate64(int fd, off_t size) { FAIL_OR(REAL(ftruncate64, int (*)(int, off_t))(fd, size), fd); }
