// A thread wakes another at moments fixed beforehand, argv[1] times and argv[2] times a second. Prints the median of the
// times, in seconds, from when a wake-up was due until the other runs.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned sent;
static long long *due, *late;
static long count;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *worker(void *unused) {
    for (long seen = 0; seen < count;) {
        unsigned sent_now = atomic_load(&sent);
        if (sent_now == seen) {
            syscall(SYS_futex, &sent, FUTEX_WAIT_PRIVATE, sent_now, NULL, NULL, 0);
            continue;
        }
        long long moment = now();
        for (; seen < sent_now; seen++)
            late[seen] = moment - due[seen];
    }
    return unused;
}

static int by_size(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    pthread_t thread;
    double rate = argc > 2 ? atof(argv[2]) : 0;
    count = argc > 1 ? atol(argv[1]) : 0;
    if (count < 1 || rate <= 0 || prctl(PR_SET_TIMERSLACK, 1))
        return 1;
    due = calloc(count, sizeof *due);
    late = calloc(count, sizeof *late);
    if (!due || !late || pthread_create(&thread, NULL, worker, NULL))
        return 1;
    long long begun = now() + 10000000;
    for (long i = 0; i < count; i++) {
        due[i] = begun + (long long)(i * 1e9 / rate);
        struct timespec until = {due[i] / 1000000000, due[i] % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        atomic_fetch_add(&sent, 1);
        syscall(SYS_futex, &sent, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    if (pthread_join(thread, NULL))
        return 1;
    qsort(late, count, sizeof *late, by_size);
    return printf("%.9f\n", late[(count - 1) / 2] * 1e-9) < 0;
}
