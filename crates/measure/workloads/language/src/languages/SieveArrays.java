// Finds the primes up to a limit, as Sieve.java does, in arrays of int that grow by half instead of lists of objects.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;

public class SieveArrays {
    static class IntList {
        int[] items = new int[10];
        int length = 0;

        void add(int item) {
            if (length == items.length) {
                items = Arrays.copyOf(items, length + (length >> 1));
            }
            items[length++] = item;
        }
    }

    static IntList primesUpTo(int limit) {
        IntList odd = new IntList();
        for (int number = 3; number <= limit; number += 2) {
            odd.add(number);
        }
        long root = (long) Math.sqrt(limit);
        for (long factor = 3; factor <= root; factor += 2) {
            if (odd.items[(int) ((factor - 3) / 2)] != 0) {
                for (long i = (factor * factor - 3) / 2; i < odd.length; i += factor) {
                    odd.items[(int) i] = 0;
                }
            }
        }
        IntList primes = new IntList();
        primes.add(2);
        for (int i = 0; i < odd.length; i++) {
            if (odd.items[i] != 0) {
                primes.add(odd.items[i]);
            }
        }
        return primes;
    }

    static void printPrimes(int limit) {
        System.out.println("Found " + primesUpTo(limit).length + " prime numbers.");
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
