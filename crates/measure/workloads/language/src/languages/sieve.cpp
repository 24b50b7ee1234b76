// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.
#include <cmath>
#include <cstdio>
#include <cstdlib>
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
    std::vector<int> primes;
    primes.push_back(2);
    for (int number : odd)
        if (number)
            primes.push_back(number);
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
    std::puts("ready");
    std::fflush(stdout);
    while (std::fgets(line, sizeof line, stdin))
        print_primes(limit);
    return 0;
}
