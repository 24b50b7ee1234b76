// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

static std::vector<int> primes_up_to(int limit) {
    std::vector<int> odd;
    for (int number = 3; number <= limit; number += 2)
        odd.push_back(number);
    const long root = static_cast<long>(std::sqrt(limit));
    for (long factor = 3; factor <= root; factor += 2)
        if (odd[(factor - 3) / 2])
            for (std::size_t i = (factor * factor - 3) / 2; i < odd.size(); i += factor)
                odd[i] = 0;
    // With the standard algorithms, as C++ programmers do.
    const auto end = std::remove(odd.begin(), odd.end(), 0);
    std::vector<int> primes;
    primes.push_back(2);
    primes.insert(primes.end(), odd.begin(), end);
    return primes;
}

static void print_primes(int limit) {
    std::printf("Found %zu prime numbers.\n", primes_up_to(limit).size());
    std::fflush(stdout);
}

// With a second argument: "ready", then once for each line on stdin.
int main(int count, char **arguments) {
    const int limit = count > 1 ? std::atoi(arguments[1]) : 0;
    char line[64];
    if (count <= 2) {
        print_primes(limit);
        return 0;
    }
    // Without stdio, whose buffer would lie below all lists: then the heap is one free piece after each loop, and the C
    // library returns it to the kernel. In a program that only loops, the buffer lies above the first lists.
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    while (std::fgets(line, sizeof line, stdin))
        print_primes(limit);
    return 0;
}
