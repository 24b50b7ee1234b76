/* Finds the primes up to a limit. The same steps in every language:
 * grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
 * the root of the limit, collect 2 and what is left in a second list, and print its length. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct list {
    int *items;
    size_t length;
    size_t room;
};

static void push(struct list *list, int item) {
    if (list->length == list->room) {
        list->room = list->room ? 2 * list->room : 1;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        if (!list->items) {
            perror("realloc");
            exit(1);
        }
    }
    list->items[list->length++] = item;
}

static size_t count_primes(int limit) {
    struct list odd = {0}, primes = {0};
    for (int number = 3; number <= limit; number += 2)
        push(&odd, number);
    int root = (int)sqrt(limit);
    for (long factor = 3; factor <= root; factor += 2)
        if (odd.items[(factor - 3) / 2])
            for (size_t i = (size_t)(factor * factor - 3) / 2; i < odd.length; i += (size_t)factor)
                odd.items[i] = 0;
    push(&primes, 2);
    for (size_t i = 0; i < odd.length; i++)
        if (odd.items[i])
            push(&primes, odd.items[i]);
    size_t length = primes.length;
    free(odd.items);
    free(primes.items);
    return length;
}

static void print_primes(int limit) {
    printf("Found %zu prime numbers.\n", count_primes(limit));
    fflush(stdout);
}

/* With a second argument: "ready", then once for each line on stdin. */
int main(int count, char **arguments) {
    int limit = count > 1 ? atoi(arguments[1]) : 0;
    char line[64];
    if (count <= 2) {
        print_primes(limit);
        return 0;
    }
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        print_primes(limit);
    return 0;
}
