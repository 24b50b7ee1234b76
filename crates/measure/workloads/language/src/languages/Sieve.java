// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

public class Sieve {
    static List<Integer> primesUpTo(int limit) {
        List<Integer> odd = new ArrayList<>();
        for (int number = 3; number <= limit; number += 2) {
            odd.add(number);
        }
        long root = (long) Math.sqrt(limit);
        for (long factor = 3; factor <= root; factor += 2) {
            if (odd.get((int) ((factor - 3) / 2)) != 0) {
                for (long i = (factor * factor - 3) / 2; i < odd.size(); i += factor) {
                    odd.set((int) i, 0);
                }
            }
        }
        List<Integer> primes = new ArrayList<>();
        primes.add(2);
        for (Integer number : odd) {
            if (number != 0) {
                primes.add(number);
            }
        }
        return primes;
    }

    static void printPrimes(int limit) {
        System.out.println("Found " + primesUpTo(limit).size() + " prime numbers.");
        System.out.flush();
    }

    // With a second argument: "ready", then once for each line on stdin.
    public static void main(String[] arguments) throws IOException {
        int limit = Integer.parseInt(arguments[0]);
        if (arguments.length < 2) {
            printPrimes(limit);
            return;
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        System.out.flush();
        while (lines.readLine() != null) {
            printPrimes(limit);
        }
    }
}
