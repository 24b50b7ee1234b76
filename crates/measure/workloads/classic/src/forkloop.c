// A process made, ended and reaped, argv[1] times, by a parent that has touched argv[2] bytes. Prints seconds for each.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 0;
    long bytes = argc > 2 ? atol(argv[2]) : 0, page = sysconf(_SC_PAGESIZE);
    if (bytes > 0) {
        char *touched = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (touched == MAP_FAILED)
            return 1;
        madvise(touched, bytes, MADV_NOHUGEPAGE);
        for (long at = 0; at < bytes; at += page)
            touched[at] = 1;
    }
    double begun = now();
    for (long i = 0; i < count; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    return count < 1 || printf("%.9f\n", (now() - begun) / count) < 0;
}
