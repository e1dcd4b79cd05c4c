/* Preloaded into a program: the wall clock is as many seconds ahead (or behind, if negative) as stand in the file named by
 * CLOCK_AHEAD. The clock that only measures is not touched: nobody can set that one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int end = real(clock, now);
    const char *path = getenv("CLOCK_AHEAD");
    if (end != 0 || clock != CLOCK_REALTIME || !path) return end;
    char text[32] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
    if (fd >= 0) close(fd);
    return end;
}
