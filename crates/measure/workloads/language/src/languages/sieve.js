// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.
"use strict";

function primesUpTo(limit) {
  const odd = [];
  for (let number = 3; number <= limit; number += 2) odd.push(number);
  const root = Math.floor(Math.sqrt(limit));
  for (let factor = 3; factor <= root; factor += 2) {
    if (odd[(factor - 3) / 2]) {
      for (let i = (factor * factor - 3) / 2; i < odd.length; i += factor) odd[i] = 0;
    }
  }
  const primes = [2];
  for (const number of odd) if (number) primes.push(number);
  return primes;
}

function printPrimes() {
  console.log(`Found ${primesUpTo(Number(process.argv[2])).length} prime numbers.`);
}

// With a second argument: "ready", then once for each line on stdin.
if (process.argv.length <= 3) {
  printPrimes();
} else {
  console.log("ready");
  // Not with a module: what imports one differs between node, bun and deno.
  process.stdin.on("data", (bytes) => {
    for (const byte of bytes) if (byte === 10) printPrimes();
  });
}
