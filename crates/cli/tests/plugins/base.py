#!/usr/bin/env -S python3 -ES
# A plug-in that is right, quick, and made to be broken: tests replace functions below.
import json, os, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
ID = "test." + os.path.basename(HERE)
MORE = {}


def say(request, **reply):
    print(json.dumps({"id": request["id"], **reply}), flush=True)


def note(text):
    with open(os.path.join(HERE, "notes"), "a") as file:
        file.write(f"{text}\n")


def child(arguments=(), **options):
    """A process that outlives this one, with no pipe of it; its id is noted."""
    import subprocess
    null = subprocess.DEVNULL
    process = subprocess.Popen(["sleep", "98765", *arguments], stdin=null, stdout=null, stderr=null,
                               start_new_session=True, **options)
    note(process.pid)
    return process


def hello(request):
    say(request, type="hello", protocol=1, max_line=1 << 20)


def describe(request):
    metrics = [{"name": "time", "unit": "s", "better": "lower", "source": "time"}]
    say(request, type="description", description={
        "id": ID, "version": 1, "summary": "a test", "roles": ["workload"], "metrics": metrics, **MORE})


def start(request):
    say(request, type="ready", clock=dict(id="monotonic", unit="ns", kind="wall", resolution_ns=50))


def calibrate(request):
    say(request, type="calibrated", iterations=1000, elapsed_ns=request["target_ns"])


def columns(iterations):
    """Samples that never happened: a microsecond an iteration."""
    count = len(iterations)
    return dict(start_ns=[time.monotonic_ns()] * count, elapsed_ns=[1000 * k for k in iterations],
                iterations=iterations, cpu=[-1] * count)


def sample(request):
    say(request, type="samples", **columns(request["iterations"]))


def stream(request):
    while True:
        time.sleep(request["interval_ns"] / 1e9)
        say(request, type="samples", **columns([1]))


def prepare(request):
    say(request, type="ready")


def clean(request):
    say(request, type="done")


def stop(request):
    say(request, type="done")
    sys.exit(0)


def ends(how):
    """From now on it ends like this once it has answered."""
    global stop

    def stop(request):
        say(request, type="done")
        how()


def serve():
    for line in sys.stdin:
        request = json.loads(line)
        globals()[request["type"]](request)
