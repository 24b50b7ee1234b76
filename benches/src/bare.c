/* The barest loop that times a command: `bare RUNS` prints the nanoseconds of each run of /bin/true, from
   just before posix_spawn to just after wait4. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
  char *argv[] = {"/bin/true", NULL};
  int runs = count > 1 ? atoi(arguments[1]) : 0;
  long long *elapsed = calloc(runs, sizeof *elapsed);
  if (elapsed == NULL)
    return 1;
  for (int run = 0; run < runs; run++) {
    struct rusage usage;
    int status;
    pid_t pid;
    long long start = now_ns();
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 || wait4(pid, &status, 0, &usage) != pid)
      return 1;
    elapsed[run] = now_ns() - start;
    if (status != 0)
      return 1;
  }
  for (int run = 0; run < runs; run++)
    printf("%lld\n", elapsed[run]);
  return 0;
}
