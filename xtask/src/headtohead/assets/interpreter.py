# Rounds of what scripts do: a dictionary, text and a call.
import sys


def entry(number, seen):
    key = "key %d" % (number % 97)
    seen[key] = seen.get(key, 0) + len(key.split())
    return seen[key]


seen = {}
total = 0
for number in range(int(sys.argv[1])):
    total += entry(number, seen)
print(total)
