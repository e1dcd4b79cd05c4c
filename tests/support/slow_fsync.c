/* Preloaded into a program: fsync takes as many milliseconds longer as stand in the file named by SLOW_FSYNC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int sync_slowly(const char *name, int fd) {
    const char *path = getenv("SLOW_FSYNC");
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned milliseconds = 0;
    if (file && fscanf(file, "%u", &milliseconds) != 1) milliseconds = 0;
    if (file) fclose(file);
    for (; milliseconds > 0; milliseconds--) usleep(1000);
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(fd);
}

int fsync(int fd) { return sync_slowly("fsync", fd); }
int fdatasync(int fd) { return sync_slowly("fdatasync", fd); }
