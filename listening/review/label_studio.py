"""A review taken to Label Studio and back: its items as tasks, its annotations as verdicts.

As at the desk, a task tells nothing of a system, a condition, a file or a rater: items are known by
their random place in the review. Label Studio's format is in its guide (task_format, tasks).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import quoteattr

from django.db import transaction

from listening.models import ReviewAssignment, Reviewer, ReviewItem, ReviewJob, Verdict
from listening.review.jobs import ReviewError
from listening.review.kinds import kind_named
from listening.review.kinds.clips import DEFECTS, FLAWED, SAID
from listening.review.kinds.codes import CodesKind
from listening.review.kinds.reasons import CHOICES
from listening.review.reviewers import from_elsewhere
from listening.review.shown_items import reasons_in, served_copies, show_clips
from listening.review.verdicts import MOST, Shut, store

KINDS = ("reasons", "codes", "clips")
FIRST = ReviewAssignment.Occasion.FIRST
NOTE, VERDICT, CODES, WHOLE, REGIONS = "note", "verdict", "codes", "whole", "regions"


@dataclass(frozen=True)
class Tasks:
    """What Label Studio is given; `copies` are stored sounds by the name that a task has."""

    tasks: list[dict[str, Any]]
    config: str
    copies: dict[str, str]


@dataclass
class Back:
    """What came back: how many verdicts are stored, by reviewer, and what was not taken.

    `new` are those that no earlier import had stored.
    """

    stored: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)


def check_kind(job: ReviewJob) -> None:
    if job.kind not in KINDS:
        title = kind_named(job.kind).title
        raise ReviewError(f"“{title}” is not available in Label Studio. Use the review page.")


def tasks_of(job: ReviewJob, clips_at: str) -> Tasks:
    """All items but those that train; `clips_at` is what stands before a clip's name."""
    check_kind(job)
    items = list(job.items.filter(gold__isnull=True).select_related("trial").order_by("position"))
    clips = job.kind == "clips"
    items = [each for each in items if not clips or each.stimulus_id]
    shown = _clips(job, items) if clips else _reasons(items)
    tasks: list[dict[str, Any]] = []
    copies: dict[str, str] = {}
    for item, data in zip(items, shown, strict=True):
        data |= {"review": job.pk, "item": item.position}
        if clips or kind_named(job.kind).hears(job):
            for place, copy in enumerate(served_copies(ReviewAssignment(item=item))[:2]):
                name = f"clip-{item.position:05d}{'-second' if place else ''}.flac"
                copies[name] = copy
                data["second" if place else "audio"] = f"{clips_at}{name}"
        tasks.append({"data": data})
    if not tasks:
        raise ReviewError("The review has only training items.")
    return Tasks(tasks, _config(job, tasks), copies)


def _reasons(items: Sequence[ReviewItem]) -> list[dict[str, Any]]:
    reasons = reasons_in([item.trial_id or 0 for item in items])
    return [
        {
            "answers": "\n".join(f"{a['question']} {a['label']}" for a in reason["answers"]),
            "reason": reason["reason"],
        }
        for reason in (reasons[item.trial_id or 0] for item in items)
    ]


def _clips(job: ReviewJob, items: Sequence[ReviewItem]) -> list[dict[str, Any]]:
    assignments = [ReviewAssignment(item=item) for item in items]
    with_text = bool(job.settings.get("show_text"))
    return [{"text": each["texts"][0]} for each in show_clips(assignments, with_text=with_text)]


def _config(job: ReviewJob, tasks: Sequence[Mapping[str, Any]]) -> str:
    """The labelling interface, as Label Studio reads it."""
    lines = [f"  <Header value={quoteattr(job.title)}/>"]
    heard = {name for task in tasks for name in ("audio", "second") if name in task["data"]}
    if job.kind == "clips":
        return _view([*lines, *_clips_config(bool(job.settings.get("show_text")))])
    lines += [f'  <Audio name="{name}" value="${name}"/>' for name in sorted(heard)]
    lines.append('  <Text name="answers" value="$answers"/>')
    lines.append('  <Text name="reason" value="$reason"/>')
    if job.kind == "reasons":
        lines += _choices(VERDICT, "reason", [(value, words) for _, value, words in CHOICES])
    else:
        codes = CodesKind().desk(kind_named(job.kind).settings_from(job.settings))["codes"]
        named = [(code["value"], code["label"]) for code in codes]
        lines += _choices(CODES, "reason", named, several=True)
    return _view([*lines, f'  <TextArea name="{NOTE}" toName="reason" placeholder="Note"/>'])


def _clips_config(with_text: bool) -> list[str]:
    named = [(key, title) for _, key, title, _ in DEFECTS]
    labels = [f"    <Label value={quoteattr(w)} alias={quoteattr(v)}/>" for v, w in named]
    return [
        '  <Audio name="audio" value="$audio"/>',
        *(['  <Text name="text" value="$text"/>'] if with_text else []),
        *_choices(VERDICT, "audio", list(SAID.items())),
        f'  <Labels name="{REGIONS}" toName="audio">',
        *labels,
        "  </Labels>",
        *_choices(WHOLE, "audio", named, several=True, required=False),
        f'  <TextArea name="{NOTE}" toName="audio" placeholder="Note"/>',
    ]


def _choices(
    name: str,
    of: str,
    values: Sequence[tuple[str, str]],
    *,
    several: bool = False,
    required: bool = True,
) -> list[str]:
    how = "multiple" if several else "single"
    required_attribute = ' required="true"' if required else ""
    return [
        f'  <Choices name="{name}" toName="{of}" choice="{how}"{required_attribute}>',
        *(f"    <Choice value={quoteattr(w)} alias={quoteattr(v)}/>" for v, w in values),
        "  </Choices>",
    ]


def _view(lines: Sequence[str]) -> str:
    return "\n".join(["<View>", *lines, "</View>", ""])


# --- Back -----------------------------------------------------------------------------------------


def take_back(job: ReviewJob, exported: Any, *, by: str) -> Back:
    """Verdicts of an export (JSON). The same annotation is stored once, however often it comes."""
    check_kind(job)
    if job.state != ReviewJob.State.OPEN:
        raise Shut("The review is not open. Open it and import again.")
    if not isinstance(exported, list) or not all(isinstance(t, Mapping) for t in exported):
        raise ReviewError("This is not a JSON export of Label Studio: it is not a list of tasks.")
    items = {item.position: item for item in job.items.filter(gold__isnull=True)}
    back = Back()
    sent: dict[str, list[dict[str, Any]]] = {}
    for task in exported:
        data = task.get("data")
        own = isinstance(data, Mapping) and data.get("review") == job.pk
        place = data.get("item") if own and isinstance(data, Mapping) else None
        item = items.get(place) if isinstance(place, int) else None
        if item is None:
            back.skipped["tasks that do not belong to this review"] += 1
            continue
        for each in _list(task.get("annotations")):
            _gather(job, item, each, sent, back)
    with transaction.atomic():  # all of a file, or nothing of it
        for who, verdicts in sorted(sent.items()):
            _store(from_elsewhere(job, who, by=by), verdicts, back)
    return back


def _list(value: Any) -> list[Any]:
    """What should be a list, and is empty where it is none."""
    return value if isinstance(value, list) else []


def _gather(
    job: ReviewJob, item: ReviewItem, each: Any, sent: dict[str, list[dict[str, Any]]], back: Back
) -> None:
    if not isinstance(each, Mapping) or each.get("was_cancelled"):
        back.skipped["annotations skipped in Label Studio"] += 1
        return
    result = [r for r in _list(each.get("result")) if isinstance(r, Mapping)]
    answer, note = _answer(job, result)
    annotation = each.get("unique_id") or each.get("id")
    name = f"earnest:label-studio/{job.pk}/{item.pk}/{annotation}/{each.get('updated_at')}"
    sent.setdefault(_who(each), []).append(
        {
            "key": str(uuid5(NAMESPACE_URL, name)),
            "item": item,
            "answer": answer,
            "note": note,
            "seconds": each.get("lead_time"),
            "at": str(each.get("updated_at") or each.get("created_at") or ""),
        }
    )


def _who(annotation: Mapping[str, Any]) -> str:
    """By number or address, whichever the export has."""
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")
    return f"Label Studio: {who}"[:120]


def _answer(job: ReviewJob, result: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    note = " ".join(_values(result, NOTE, "text"))
    if job.kind == "reasons":
        known = {words: value for _, value, words in CHOICES}
        return {"verdict": _one(_named(_values(result, VERDICT, "choices"), known))}, note
    if job.kind == "codes":
        settings = kind_named(job.kind).settings_from(job.settings)
        titles = {c["label"]: c["value"] for c in CodesKind().desk(settings)["codes"]}
        return {"codes": _named(_values(result, CODES, "choices"), titles), "spans": []}, note
    titles = {title: key for _, key, title, _ in DEFECTS}
    verdicts = {words: value for value, words in SAID.items()}
    whole = _named(_values(result, WHOLE, "choices"), titles)
    defects: list[dict[str, Any]] = [{"what": what, "seconds": None} for what in whole]
    for each in result:
        if each.get("from_name") == REGIONS and isinstance(value := each.get("value"), Mapping):
            seconds = [value.get("start"), value.get("end")]
            named = _named(_list(value.get("labels")), titles)
            defects += [{"what": what, "seconds": seconds} for what in named]
    verdict = _one(_named(_values(result, VERDICT, "choices"), verdicts))
    return {"verdict": verdict or (FLAWED if defects else ""), "defects": defects}, note


def _values(result: Sequence[Mapping[str, Any]], name: str, key: str) -> list[str]:
    texts: list[str] = []
    for each in result:
        value = each.get("value")
        if each.get("from_name") == name and isinstance(value, Mapping):
            entries = value.get(key) or []
            texts += [str(v) for v in (entries if isinstance(entries, list) else [entries])]
    return texts


def _named(words: Sequence[Any], known: Mapping[str, str]) -> list[str]:
    """By the words of the page, or by their aliases, which exports have where there are some."""
    return [known.get(str(each), str(each)) for each in words]


def _one(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ""


def _store(reviewer: Reviewer, verdicts: Sequence[Mapping[str, Any]], back: Back) -> None:
    """Oldest first, so that the newest verdict of an item holds."""
    sent: list[dict[str, Any]] = []
    for each in sorted(verdicts, key=lambda verdict: str(verdict["at"])):
        assignment, _ = ReviewAssignment.objects.get_or_create(
            item=each["item"], reviewer=reviewer, occasion=FIRST
        )
        sent.append({**each, "item": str(assignment.code)})
    for start in range(0, len(sent), MOST):
        part = sent[start : start + MOST]
        keys = [each["key"] for each in part]
        before = set(map(str, Verdict.objects.filter(key__in=keys).values_list("key", flat=True)))
        response = store(reviewer, part)
        back.stored[str(reviewer)] += len(response.keys)
        back.new[str(reviewer)] += len(set(response.keys) - before)
        back.skipped.update(f"annotations: {why}" for _, why in response.refused)
