-- Finds the primes up to a limit. The same steps in every language:
-- grow a list of the odd numbers from 3, cross out the multiples of each odd number that is left, up to
-- the root of the limit, collect 2 and what is left in a second list, and print its length.

local function primes_up_to(limit)
  local odd = {}
  for number = 3, limit, 2 do
    odd[#odd + 1] = number
  end
  local root = math.floor(math.sqrt(limit))
  local length = #odd
  for factor = 3, root, 2 do
    -- Lists begin at 1.
    if odd[math.floor((factor - 1) / 2)] ~= 0 then
      for i = math.floor((factor * factor - 1) / 2), length, factor do
        odd[i] = 0
      end
    end
  end
  local primes = { 2 }
  for i = 1, length do
    if odd[i] ~= 0 then
      primes[#primes + 1] = odd[i]
    end
  end
  return primes
end

local function print_primes()
  print("Found " .. #primes_up_to(tonumber(arg[1])) .. " prime numbers.")
  io.stdout:flush()
end

-- With a second argument: "ready", then once for each line on stdin.
if not arg[2] then
  print_primes()
else
  print("ready")
  io.stdout:flush()
  for _ in io.lines() do
    print_primes()
  end
end
