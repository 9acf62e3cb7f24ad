"""The review desk: 10,000 reasons, five scripted reviewers at once, through its doors.

Each errs at a known rate, so that what two agree about, and how much of it is true, is known, too.
In the middle the web process is killed and started again. Reviewers send again what was not
answered, as the page does; now and then one reloads the page and loses what was fetched ahead.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import (
    Meter,
    family,
    machine_facts,
    own_house,
    percentile,
    postgres_of,
    print_table,
    web_process,
)

ERROR = 0.08  # of each scripted reviewer
RELOAD = 0.05  # of the lots of items that were fetched: the page is loaded anew in the middle
GIVE_UP_S = 120
UNFIT = 0.12  # of the reasons
PER_SESSION = 25
WORDS = "the voice is flat and each word has equal weight while pauses come where nobody breathes"
WRITE = """
INSERT INTO listening_rater (code, simulated, created_at)
    SELECT 'r-bench' || n, false, now() FROM generate_series(0, %(sessions)s - 1) n;
INSERT INTO listening_session (rater_id, study_id, code, status, prolific_study, prolific_session,
        source, external_session, consent_version, language, wording_first, wording_last, ready,
        checks, questionnaires, comment, device, short, review, rejected_because, paid, origin,
        browser_of, pilot, agent, started_at)
    SELECT id, %(study)s, code, 'finished', '', '', '', '', '1', '', 0, 0, true, '{}', '{}', '',
        'desktop', false, '', '', false, '', '', false, '', now()
    FROM listening_rater WHERE code LIKE 'r-bench%%';
INSERT INTO listening_trial (session_id, rater_id, task_id, block_id, code, position, stimulus_id,
        versus_first, others, context, item_id, trap, expected, state, answered_at, latency_ms,
        plays, heard_fraction, playback, fetched)
    SELECT s.id, s.rater_id, %(task)s,
        (SELECT min(id) FROM listening_block WHERE task_id = %(task)s),
        't' || s.id || '-' || k, k, x.id, false, '{}', '{}', x.item_id,
        '', '[]', 'answered', now(), 2000, 1, 1, '{}', 1
    FROM listening_session s, generate_series(0, %(per)s - 1) k
    JOIN LATERAL (SELECT id, item_id FROM listening_stimulus WHERE study_id = %(study)s
        AND trap = '' ORDER BY id OFFSET k LIMIT 1) x ON true WHERE s.study_id = %(study)s;
INSERT INTO listening_rating (trial_id, criterion_id, stimulus_id, label, counts, rated_at)
    SELECT t.id, %(criterion)s, t.stimulus_id, 'Fair', false, now() FROM listening_trial t;
"""


def written(reasons: int) -> tuple[Any, dict[int, str]]:
    """A study with so many reasons, and what is true of each trial's."""
    from django.db import connection

    from listening.models import Justification, Trial
    from tests.factories import make_study

    study, rng = make_study(key="review-bench", conditions=4, items=50), Random(1)
    task = study.tasks.get()
    values = {
        "study": study.pk,
        "task": task.pk,
        "criterion": task.criteria.get().pk,
        "sessions": reasons // PER_SESSION,
        "per": PER_SESSION,
    }
    with connection.cursor() as cursor:
        cursor.execute(WRITE, values)
    trials = list(Trial.objects.values_list("pk", flat=True))
    Justification.objects.bulk_create(
        Justification(trial_id=pk, text=" ".join(rng.sample(WORDS.split(), 11)), keystrokes=60)
        for pk in trials
    )
    return study, {pk: "unfit" if rng.random() < UNFIT else "fit" for pk in trials}


class Scripted(threading.Thread):
    """A reviewer who answers at once, and errs now and then."""

    def __init__(
        self, base: str, desk: str, truth: Mapping[str, str], seed: int, error: float, lot: int = 1
    ) -> None:
        super().__init__()
        self.browser = httpx.Client(base_url=base, timeout=60)
        self.desk, self.truth, self.rng, self.error = desk, truth, Random(seed), error
        self.lot = lot  # so many verdicts in one request
        self.took: dict[str, list[float]] = {"next": [], "verdicts": []}
        self.stored: list[str] = []  # the keys that the server said it has
        self.again = self.reloads = 0

    def ask(self, door: str, body: dict[str, Any]) -> Any:
        """Asked until it is answered, as the page does; what waited for a server is not timed."""
        token = {"X-CSRFToken": self.browser.cookies["csrftoken"]}
        until = time.monotonic() + GIVE_UP_S
        while True:
            began = time.perf_counter()
            try:
                reply = self.browser.post(f"{self.desk}{door}/", json=body, headers=token)
                break
            except httpx.TransportError:
                if time.monotonic() > until:
                    raise
                self.again += 1
                time.sleep(0.5)
        reply.raise_for_status()
        self.took[door].append(1000 * (time.perf_counter() - began))
        return reply.json()

    def run(self) -> None:
        self.browser.get(self.desk).raise_for_status()
        while items := self.ask("next", {"want": 40})["items"]:
            if len(items) > 1 and self.rng.random() < RELOAD:
                items = items[: len(items) // 2]
                self.reloads += 1
            for first in range(0, len(items), self.lot):
                sent = [self.verdict(each) for each in items[first : first + self.lot]]
                self.stored += self.ask("verdicts", {"verdicts": sent})["stored"]

    def verdict(self, item: Mapping[str, Any]) -> dict[str, Any]:
        right = self.truth[item["reason"]]
        wrong = self.rng.random() < self.error
        said = {"fit": "unfit", "unfit": "fit"}[right] if wrong else right
        answer = {"verdict": said}
        return {"key": str(uuid4()), "item": item["item"], "answer": answer, "seconds": 3.0}


def judged(
    job: Any, truth: Mapping[int, str], port: int, errors: Sequence[float], *, lot: int = 1
) -> tuple[list[Scripted], list[float]]:
    """All of it, by so many at once, with a kill in the middle; CPU seconds of the web process."""
    from listening import review
    from listening.models import Justification

    by_text = {text: truth[pk] for pk, text in Justification.objects.values_list("trial", "text")}
    review.set_state(job, "open", by="bench")
    links = [review.invite(job, 30, by=job.study.owner.username) for _ in errors]
    desks = ["/" + link.split("/", 3)[3] for link in links]
    base = f"http://localhost:{port}"
    people = [
        Scripted(base, desk, by_text, seed, error, lot)
        for seed, (desk, error) in enumerate(zip(desks, errors, strict=True))
    ]
    middle, used = job.per_item * len(truth) // 2, []
    with web_process() as web:
        meter = Meter(web=partial(family, web))
        for each in people:
            each.start()
        while sum(len(each.stored) for each in people) < middle:
            if not any(each.is_alive() for each in people):
                sys.exit("All reviewers stopped before the middle.")
            time.sleep(0.2)
        used.append(meter.read()["web"])
        for process in family(web):
            process.kill()
    with web_process() as web:
        meter = Meter(web=partial(family, web))
        for each in people:
            each.join()
        used.append(meter.read()["web"])
    return people, used


def check(job: Any, truth: Mapping[int, str], people: Sequence[Scripted]) -> str:
    """Exactly as many verdicts as were wanted, none twice to one person, none lost."""
    from listening.models import ReviewAssignment, Verdict

    rows = ReviewAssignment.objects.filter(item__job=job, answered_at__isnull=False, occasion=1)
    given = list(rows.values_list("item", "reviewer"))
    wanted = job.per_item * job.items.count()
    if not len(given) == len(set(given)) == wanted:
        sys.exit(f"{len(given)} verdicts, {len(set(given))} different; wanted {wanted}")
    said = [key for each in people for key in each.stored]
    kept = {str(key) for key in Verdict.objects.values_list("key", flat=True)}
    if len(said) != len(set(said)) or set(said) != kept:
        sys.exit(f"{len(said)} were acknowledged, {len(set(said))} different, {len(kept)} are kept")
    again, reloads = (sum(getattr(each, name) for each in people) for name in ("again", "reloads"))
    return (
        f"Every item was judged by {job.per_item}, none twice by one person. After a kill of the "
        f"web process ({again} requests sent again) and {reloads} reloads, the {len(said)} "
        "verdicts that were acknowledged are those that are kept, each once."
    )


def recovered(job: Any, truth: Mapping[int, str]) -> str:
    """What two agree about and how much of it is true, beside what the error rate says."""
    from listening.review.outcomes import outcomes_of

    decided = {each.trial: each.category for each in outcomes_of(job) if each.category}
    right = sum(truth[pk or 0] == word for pk, word in decided.items())
    expected = (1 - ERROR) ** 2 + ERROR**2
    return (
        f"Both agree about {len(decided) / len(truth):.1%} (expected {expected:.1%}); of these "
        f"{right / len(decided):.1%} are true (expected {(1 - ERROR) ** 2 / expected:.1%})."
    )


def doors(people: Sequence[Scripted]) -> list[list[object]]:
    return [
        [door, len(every), percentile(every, 0.5), percentile(every, 0.99), max(every)]
        for door in ("next", "verdicts")
        for every in [[t for each in people for t in each.took[door]]]
    ]


def pages(study: Any, job: Any) -> list[list[object]]:
    from listening.review.claiming import job_progress, reviewers_progress
    from listening.review.items import rows_of
    from listening.selectors import rating_rows, ratings_state, review_verdicts

    acts: dict[str, Callable[[], object]] = {
        "progress of the job": lambda: job_progress(job),
        "progress of reviewers": lambda: reviewers_progress(job),
        "verdicts for agreement": lambda: review_verdicts(study.key, job.pk),
        "items, evidence made": lambda: rows_of(job, sort="copies"),
        "items, evidence kept": lambda: rows_of(job, sort="copies"),
        "mark of the ratings": lambda: ratings_state(study.key),
        "ratings with verdicts": lambda: list(rating_rows(study.key)),
    }
    rows: list[list[object]] = []
    for name, act in acts.items():
        began = time.perf_counter()
        act()
        rows.append([name, 1000 * (time.perf_counter() - began)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="250 reasons")
    parser.add_argument("--reviewers", type=int, default=5)
    parser.add_argument("--port", type=int, default=8143)
    options = parser.parse_args()
    with own_house(options.port, 1) as var:
        from config.run.preparation import collect_static
        from listening import review
        from listening.models import Verdict
        from listening.review import Plan

        collect_static()
        facts = machine_facts()
        study, truth = written(250 if options.quick else 10_000)
        began = time.perf_counter()
        job = review.make_job(study, Plan("reasons", "Bench"), by="bench")
        print(f"{len(truth)} reasons drawn in {time.perf_counter() - began:.1f} s", flush=True)
        began, meter = time.perf_counter(), Meter(postgres=partial(postgres_of, var))
        people, web = judged(job, truth, options.port, [ERROR] * options.reviewers)
        took, count = time.perf_counter() - began, Verdict.objects.count()
        print(f"{count} verdicts in {took:.0f} s: {count / took:.0f} a second", flush=True)
        cpu = f"{sum(web):.0f} of the web process, {meter.read()['postgres']:.0f} of PostgreSQL"
        print(f"CPU seconds: {cpu}\n{check(job, truth, people)}\n{recovered(job, truth)}")
        print(f"\n{facts}")
        print_table(("door", "requests", "p50 ms", "p99 ms", "max ms"), doors(people))
        print_table(("what", "ms"), pages(study, job))


if __name__ == "__main__":
    main()
