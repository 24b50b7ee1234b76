// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
)

func primesUpTo(limit int) []int {
	var odd []int
	for number := 3; number <= limit; number += 2 {
		odd = append(odd, number)
	}
	root := int(math.Sqrt(float64(limit)))
	for factor := 3; factor <= root; factor += 2 {
		if odd[(factor-3)/2] != 0 {
			for i := (factor*factor - 3) / 2; i < len(odd); i += factor {
				odd[i] = 0
			}
		}
	}
	primes := []int{2}
	for _, number := range odd {
		if number != 0 {
			primes = append(primes, number)
		}
	}
	return primes
}

func printPrimes(limit int) {
	fmt.Printf("Found %d prime numbers.\n", len(primesUpTo(limit)))
}

// With a second argument: "ready", then once for each line on stdin.
func main() {
	limit, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(os.Args) <= 2 {
		printPrimes(limit)
		return
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		printPrimes(limit)
	}
}
