/* Heap sort of numbers that a generator fills in again each time. */
#include <stdint.h>

enum { NUMBERS = 4096 };

static uint32_t numbers[NUMBERS];

static void sift(uint32_t root, uint32_t end) {
    for (;;) {
        uint32_t child = 2 * root + 1;
        if (child >= end)
            return;
        if (child + 1 < end && numbers[child] < numbers[child + 1])
            child++;
        if (numbers[root] >= numbers[child])
            return;
        uint32_t held = numbers[root];
        numbers[root] = numbers[child];
        numbers[child] = held;
        root = child;
    }
}

uint64_t sort_round(uint64_t state) {
    for (uint32_t index = 0; index < NUMBERS; index++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        numbers[index] = (uint32_t)(state >> 32);
    }
    for (uint32_t root = NUMBERS / 2; root-- > 0;)
        sift(root, NUMBERS);
    for (uint32_t end = NUMBERS - 1; end > 0; end--) {
        uint32_t held = numbers[0];
        numbers[0] = numbers[end];
        numbers[end] = held;
        sift(0, end);
    }
    return state ^ numbers[NUMBERS / 2];
}
