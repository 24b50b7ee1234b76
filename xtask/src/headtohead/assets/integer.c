/* Rounds of a chain of integer operations; nothing leaves the registers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    long rounds = count > 1 ? strtol(words[1], NULL, 10) : 0;
    uint64_t state = 88172645463325252u;
    for (long round = 0; round < rounds; round++)
        for (int step = 0; step < 256; step++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
    printf("%llu\n", (unsigned long long)state);
    return 0;
}
