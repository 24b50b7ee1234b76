"""Makes a page of what scripts/guest brought out of its guest, and adds the promises that figures break."""

import csv
import datetime
import json
import math
import pathlib
import sys

# Requests of an invocation that are none of its samples: the file is laid out, the speed is found, blocks are verified.
AROUND = 16

# Relay and netem agree if the whole 95 % interval of their ratio lies within a band. 1,600 lost and arrived echoes in ten
# invocations give the share that is lost to about 8 %.
BANDS = {"delay": (0.95, 1.05), "loss": (0.80, 1.25)}

folder = pathlib.Path(sys.argv[1])
broken = []


def document(name):
    return json.loads((folder / name).read_text())


def estimate(results, metric):
    return next(it["estimate"] for it in results if it["metric"] == metric)


def nfs_row(operation, block):
    """A row of the table, after its counts were compared with each other."""
    name = f"{operation}-{block}"
    results = document(f"{name}.json")["results"]
    each = estimate(results, "nfs_requests")
    with (folder / f"{name}.csv").open() as file:
        rates = [row for row in csv.DictReader(file) if row["metric"] == "rate"]
    operations = sum(int(row["iterations"]) for row in rates)
    invocations = len({row["invocation"] for row in rates})
    whole = int((folder / f"{name}.requests").read_text())
    if abs(each - 1) > 0.01:
        broken.append(f"{name}: mountstats counted {each} requests per operation")
    if not operations <= whole <= 1.01 * operations + AROUND * invocations:
        broken.append(f"{name}: {operations} operations, but {whole} requests over the whole run")
    traffic = [estimate(results, f"interface_{what}") for what in ("packets", "bytes")]
    rate = estimate(results, "rate")
    return f"| {operation} {block} | {operations} | {each:.4f} | {traffic[0]:.3f} | {traffic[1]:.0f} | {whole} | {rate:.0f} |"


def result(results, metric):
    return next(it for it in results if it["metric"] == metric)


def network_row(what, metric, factor, unit):
    """A row of the table: what netem gives, what the relay gives, and whether the two are equivalent."""
    netem, relay = (result(document(f"{kind}-{what}.json")["results"], metric) for kind in ("netem", "relay"))
    band = BANDS[what]
    if netem["low"] is None or relay["low"] is None or min(netem["low"], relay["low"]) <= 0:
        broken.append(f"{what}: no interval, or one that reaches 0")
        return f"| {what} | - | - | - | {band[0]:.2f} to {band[1]:.2f} | NO |"
    ratio, low, high = ratio_with_interval(relay, netem)
    agree = band[0] <= low and high <= band[1]
    if not agree:
        broken.append(f"{what}: the ratio of relay to netem is {ratio:.3f} [{low:.3f}, {high:.3f}]")
    shown = [f"{it['estimate'] * factor:.2f} [{it['low'] * factor:.2f}, {it['high'] * factor:.2f}] {unit}" for it in (netem, relay)]
    return f"| {what} | {shown[0]} | {shown[1]} | {ratio:.3f} [{low:.3f}, {high:.3f}] | {band[0]:.2f} to {band[1]:.2f} | {'yes' if agree else 'NO'} |"


def ratio_with_interval(one, other):
    """The ratio of two estimates with the interval that follows from theirs (MOVER: Zou and Donner 2008)."""
    log = {name: (math.log(it["low"]), math.log(it["estimate"]), math.log(it["high"])) for name, it in (("one", one), ("other", other))}
    (one_low, one_at, one_high), (other_low, other_at, other_high) = log["one"], log["other"]
    difference = one_at - other_at
    low = difference - math.hypot(one_at - one_low, other_high - other_at)
    high = difference + math.hypot(one_high - one_at, other_at - other_low)
    return math.exp(difference), math.exp(low), math.exp(high)


def main():
    kernel = (folder / "ended").read_text().strip()
    comparison = document("ab.json")["results"][0]
    plain, encrypted = comparison["arms"]
    ratio = comparison["against_first"][0]
    alone = estimate(document("run.json")["results"], "bandwidth")
    rows = [nfs_row(operation, block) for operation in ("write", "read") for block in ("1", "4KiB")]
    network = [network_row("delay", "latency p50", 1e3, "ms"), network_row("loss", "lost", 100, "%")]
    if broken:
        with (folder / "broken").open("a") as file:
            file.writelines(line + "\n" for line in broken)
    held = "**Checks failed.**" if (folder / "broken").exists() else "All checks passed."
    interval = "no interval" if ratio["low"] is None else f"{ratio['low']:.1f} to {ratio['high']:.1f}"
    print(f"""\
# In a guest: dm-crypt, NFS and netem

Written by `scripts/guest` on {datetime.date.today()} in an emulated guest (QEMU without KVM, 2 CPUs) with Debian's Linux {kernel}; do not edit. {held}

Emulation is slow and unsteady: these figures show that the features work and count correctly, not their speed.

## dm-crypt

`storage.sequential:operation=write,size=8MiB`, with `plumb run` on `ram:64MiB+dm-crypt+ext4`, and with `plumb ab` compared with `ram:64MiB+ext4`. After each, and 2 s after each of 5 kills (`kill -9` of plumb while the mapping existed), no mapping, device, loop device, mount or process may remain.

| | |
|---|---|
| encrypted, `plumb run` | {alone / 1e6:.0f} MB/s |
| plain, `plumb ab` | {plain['estimate'] / 1e6:.0f} MB/s |
| encrypted, `plumb ab` | {encrypted['estimate'] / 1e6:.0f} MB/s |
| cost of encrypted relative to plain | {ratio['ratio']:.1f}× ({interval}), {ratio['pairs']} pairs: {ratio['verdict'] or ratio['no_verdict']} |

## NFS

`storage.oneblock` on NFS 4.2 over TCP, served by the same guest's kernel from a folder in memory. Requests in mountstats may differ from operations by at most 1 % in the same batches. The count over the whole run, read outside plumb, includes a few more for layout, calibration and verification.

| operation | sampled operations | requests per operation | packets per operation | bytes on the interface per operation | requests in the whole run | ops/s |
|---|---|---|---|---|---|---|""")
    print("\n".join(rows))
    print("""
## The relay compared with netem

`network.icmp:rate=400/s`, 10 invocations of 4 s each, to a network namespace behind `tc netem` on both devices of a pair, and over
`path=veth` through plumb's relay, with the same delay of 10 ms or loss of 5 % each way (9.75 % of the echoes are then lost). The two agree
if the 95 % interval of their ratio lies within the band.

| | netem | relay | ratio | band | agree |
|---|---|---|---|---|---|""")
    print("\n".join(network))


main()
