/* A scanner: counts words, numbers and marks of a text that a generator writes. */
#include <stdint.h>

enum { BYTES = 32768 };

static char text[BYTES];

static const char alphabet[] = "etaoinshrdlu 0123456789 \n.,;(){}";

uint64_t scan_round(uint64_t state) {
    for (int index = 0; index < BYTES; index++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        text[index] = alphabet[(state >> 33) % (sizeof alphabet - 1)];
    }
    uint64_t words = 0, digits = 0, marks = 0, lines = 0;
    int in_word = 0;
    for (int index = 0; index < BYTES; index++) {
        char byte = text[index];
        switch (byte) {
        case '\n':
            lines++;
            in_word = 0;
            break;
        case ' ':
            in_word = 0;
            break;
        case '.': case ',': case ';': case '(': case ')': case '{': case '}':
            marks++;
            in_word = 0;
            break;
        default:
            digits += byte >= '0' && byte <= '9';
            words += !in_word;
            in_word = 1;
        }
    }
    return state + words * 3 + digits * 5 + marks * 7 + lines;
}
