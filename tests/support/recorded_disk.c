/* Preloaded into a test: whatever the process does to the files of the folder RECORD_FOLDER is written into the file
 * RECORD_TRACE, in the order in which it is done. Syncs are recorded and not done: the trace is what says what a disk must keep.
 *
 * A record is: kind, length of the name, two bytes of nothing, length of the data (4 bytes), offset (8 bytes), name, data.
 * Kinds: C created, D created as a folder, W written, T cut or extended to the offset, S synced (the folder is "."), U unlinked, R renamed to the data, and M: what the
 * shared memory of SQLite's log began with when the file "ledger" was written. Numbers are little-endian. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 1024
#define NAME 64
#define SHARED 136

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static char names[FILES][NAME]; /* of open files of the folder; empty: none of its files */
static char shared_memory[4096]; /* its path, once it was opened */
static const char *folder;
static int trace = -1;

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, #name))
typedef int (*open_t)(const char *, int, ...);
typedef ssize_t (*write_t)(int, const void *, size_t);
typedef ssize_t (*pwrite_t)(int, const void *, size_t, off_t);
typedef int (*truncate_t)(int, off_t);
typedef int (*fd_t)(int);
typedef int (*path_t)(const char *);
typedef int (*rename_t)(const char *, const char *);

static void die(const char *why) {
    fprintf(stderr, "recorded_disk: %s\n", why);
    abort();
}

__attribute__((constructor)) static void begin(void) {
    folder = getenv("RECORD_FOLDER");
    const char *path = getenv("RECORD_TRACE");
    if (!folder || !path) return;
    trace = REAL(open, open_t)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (trace < 0) die("RECORD_TRACE can't be opened");
}

static void record(char kind, const char *name, uint64_t offset, const void *data, uint32_t length) {
    unsigned char head[16] = {(unsigned char)kind, (unsigned char)strlen(name)};
    memcpy(head + 4, &length, 4);
    memcpy(head + 8, &offset, 8);
    struct iovec parts[3] = {{head, 16}, {(void *)name, strlen(name)}, {(void *)data, length}};
    if (writev(trace, parts, 3) != (ssize_t)(16 + strlen(name) + length)) die("RECORD_TRACE can't be written");
}

/* The name of a path in the folder; "." for the folder itself, NULL for what lies elsewhere. */
static const char *name_of(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    if (trace < 0 || strncmp(path, folder, length) != 0) return NULL;
    if (path[length] == 0) return ".";
    if (path[length] != '/' || strchr(path + length + 1, '/') || strlen(path + length + 1) >= NAME) return NULL;
    return path + length + 1;
}

/* The name of an open file whose changes are recorded, or NULL. Shared memory outlives no power cut. */
static const char *recorded(int fd) {
    if (fd < 0 || fd >= FILES || !names[fd][0] || strstr(names[fd], "-shm")) return NULL;
    return names[fd];
}

static int open_and_record(open_t real, const char *path, int flags, mode_t mode) {
    const char *name = name_of(path);
    if (!name) return real(path, flags, mode);
    pthread_mutex_lock(&order);
    int created = (flags & O_CREAT) && access(path, F_OK) != 0;
    int fd = real(path, flags, mode);
    if (fd >= FILES) die("more open files than are followed");
    if (fd >= 0) {
        strcpy(names[fd], name);
        if (strstr(name, "-shm")) snprintf(shared_memory, sizeof shared_memory, "%s", path);
        if (created && recorded(fd)) record('C', name, 0, NULL, 0);
        if (!created && (flags & O_TRUNC) && recorded(fd)) record('T', name, 0, NULL, 0);
    }
    pthread_mutex_unlock(&order);
    return fd;
}

#define OPEN(name)                                                   \
    int name(const char *path, int flags, ...) {                     \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                \
        return open_and_record(REAL(name, open_t), path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (fd >= 0 && fd < FILES) names[fd][0] = 0;
    return REAL(close, fd_t)(fd);
}

static void record_shared_memory(void) {
    char begins[SHARED];
    int fd = shared_memory[0] ? REAL(open, open_t)(shared_memory, O_RDONLY) : -1;
    if (fd >= 0 && read(fd, begins, SHARED) == SHARED) record('M', strrchr(shared_memory, '/') + 1, 0, begins, SHARED);
    if (fd >= 0) close(fd);
}

ssize_t write(int fd, const void *data, size_t length) {
    write_t real = REAL(write, write_t);
    if (!recorded(fd)) return real(fd, data, length);
    pthread_mutex_lock(&order);
    off_t at = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    ssize_t written = real(fd, data, length);
    if (written > 0) record('W', names[fd], at, data, written);
    if (!strcmp(names[fd], "ledger")) record_shared_memory();
    pthread_mutex_unlock(&order);
    return written;
}

#define PWRITE(name)                                                         \
    ssize_t name(int fd, const void *data, size_t length, off_t at) {        \
        if (!recorded(fd)) return REAL(name, pwrite_t)(fd, data, length, at); \
        pthread_mutex_lock(&order);                                          \
        ssize_t written = REAL(name, pwrite_t)(fd, data, length, at);        \
        if (written > 0) record('W', names[fd], at, data, written);          \
        pthread_mutex_unlock(&order);                                        \
        return written;                                                      \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(name)                                              \
    int name(int fd, off_t size) {                                  \
        if (!recorded(fd)) return REAL(name, truncate_t)(fd, size); \
        pthread_mutex_lock(&order);                                 \
        int end = REAL(name, truncate_t)(fd, size);                 \
        if (end == 0) record('T', names[fd], size, NULL, 0);        \
        pthread_mutex_unlock(&order);                               \
        return end;                                                 \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define SYNC(name)                                   \
    int name(int fd) {                               \
        if (!recorded(fd)) return REAL(name, fd_t)(fd); \
        pthread_mutex_lock(&order);                  \
        record('S', names[fd], 0, NULL, 0);          \
        pthread_mutex_unlock(&order);                \
        return 0;                                    \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    const char *name = name_of(path);
    if (!name) return REAL(unlink, path_t)(path);
    pthread_mutex_lock(&order);
    int end = REAL(unlink, path_t)(path);
    if (end == 0 && !strstr(name, "-shm")) record('U', name, 0, NULL, 0);
    pthread_mutex_unlock(&order);
    return end;
}

int mkdir(const char *path, mode_t mode) {
    int (*real)(const char *, mode_t) = REAL(mkdir, int (*)(const char *, mode_t));
    const char *name = name_of(path);
    if (!name) return real(path, mode);
    pthread_mutex_lock(&order);
    int end = real(path, mode);
    if (end == 0) record('D', name, 0, NULL, 0);
    pthread_mutex_unlock(&order);
    return end;
}

int rename(const char *from, const char *to) {
    const char *old = name_of(from), *new = name_of(to);
    if (!old && !new) return REAL(rename, rename_t)(from, to);
    if (!old || !new) die("a file is moved into the folder or out of it");
    pthread_mutex_lock(&order);
    int end = REAL(rename, rename_t)(from, to);
    if (end == 0) record('R', old, 0, new, strlen(new));
    pthread_mutex_unlock(&order);
    return end;
}
