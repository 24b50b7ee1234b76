<?php
// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.

ini_set("memory_limit", "-1");

function primes_up_to($limit) {
    $odd = [];
    for ($number = 3; $number <= $limit; $number += 2) {
        $odd[] = $number;
    }
    $root = (int) sqrt($limit);
    $length = count($odd);
    for ($factor = 3; $factor <= $root; $factor += 2) {
        if ($odd[($factor - 3) >> 1]) {
            for ($i = ($factor * $factor - 3) >> 1; $i < $length; $i += $factor) {
                $odd[$i] = 0;
            }
        }
    }
    $primes = [2];
    foreach ($odd as $number) {
        if ($number) {
            $primes[] = $number;
        }
    }
    return $primes;
}

function print_primes($limit) {
    printf("Found %d prime numbers.\n", count(primes_up_to($limit)));
    flush();
}

// With a second argument: "ready", then once for each line on stdin.
if ($argc <= 2) {
    print_primes((int) $argv[1]);
} else {
    print("ready\n");
    flush();
    while (fgets(STDIN) !== false) {
        print_primes((int) $argv[1]);
    }
}
