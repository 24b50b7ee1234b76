// Finds the primes up to a limit. The same steps in every language:
// grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
// the root of the limit, collect 2 and what is left in a second list, and print its length.

fn primes_up_to(limit: i32) -> Vec<i32> {
    let mut odd = Vec::new();
    let mut number = 3;
    while number <= limit {
        odd.push(number);
        number += 2;
    }
    let root = f64::from(limit).sqrt() as usize;
    let mut factor = 3;
    while factor <= root {
        if odd[(factor - 3) / 2] != 0 {
            let mut i = (factor * factor - 3) / 2;
            while i < odd.len() {
                odd[i] = 0;
                i += factor;
            }
        }
        factor += 2;
    }
    let mut primes = vec![2];
    for number in odd {
        if number != 0 {
            primes.push(number);
        }
    }
    primes
}

fn print_primes(limit: i32) {
    println!("Found {} prime numbers.", primes_up_to(limit).len());
}

// With a second argument: "ready", then once for each line on stdin.
fn main() {
    let limit = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    if std::env::args().len() <= 2 {
        print_primes(limit);
        return;
    }
    println!("ready");
    for _ in std::io::stdin().lines() {
        print_primes(limit);
    }
}
