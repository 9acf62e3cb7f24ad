"""An Audio Turing Test of the paper's size through the desk to its report, all of it known.

Five scripted experts with known error rates judge each reason twice, through the desk's doors; a
sixth decides where two differ. Then: the agreement that is measured beside the one that the error
rates give; how much of what was decided is true; the main conclusion without any rule, under each
rule alone and under all, beside the truth; and what an export costs without and with the verdicts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_papers import HEAD, Bench
from benchmarks.bench_review import Scripted, check, doors, judged
from benchmarks.desk_world import KEY, RATERS, World, att_world
from benchmarks.house import machine_facts, own_house, print_table, web_process

ERRORS = (0.04, 0.06, 0.08, 0.10, 0.12)  # of the five
THIRD = 0.05  # of the one who decides where two differ
LOT = 40  # verdicts in one request; one in each, as the page sends them: bench_review.py
DECIDED = ("screening", "kept", "raters", "careless kept", "RMSE", "bias", "claimed", "false")


def through_the_desk(job: Any, world: World, port: int) -> list[Scripted]:
    """Judged by five, with a kill in the middle; then by the third one."""
    from listening import review
    from listening.models import Justification

    people, _ = judged(job, world.reasons, port, ERRORS, lot=LOT)
    print(check(job, world.reasons, people), flush=True)
    by_text = {t: world.reasons[pk] for pk, t in Justification.objects.values_list("trial", "text")}
    link = review.invite(job, 30, by=job.study.owner.username, adjudicates=True)
    desk = "/" + link.split("/", 3)[3]
    third = Scripted(f"http://localhost:{port}", desk, by_text, 99, THIRD, LOT)
    with web_process():
        third.start()
        third.join()
    review.set_state(job, "closed", by="bench")
    return people


# --- Agreement and truth -------------------------------------------------------------------------


def kappas(job: Any, world: World) -> list[list[object]]:
    """Each measure beside what the error rates and the share of unfit reasons give."""
    from analysis.statistics.agreement.nominal import alpha, cohen_kappas, first_verdicts
    from listening.selectors import review_verdicts

    verdicts = first_verdicts(review_verdicts(KEY, job.pk))
    words = list(world.reasons.values())
    unfit = words.count("unfit") / len(words)
    pairs = cohen_kappas(verdicts, ["fit", "unfit"])
    expected = {
        (a + 1, b + 1): expected_kappa(unfit, ERRORS[a], ERRORS[b])
        for a, b in combinations(range(len(ERRORS)), 2)
    }
    rows: list[list[object]] = []
    for pair, measure in pairs.items():
        rows.append(_compared(f"Cohen's kappa, {pair[0]} and {pair[1]}", measure, expected[pair]))
    whole = expected_alpha(unfit, {pair: measure.items for pair, measure in pairs.items()})
    rows.append(_compared("Krippendorff's alpha", alpha(verdicts, ["fit", "unfit"]), whole))
    return rows


def _compared(name: str, measure: Any, expected: float) -> list[object]:
    if measure.low is None:  # too few that differ
        return [name, measure.items, measure.note, "", f"{expected:.3f}", ""]
    held = "yes" if measure.low <= expected <= measure.high else "no"
    interval = f"{measure.low:.3f} to {measure.high:.3f}"
    return [name, measure.items, f"{measure.value:.3f}", interval, f"{expected:.3f}", held]


def expected_kappa(unfit: float, a: float, b: float) -> float:
    says = [unfit * (1 - e) + (1 - unfit) * e for e in (a, b)]
    chance = says[0] * says[1] + (1 - says[0]) * (1 - says[1])
    return (agreed(a, b) - chance) / (1 - chance)


def agreed(a: float, b: float) -> float:
    return (1 - a) * (1 - b) + a * b


def expected_alpha(unfit: float, items: Mapping[tuple[int, int], int]) -> float:
    """Of two verdicts an item, whoever gave them; items by the pair who judged them."""
    total = sum(items.values())
    apart = sum(n * (1 - agreed(ERRORS[a - 1], ERRORS[b - 1])) for (a, b), n in items.items())
    errors = sum(n * (ERRORS[a - 1] + ERRORS[b - 1]) / 2 for (a, b), n in items.items()) / total
    said = unfit * (1 - errors) + (1 - unfit) * errors
    return 1 - apart / total / (2 * said * (1 - said))


def truths(job: Any, world: World) -> list[list[object]]:
    """By rule: how much it decides, how much of that is true, what it takes and misses."""
    from listening.review import change_job
    from listening.review.outcomes import used_reviews

    unfit = {pk for pk, word in world.reasons.items() if word == "unfit"}
    rows: list[list[object]] = []
    for rule in ("all_agree", "adjudicated"):
        change_job(job, by="bench", rule=rule, resolving="third", in_use=True)
        decided = used_reviews(world.study)
        right = sum(world.reasons[pk] == word for pk, word in decided.items())
        taken = {pk for pk, word in decided.items() if word == "unfit"}
        found, sound = len(taken & unfit) / len(unfit), len(taken & unfit) / len(taken)
        shares = (len(decided) / len(world.reasons), right / len(decided), found, sound)
        rows.append([rule, *(f"{share:.1%}" for share in shares)])
    return rows


# --- The main conclusion under each rule ---------------------------------------------------------


def schemes_tried(table: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """No rule, each rule of the study and each that a form offers, those in force, all."""
    from analysis.statistics.screening.offered import optional_rules
    from analysis.web.study_tables import study_rules

    own = study_rules(KEY)
    kinds = set(table["trap"]) - {""}
    offered = [r for r in optional_rules({"att"}, kinds) if not r.lacking(table) and r not in own]
    yield "no rule", ()
    for rule in (*own, *offered):
        yield rule.key, (rule,)
    yield "in force", own
    for rule in offered:
        yield f"in force and {rule.key}", (*own, rule)
    yield "all", (*own, *offered)


def conclusions(world: World) -> list[list[object]]:
    from analysis.ratings.table import from_study
    from analysis.statistics.robustness import under_rules
    from analysis.statistics.screening.screened import screen

    table = from_study(KEY)
    schemes = list(schemes_tried(table))
    every = list(dict.fromkeys(rule for _, rules in schemes for rule in rules))
    screened = screen(table, every)
    rows: list[list[object]] = []
    for name, rules in schemes:
        kept = screened.kept(rules)
        if rows and len(kept) == rows[0][1]:
            print(f"{name}: takes nothing")
            continue
        if not len(kept):
            rows.append([name, 0, 0, *[""] * (len(DECIDED) - 3)])
            continue
        (variants,) = under_rules([((name, rules), kept)], "", "", 0.95).values()
        rows.append([name, *against_truth(kept, variants[0].found, world)])
    return rows


def against_truth(kept: Any, found: Mapping[Any, Any], world: World) -> list[object]:
    """Means and claims beside what is true; a claim is false where the truth has it turned."""
    means = kept.groupby("condition", observed=True)["score"].mean()
    off = np.array([means[voice] - true for voice, true in world.means.items()])
    claimed = [(a, b) if one.value > 0 else (b, a) for (a, b), one in found.items() if one.claimed]
    false = sum(world.means[a] <= world.means[b] for a, b in claimed)
    slack = kept["rater"].isin(world.careless).sum() / len(kept)
    rmse, bias = float(np.sqrt((off**2).mean())), float(off.mean())
    shown = (f"{slack:.1%}", f"{rmse:.4f}", f"{bias:+.4f}")
    return [len(kept), kept["rater"].nunique(), *shown, f"{len(claimed)} of {len(found)}", false]


def reading(job: Any) -> list[list[object]]:
    """CPU seconds of reading the ratings, without and with what the review came to."""
    from listening.review import change_job
    from listening.selectors import rating_rows

    rows: list[list[object]] = []
    for in_use in (False, True):
        change_job(job, by="bench", rule=job.rule, resolving=job.resolving, in_use=in_use)
        began = time.process_time()
        count = sum(bool(row["review"]) for row in rating_rows(KEY))
        rows.append([f"{count} ratings with a verdict", time.process_time() - began])
    return rows


def exports(bench: Bench, job: Any) -> None:
    from listening.review import change_job

    for words, in_use in (("without", False), ("with", True)):
        change_job(job, by="bench", rule=job.rule, resolving=job.resolving, in_use=in_use)
        out = ["--preset", KEY, "--everything", "--out", str(bench.var / words)]
        bench.step(KEY, f"export {words} verdicts", "export_study", KEY, *out)


def measure(var: Path, port: int, raters: int) -> None:
    from listening import review
    from listening.models import Verdict
    from listening.review import Plan

    facts, began = machine_facts(), time.perf_counter()
    world = att_world(raters)
    said = f"{len(world.reasons)} reasons, {len(world.careless)} careless raters"
    print(f"{facts}\n{said}, in {time.perf_counter() - began:.0f} s", flush=True)
    plan = Plan("reasons", "Do they fit?", resolving="third", rule="adjudicated")
    job, began = review.make_job(world.study, plan, by="bench"), time.perf_counter()
    people = through_the_desk(job, world, port)
    took = time.perf_counter() - began
    print(f"{Verdict.objects.count()} verdicts in {took:.0f} s", flush=True)
    print_table(("door", "requests", "p50 ms", "p99 ms", "max ms"), doors(people))
    print_table(("measure", "items", "value", "95 %", "expected", "in it"), kappas(job, world))
    print_table(
        ("rule", "decided", "true of it", "unfit found", "unfit rightly"), truths(job, world)
    )
    print_table(DECIDED, conclusions(world))
    print_table(("reading", "CPU s"), reading(job))
    bench = Bench(var, port)
    exports(bench, job)
    print_table(HEAD, bench.rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 raters")
    parser.add_argument("--port", type=int, default=8144)
    options = parser.parse_args()
    with own_house(options.port, 1) as var:
        from config.run.preparation import collect_static

        collect_static()
        measure(var, options.port, 100 if options.quick else RATERS)


if __name__ == "__main__":
    main()
