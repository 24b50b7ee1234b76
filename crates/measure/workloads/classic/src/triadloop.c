// The triad of STREAM, a[i] = b[i] + 3 * c[i], argv[1] times, on arrays of argv[2] bytes, by each of argv[3] threads on
// arrays of its own, after untimed passes for argv[4] nanoseconds. Prints bytes a second, 24 for an element, of all threads
// together.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static pthread_barrier_t barrier;
static long passes, elements;
static double settle;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double *array(double from) {
    double *it = mmap(0, elements * sizeof *it, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (it == MAP_FAILED)
        exit(1);
    for (long i = 0; i < elements; i++)
        it[i] = from + i;
    return it;
}

__attribute__((noinline)) static void triad(double *restrict a, const double *restrict b, const double *restrict c) {
    for (long i = 0; i < elements; i++)
        a[i] = b[i] + 3.0 * c[i];
}

struct worker {
    pthread_t thread;
    double begun, ended;
};

static void *work(void *mine) {
    struct worker *worker = mine;
    double *a = array(0), *b = array(1), *c = array(2);
    double from = now();
    do
        triad(a, b, c);
    while (now() - from < settle);
    pthread_barrier_wait(&barrier);
    worker->begun = now();
    for (long pass = 0; pass < passes; pass++)
        triad(a, b, c);
    worker->ended = now();
    for (long i = 0; i < elements; i++)
        if (a[i] != b[i] + 3.0 * c[i])
            exit(1);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 1;
    long threads = atol(argv[3]);
    settle = atof(argv[4]) * 1e-9;
    passes = atol(argv[1]);
    elements = atol(argv[2]) / sizeof(double);
    if (passes < 1 || elements < 1 || threads < 1 || pthread_barrier_init(&barrier, 0, threads))
        return 1;
    struct worker *workers = calloc(threads, sizeof *workers);
    for (long i = 0; i < threads; i++)
        if (!workers || pthread_create(&workers[i].thread, 0, work, &workers[i]))
            return 1;
    double begun = 1e300, ended = 0;
    for (long i = 0; i < threads; i++) {
        if (pthread_join(workers[i].thread, 0))
            return 1;
        begun = workers[i].begun < begun ? workers[i].begun : begun;
        ended = workers[i].ended > ended ? workers[i].ended : ended;
    }
    return printf("%.9g\n", 24.0 * elements * passes * threads / (ended - begun)) < 0;
}
