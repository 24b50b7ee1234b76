/* An open hash table of words of 64 bits: inserted, then looked up. */
#include <stdint.h>
#include <string.h>

enum { SLOTS = 8192, KEYS = 4096 };

static uint64_t slots[SLOTS];

static uint32_t place(uint64_t key) {
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdu;
    key ^= key >> 33;
    return (uint32_t)key % SLOTS;
}

uint64_t hash_round(uint64_t state) {
    uint64_t found = 0;
    memset(slots, 0, sizeof slots);
    for (int pass = 0; pass < 2; pass++) {
        uint64_t key = state | 1;
        for (int count = 0; count < KEYS; count++) {
            key = key * 6364136223846793005u + 1442695040888963407u;
            uint32_t slot = place(key);
            while (slots[slot] != 0 && slots[slot] != key)
                slot = (slot + 1) % SLOTS;
            found += slots[slot] == key;
            slots[slot] = key;
        }
    }
    return state + found;
}
