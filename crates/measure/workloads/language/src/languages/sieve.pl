# Finds the primes up to a limit. The same steps in every language:
# grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
# the root of the limit, collect 2 and what is left in a second list, and print its length.
use strict;
use warnings;

sub primes_up_to {
    my ($limit) = @_;
    my @odd;
    for (my $number = 3; $number <= $limit; $number += 2) {
        push @odd, $number;
    }
    my $root = int(sqrt($limit));
    my $length = @odd;
    for (my $factor = 3; $factor <= $root; $factor += 2) {
        if ($odd[($factor - 3) >> 1]) {
            for (my $i = ($factor * $factor - 3) >> 1; $i < $length; $i += $factor) {
                $odd[$i] = 0;
            }
        }
    }
    my @primes = (2);
    foreach my $number (@odd) {
        push @primes, $number if $number;
    }
    return \@primes;
}

sub print_primes {
    printf "Found %d prime numbers.\n", scalar @{ primes_up_to($ARGV[0]) };
}

# With a second argument: "ready", then once for each line on stdin.
$| = 1;
if (@ARGV < 2) {
    print_primes();
} else {
    print "ready\n";
    while (defined(my $line = <STDIN>)) {
        print_primes();
    }
}
