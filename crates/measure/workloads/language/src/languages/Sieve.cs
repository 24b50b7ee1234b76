// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.
using System;
using System.Collections.Generic;

static class Sieve {
    static List<int> PrimesUpTo(int limit) {
        var odd = new List<int>();
        for (int number = 3; number <= limit; number += 2) {
            odd.Add(number);
        }
        long root = (long)Math.Sqrt(limit);
        for (long factor = 3; factor <= root; factor += 2) {
            if (odd[(int)((factor - 3) / 2)] != 0) {
                for (long i = (factor * factor - 3) / 2; i < odd.Count; i += factor) {
                    odd[(int)i] = 0;
                }
            }
        }
        var primes = new List<int>();
        primes.Add(2);
        foreach (int number in odd) {
            if (number != 0) {
                primes.Add(number);
            }
        }
        return primes;
    }

    static void PrintPrimes(int limit) {
        Console.WriteLine("Found {0} prime numbers.", PrimesUpTo(limit).Count);
    }

    // With a second argument: "ready", then once for each line on stdin.
    static void Main(string[] arguments) {
        int limit = int.Parse(arguments[0]);
        if (arguments.Length < 2) {
            PrintPrimes(limit);
            return;
        }
        Console.WriteLine("ready");
        while (Console.ReadLine() != null) {
            PrintPrimes(limit);
        }
    }
}
