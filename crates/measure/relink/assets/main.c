/* Rounds of heap sort, hash table and scanner; their checksum is printed, so that no work can be left out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t sort_round(uint64_t);
uint64_t hash_round(uint64_t);
uint64_t scan_round(uint64_t);

int main(int count, char **words) {
    long rounds = count > 1 ? strtol(words[1], NULL, 10) : 20;
    uint64_t state = 88172645463325252u;
    for (long round = 0; round < rounds; round++)
        state = scan_round(hash_round(sort_round(state)));
    printf("%llu\n", (unsigned long long)state);
    return 0;
}
