/*
 * A wall clock that tests can move, for a server started with LD_PRELOAD.
 *
 * CLOCKSHIM names a file of at least 8 bytes: a 64-bit integer in the machine's byte order, the nanoseconds to add to
 * the wall clock. It is mapped and shared, so writing the file moves the clock at once. Other clocks are left alone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile int64_t *offset;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("CLOCKSHIM");
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        offset = mapped;
    close(fd);
}

static int64_t wall_clock(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec + (offset ? *offset : 0);
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
