"""MLRsearch's own implementation, asked line by line: a goal and a range in, trials out, results in, the bounds out.

A line of input is a search: {"loss_ratio", "exceed_ratio", "width", "initial_s", "final_s", "sum_s", "least", "most"}.
For every trial a line {"load", "duration_s"} is printed, and a line {"offered", "lost"} read; at the end a line
{"throughput", "lower", "upper"} is printed, null where there is none.
"""

import json
import logging
import sys

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal


def say(message):
    print(json.dumps(message), flush=True)


class Asking(AbstractMeasurer):
    """Has the trials carried out by whoever reads."""

    def measure(self, intended_duration, intended_load):
        say({"load": intended_load, "duration_s": intended_duration})
        result = json.loads(sys.stdin.readline())
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=result["offered"],
            loss_count=result["lost"],
        )


def bound(load):
    return None if load is None else float(load)


def search(wanted):
    goal = SearchGoal(
        loss_ratio=wanted["loss_ratio"],
        exceed_ratio=wanted["exceed_ratio"],
        relative_width=wanted["width"],
        initial_trial_duration=wanted["initial_s"],
        final_trial_duration=wanted["final_s"],
        duration_sum=wanted["sum_s"],
        fail_fast=False,
    )
    config = Config()
    config.goals = [goal]
    config.max_load = wanted["most"]
    config.min_load = wanted["least"]
    config.warmup_duration = None
    found = MultipleLossRatioSearch(config=config).search(Asking(), debug=lambda text: None)[goal]
    say({
        "throughput": bound(found.conditional_throughput),
        "lower": bound(found.relevant_lower_bound),
        "upper": bound(found.relevant_upper_bound),
    })


logging.disable(logging.CRITICAL)
for line in sys.stdin:
    search(json.loads(line))
