# Finds the primes up to a limit. The same steps in every language:
# grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
# the root of the limit, collect 2 and what is left in a second list, and print its length.
import sys


def primes_up_to(limit):
    odd = list(range(3, limit + 1, 2))
    root = int(limit**0.5)
    length = len(odd)
    factor = 3
    while factor <= root:
        if odd[(factor - 3) // 2]:
            i = (factor * factor - 3) // 2
            while i < length:
                odd[i] = 0
                i += factor
        factor += 2
    return [2] + [number for number in odd if number]


def print_primes():
    print("Found %d prime numbers." % len(primes_up_to(int(sys.argv[1]))), flush=True)


# With a second argument: "ready", then once for each line on stdin.
if len(sys.argv) <= 2:
    print_primes()
else:
    print("ready", flush=True)
    for line in sys.stdin:
        print_primes()
