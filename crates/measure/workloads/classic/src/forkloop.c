// A process made, ended and reaped, argv[1] times by each of argv[3] threads, by a parent that has touched argv[2] bytes.
// Prints seconds for one by each thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static long count;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *work(void *unused) {
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < count; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            exit(1);
    }
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 1;
    long bytes = atol(argv[2]), threads = atol(argv[3]), page = sysconf(_SC_PAGESIZE);
    count = atol(argv[1]);
    if (count < 1 || threads < 1 || pthread_barrier_init(&barrier, 0, threads))
        return 1;
    if (bytes > 0) {
        char *touched = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (touched == MAP_FAILED)
            return 1;
        madvise(touched, bytes, MADV_NOHUGEPAGE);
        for (long at = 0; at < bytes; at += page)
            touched[at] = 1;
    }
    // The first thread is the main one, so that one alone forks from a process without others.
    pthread_t *others = calloc(threads, sizeof *others);
    for (long i = 1; i < threads; i++)
        if (!others || pthread_create(&others[i], 0, work, 0))
            return 1;
    double begun = now();
    work(0);
    for (long i = 1; i < threads; i++)
        if (pthread_join(others[i], 0))
            return 1;
    return printf("%.9f\n", (now() - begun) / count) < 0;
}
