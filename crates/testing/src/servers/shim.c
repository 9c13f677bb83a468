/*
 * A wall clock and a disk that tests govern, for a server started with LD_PRELOAD.
 *
 * CLOCKSHIM names a file of three 64-bit integers in the machine's byte order: the nanoseconds to add to the wall clock, 1 if
 * the disk is full, and the nanoseconds that it takes to reach the disk. It is mapped and shared, so writing the file has its
 * effect at once. Other clocks, and what is no regular file, are left alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile struct {
    int64_t offset, full, slow;
} *told;

__attribute__((constructor)) static void map_told(void)
{
    const char *path = getenv("CLOCKSHIM");
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(0, sizeof *told, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        told = mapped;
    close(fd);
}

static int64_t wall_clock(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec + (told ? told->offset : 0);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return syscall(SYS_clock_gettime, clock, now);
    int64_t nanos = wall_clock();
    now->tv_sec = nanos / SECOND;
    now->tv_nsec = nanos % SECOND;
    return 0;
}

int gettimeofday(struct timeval *now, void *zone)
{
    (void)zone;
    int64_t nanos = wall_clock();
    now->tv_sec = nanos / SECOND;
    now->tv_usec = nanos % SECOND / 1000;
    return 0;
}

time_t time(time_t *now)
{
    time_t seconds = wall_clock() / SECOND;
    if (now)
        *now = seconds;
    return seconds;
}

static int is_regular(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

/* How many calls are on their way to the disk. A write to it waits for them, as one to a file does on common file systems. */
static atomic_int syncing;

/* The thread that syncs is not in the child. */
static void forget_syncs(void)
{
    syncing = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(0, 0, forget_syncs);
}

static void sleep_for(int64_t nanos)
{
    struct timespec time = {nanos / SECOND, nanos % SECOND};
    nanosleep(&time, 0);
}

static void sync_slowly(int fd)
{
    if (!told || !told->slow || !is_regular(fd))
        return;
    syncing++;
    sleep_for(told->slow);
    syncing--;
}

int fsync(int fd)
{
    sync_slowly(fd);
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    sync_slowly(fd);
    return syscall(SYS_fdatasync, fd);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    if (told && (told->full || syncing) && is_regular(fd)) {
        if (told->full) {
            errno = ENOSPC;
            return -1;
        }
        while (syncing)
            sleep_for(SECOND / 1000);
    }
    return syscall(SYS_write, fd, bytes, count);
}
