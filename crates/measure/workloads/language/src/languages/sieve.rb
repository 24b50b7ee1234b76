# Finds the primes up to a limit. The same steps in every language:
# grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
# the root of the limit, collect 2 and what is left in a second list, and print its length.

def primes_up_to(limit)
  odd = []
  number = 3
  while number <= limit
    odd << number
    number += 2
  end
  root = Math.sqrt(limit).to_i
  length = odd.length
  factor = 3
  while factor <= root
    if odd[(factor - 3) / 2] != 0
      i = (factor * factor - 3) / 2
      while i < length
        odd[i] = 0
        i += factor
      end
    end
    factor += 2
  end
  primes = [2]
  odd.each { |item| primes << item if item != 0 }
  primes
end

def print_primes(limit)
  $stdout.puts "Found #{primes_up_to(limit).length} prime numbers."
  $stdout.flush
end

# With a second argument: "ready", then once for each line on stdin.
limit = ARGV[0].to_i
if ARGV.length < 2
  print_primes(limit)
else
  $stdout.puts "ready"
  $stdout.flush
  print_primes(limit) while $stdin.gets
end
