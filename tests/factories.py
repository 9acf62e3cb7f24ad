"""Small studies made straight in the database, without audio files: for rules, not for pages."""

import secrets
from typing import Any

from django.contrib.auth.models import User

from listening.design.occasions import answer_keys
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.methods import method_named
from listening.models import Condition, Criterion, Item, Session, Stimulus, Study, Task, Trial
from listening.sessions import allocation, lifecycle
from listening.sessions.answers import Answer
from listening.sessions.lifecycle import Arrival

ATT_TRAPS = {
    "placement": "outside",
    "per": 10,
    "kinds": [
        {"kind": "flawed", "count": 1, "expected": ["Machine"], "pass_at_least": 1},
        {"kind": "human", "count": 2, "expected": ["Human"], "pass_at_least": 1},
    ],
}
CLIP_S = 5.0


def make_user(name: str = "researcher", **fields: Any) -> User:
    return User.objects.get_or_create(username=name, defaults=fields)[0]


def make_material(study: Study, conditions: int, items: int, traps: dict[str, int]) -> None:
    made = Condition.objects.bulk_create(
        [
            *(Condition(study=study, key=f"cond-{c}") for c in range(conditions)),
            Condition(study=study, key="trap", role="trap"),
        ]
    )
    kinds = [kind for kind, count in traps.items() for _ in range(count)]
    numbers = [k for count in traps.values() for k in range(count)]
    keys = [f"item-{i}" for i in range(items)]
    keys += [f"{kind}-{k}" for kind, k in zip(kinds, numbers, strict=True)]
    texts = Item.objects.bulk_create(Item(study=study, key=key) for key in keys)
    stimuli = [a_stimulus(study, c, item) for c in made[:-1] for item in texts[:items]]
    for kind, item in zip(kinds, texts[items:], strict=True):
        stimuli.append(a_stimulus(study, made[-1], item, trap=kind))
    Stimulus.objects.bulk_create(stimuli)


def make_stimulus(study: Study, condition: Condition, item: Item, trap: str = "") -> Stimulus:
    made = a_stimulus(study, condition, item, trap)
    made.save()
    return made


def a_stimulus(study: Study, condition: Condition, item: Item, trap: str = "") -> Stimulus:
    """One that is not in the database yet."""
    name = secrets.token_hex(16)
    return Stimulus(
        study=study,
        key=f"{condition.key}_{item.key}",
        condition=condition,
        item=item,
        trap=trap,
        file=f"audio/{name}.wav",
        original=f"originals/{name[:2]}/{name}.wav",
        served=f"served/{name[:2]}/{name}.flac",
        sha256=secrets.token_hex(32),
        served_sha256=secrets.token_hex(32),
        duration_s=CLIP_S,
        sample_rate_hz=16_000,
        channels=1,
    )


def add_task(study: Study, *, method: str = "mos", key: str = "", **fields: Any) -> Task:
    defaults: dict[str, Any] = {"block_size": 5, "ratings_per_stimulus": 2}
    task = Task.objects.create(
        study=study,
        key=key or method,
        order=study.tasks.count(),
        method=method,
        **{**defaults, **fields},
    )
    scale = method_named(method).scale(task.options).as_dict()
    Criterion.objects.create(
        task=task, key="naturalness", order=0, question="How natural?", scale=scale
    )
    return task


def make_study(
    *,
    conditions: int = 3,
    items: int = 10,
    traps: dict[str, int] | None = None,
    task: dict[str, Any] | None = None,
    **fields: Any,
) -> Study:
    """An open study with one planned task; more tasks: add_task, then allocation.plan_study."""
    key = fields.pop("key", f"study-{secrets.token_hex(4)}")
    study = Study.objects.create(
        owner=make_user(), key=key, title="A study", state=Study.State.OPEN, seed=1, **fields
    )
    make_material(study, conditions, items, traps or {})
    add_task(study, **(task or {}))
    allocation.plan_study(study)
    return study


def kept_keys(study: Study) -> set[str]:
    """Under which keys a rater of all tasks has answers to questionnaires in the end."""
    plans = plans_of(study.tasks.order_by("order"))
    return {key for each in study.questionnaires for key, _ in answer_keys(each, plans)}


def arrive(study: Study, **fields: Any) -> Session:
    return lifecycle.start(study, Arrival(**{"simulated": True, **fields}))


NEXT_TRIAL = """
    SELECT * FROM listening_trial WHERE session_id = %s AND state = 'planned'
    ORDER BY position LIMIT 1
"""


def current(session: Session) -> Any:
    """The next trial; Django builds no query for it, and reads its task once a session."""
    for trial in Trial.objects.raw(NEXT_TRIAL, [session.pk]):
        tasks = session.__dict__.setdefault("tasks_read", {})
        trial.session = session
        if trial.task_id not in tasks:
            tasks[trial.task_id] = trial.task
        trial.task = tasks[trial.task_id]
        return trial
    return None


FACTS = {
    "heard_s": [2.0],
    "duration_s": [2.0],
    "plays_each": [1],
    "stalls": 0,
}  # as pages send them


def labels_of(trial: Any) -> list[str]:
    """The labels of the first criterion, which has at least one; read once a task."""
    if not hasattr(trial.task, "labels"):
        trial.task.labels = [s["label"] for s in trial.task.criteria.first().scale["steps"]]
    labels: list[str] = trial.task.labels
    return labels


def an_answer(trial: Any, label: str = "", **fields: Any) -> Answer:
    return Answer(
        trial=trial.code,
        labels={"0": label or labels_of(trial)[0]},
        **{
            "justification": {"text": "the rhythm is unlike a person's"},
            "latency_ms": 1000,
            "plays": 1,
            "heard_fraction": 1.0,
            "playback": FACTS,
            **fields,
        },
    )


def answer_all(session: Session, *, pass_traps: bool = True, stop_after: int = 10**6) -> int:
    """Answer what the session still holds, in order; how many answers that were."""
    count = 0
    while count < stop_after and (trial := current(session)) is not None:
        label = ""
        if trial.expected:
            wrong = [each for each in labels_of(trial) if each not in trial.expected]
            label = trial.expected[0] if pass_traps else wrong[0]
        lifecycle.record_answer(session, an_answer(trial, label))
        count += 1
    session.refresh_from_db()
    return count
