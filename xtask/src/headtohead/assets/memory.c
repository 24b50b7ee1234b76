/* Rounds of dependent loads that walk one cycle through 8 MiB in random order (Sattolo's algorithm). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 131072, WORDS = 16 };

static uint32_t table[LINES][WORDS];

int main(int count, char **words) {
    long rounds = count > 1 ? strtol(words[1], NULL, 10) : 0;
    uint64_t state = 88172645463325252u;
    for (uint32_t line = 0; line < LINES; line++)
        table[line][0] = line;
    for (uint32_t line = LINES - 1; line > 0; line--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t other = (uint32_t)((state >> 33) % line), held = table[line][0];
        table[line][0] = table[other][0];
        table[other][0] = held;
    }
    uint32_t line = 0;
    for (long round = 0; round < rounds; round++)
        for (int step = 0; step < 64; step++)
            line = table[line][0];
    printf("%u\n", line);
    return 0;
}
