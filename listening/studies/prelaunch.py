"""What a researcher should know before raters come: audio that is missing, odd, or betrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from random import Random
from statistics import median

from django.core.cache import cache
from redis.exceptions import RedisError

from listening import audio
from listening.audio.appearance import MEAN_PAD_S, sample_appearance
from listening.audio.leaks import Leak, Sighting, facts_of, facts_of_metadata, leaks, mark_facts
from listening.design.settings import derive
from listening.design.sources import sources_of
from listening.design.studyfile.drawing import is_scattered
from listening.design.studyfile.problems import quoted
from listening.design.traps import TRAINING, TrapPlan
from listening.methods import method_named
from listening.methods.error_spans import HeardPart, read_spans
from listening.methods.method import ALTERNATIVES, PROMPT
from listening.models import Stimulus, Study, Task
from listening.sessions.allocation import material_of, trials_of
from listening.sessions.line_marks import marked_lines, moved
from listening.studies.design_findings import design_findings
from listening.studies.exporting import study_as_file
from listening.studies.findings import CLIPS, Finding, problem, warning
from listening.studies.length import session_length
from listening.studies.sound_findings import MeasuredClip, sound_findings

FINDINGS_CACHE_S = 600
MAX_LOUDNESS_SPREAD_LU = 6.0
MAX_MISSED_LU = 0.5  # of the loudness that all clips are brought to
MOST_LOOKED_AT = 300  # clips that are attacked
TWICE_LOOKED_AT = 40  # clips that are compared with themselves in another trial
MOST_LEAKS = 6  # named
MIN_SET_SHARE = 0.9  # of the rated clips that a set of traps should stand beside
AGAIN, SEND_AGAIN = "Import the study again.", "Upload the file again, and check every clip again."
MAX_LENGTH_RATIO = 3.0  # median of a condition against that of all, item by item


def check_study(study: Study) -> list[Finding]:
    """Everything worth knowing, problems first."""
    stimuli = list(study.stimuli.select_related("condition", "item").order_by("pk"))
    rated = [s for s in stimuli if not s.trap and not s.derived]  # those are made of these
    file = study_as_file(study)
    file = derive(file).added_to(file)
    findings = [
        *design_findings(file, session_length(study)),
        *_check_secrets(study),
        *_check_sets(study),
        *_check_gaps(study),
        *_check_hidden_references(study),
        *_check_known_traps(study, stimuli),
        *_check_expected_spans(study, stimuli),
        *_check_files(stimuli),
        *_check_loudness(rated),
        *_check_target(study, stimuli),
        *_check_formats(rated),
        *_check_lengths(rated),
        *_check_duplicates(rated),
        *_check_traps(stimuli, _stimuli_of_tasks(study, stimuli)),
        *_check_leaks(study),
    ]
    return sorted(findings, key=lambda finding: finding.level)  # "problem" < "warning"


def kept_findings(
    study: Study, name: str, *, anew: bool = False, most: int | None = None
) -> list[Finding] | None:
    """What `check_study` said, kept for a while: every clip is decoded for it.

    None where nothing is kept of a study of more than ``most`` clips, unless made ``anew``.
    """
    findings: list[Finding] | None = None
    with suppress(RedisError):
        findings = cache.get(name)
    if anew or (findings is None and (most is None or study.stimuli.count() <= most)):
        findings = check_study(study)
        with suppress(RedisError):
            cache.set(name, findings, timeout=FINDINGS_CACHE_S)
    return findings


def _check_secrets(study: Study) -> Iterator[Finding]:
    """Sources that sign with a secret which nobody has entered."""
    for n, source in enumerate(sources_of(study.sources), start=1):
        if source.secret_title and not study.source_secret(source.key):
            effect = (
                "No rater can start through it."
                if source.signature
                else "Its codes and addresses are not signed."
            )
            yield warning(
                f"The recruitment source “{source.name}” has no {source.secret_title}. {effect}",
                "Enter it under Participants, Recruiting and payments.",
                f"sources[{n}]",
            )


def _check_sets(study: Study) -> Iterator[Finding]:
    """Blocks are made even: where the size does not divide the trials, sets of traps are short.

    One clip less in ten, as a draft's own fit leaves it (17 clips beside 18), is no finding.
    """
    for place, task in _tasks_of(study):
        if not task.traps:
            continue
        trials = trials_of(task)
        whole = task.repeat_items or is_scattered(task.material.get("draw", {}))
        places = len(trials) if whole else len({trial.item for trial in trials})
        fewest = places // -(-places // task.block_size)
        plan = TrapPlan.from_dict(task.traps)
        if plan.kinds and _set_of(plan, fewest) < MIN_SET_SHARE * _set_of(plan, task.block_size):
            yield warning(
                f"The task “{task.key}” has blocks of {fewest} instead of {task.block_size}: "
                f"{places} is no multiple of it. Its sets of traps hold fewer rated clips.",
                "Choose a block_size that divides it, or add or remove material.",
                f"{place}.block_size",
                "Choose a number that divides it, or add or remove clips.",
            )


def _tasks_of(study: Study) -> Iterator[tuple[str, Task]]:
    """Each task with its place in study.toml."""
    for n, task in enumerate(study.tasks.order_by("order"), start=1):
        yield f"tasks[{n}]", task


def _set_of(plan: TrapPlan, rated: int) -> float:
    """Rated clips of one set in a block of so many."""
    return rated / plan.sets_for(rated)


def _check_gaps(study: Study) -> Iterator[Finding]:
    """A condition that some items lack is judged on other items than the rest."""
    derived = set(study.conditions.filter(derived=True).values_list("key", flat=True))
    for task in study.tasks.filter(allow_missing=True):
        spoken: dict[str, set[int]] = defaultdict(set)
        for ref in material_of(task):
            if ref.condition not in derived:
                spoken[ref.condition].add(ref.item)
        items = study.items.filter(pk__in=set().union(*spoken.values())).order_by("pk")
        for condition, own in sorted(spoken.items()):
            if missing := [item.key for item in items if item.pk not in own]:
                yield warning(
                    f"In the task “{task.key}”, the condition “{condition}” is missing for "
                    f"{len(missing)} of {len(items)} items: {quoted(missing)}.",
                    "Add its clips, or note that its results are based on fewer items.",
                    CLIPS,
                )


def _check_hidden_references(study: Study) -> Iterator[Finding]:
    """What a study gives up that does not hide the reference among the rated clips."""
    for place, task in _tasks_of(study):
        playback = method_named(task.method).playback(task.options)
        if not playback.hidden_reference and task.options.get("open_reference") is not False:
            yield warning(
                f"The task “{task.key}” hides no reference among the rated clips. Lost with it: "
                "the post-screening of BS.1534-3 leaves nobody out, and the reference has no score "
                "that results could be compared with.",
                "Remove hidden_reference = false to keep both.",
                f"{place}.options",
                "To keep both, download the study folder under Review and open, let the task hide "
                "its reference, and upload the folder as a new study.",
            )


def _check_known_traps(study: Study, stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    """Traps that a rater recognises: by their text, or because they were an example before."""
    kinds = {s.key: s.trap for s in stimuli}
    for place, task in _tasks_of(study):
        kinds_by_name = {kind["kind"]: kind for kind in task.traps.get("kinds", ())}
        written = [name for name, kind in kinds_by_name.items() if kind.get("text")]
        if written and not task.show_text:
            yield warning(
                f"In the task “{task.key}” only traps of the kind {quoted(written)} show a text, "
                "which tells them.",
                "Set show_text = true, so that every clip shows its text.",
                f"{place}.show_text",
                "Tick it, so that every clip shows its text.",
            )
        before = [entry["stimulus"] for entry in (*task.examples, *task.training)]
        if heard := [key for key in before if kinds.get(key) in kinds_by_name]:
            yield warning(
                f"{quoted(heard)} is an example or practice of the task “{task.key}” and a trap "
                "too.",
                "Take another clip, with training in the column trap.",
                CLIPS,
                "Download the study folder under Review and open, take another clip for practice, "
                "and upload the folder as a new study.",
            )


def _check_expected_spans(study: Study, stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    """Right answers on the waveform that lie where raters hear nothing of the clip."""
    for _, task in _tasks_of(study):
        if not method_named(task.method).marks_time(task.options):
            continue
        of_kinds = {kind["kind"]: kind.get("expected", ()) for kind in task.traps.get("kinds", ())}
        of_practice = {entry["stimulus"]: entry.get("expected", ()) for entry in task.training}
        for s in stimuli:
            own = str(s.attributes.get("expected", "")) if s.trap in of_kinds else ""
            labels = own.split("|") if own else of_kinds.get(s.trap, of_practice.get(s.key, ()))
            heard = HeardPart(s.trimmed_s, s.duration_s)
            if outside := [label for label in labels if _is_outside(label.strip(), heard)]:
                yield problem(
                    f"The right answer {quoted(outside)} of the clip “{s.key}” lies outside the "
                    f"part that raters hear: {heard.start_s:.2f} to {heard.end_s:.2f} s.",
                    "Correct the times.",
                    CLIPS,
                )


def _is_outside(label: str, heard: HeardPart) -> bool:
    """Whether a span of an answer is not heard at all."""
    try:
        spans = read_spans(label)
    except ValueError:  # said at the import
        return False
    return any(span.start_s >= heard.end_s or span.end_s <= heard.start_s for span in spans)


def _check_files(stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    """Both copies are there and whole; each original is decoded once more for its sound.

    What was made of lines sounds as they do, so that only the lines are named.
    """
    measured = []
    for s in stimuli:
        try:
            intact = audio.sha256_of(audio.local_path(s.served)) == s.served_sha256
            original = audio.local_path(s.original)
            facts = None if s.derived else audio.probed(original)
            sha256 = facts.sha256 if facts else audio.sha256_of(original)
        except (OSError, audio.AudioError) as error:
            yield problem(
                f"The audio of “{s.key}” cannot be read ({error}).", AGAIN, CLIPS, SEND_AGAIN
            )
            continue
        if not intact or sha256 != s.sha256:
            yield problem(
                f"The stored audio of “{s.key}” has changed since it was imported.",
                AGAIN,
                CLIPS,
                SEND_AGAIN,
            )
        if facts is not None:
            measured.append(MeasuredClip(s.key, facts, s.gain_db))
    yield from sound_findings(measured)


def _by_condition(stimuli: Iterable[Stimulus]) -> dict[str, list[Stimulus]]:
    groups: dict[str, list[Stimulus]] = defaultdict(list)
    for s in stimuli:
        groups[s.condition.key].append(s)
    return dict(groups)


def _check_loudness(stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    """Louder sounds better: conditions that differ by level are compared by level."""
    levels = {
        key: median(known)
        for key, group in _by_condition(stimuli).items()
        if (known := [s.loudness_lufs + s.gain_db for s in group if s.loudness_lufs is not None])
    }
    if len(levels) < 2:
        return
    loudest, softest = max(levels, key=levels.__getitem__), min(levels, key=levels.__getitem__)
    spread = levels[loudest] - levels[softest]
    if spread > MAX_LOUDNESS_SPREAD_LU:
        yield warning(
            f"The condition “{loudest}” is {spread:.1f} LU louder than “{softest}” "
            f"({levels[loudest]:.1f} and {levels[softest]:.1f} LUFS).",
            "Set loudness_lufs in [study] to bring all clips to one loudness, unless level is what "
            "you study.",
            "study.loudness_lufs",
            "Bring all clips to one loudness, unless level is what you study.",
        )


def _check_target(study: Study, stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    """Clips that one loudness for all does not reach."""
    target = study.loudness_lufs
    if target is None:
        return
    plain = [s for s in stimuli if not s.derived]
    known = [(s, s.loudness_lufs + s.gain_db) for s in plain if s.loudness_lufs is not None]
    soft = {s.key: target - level for s, level in known if target - level > MAX_MISSED_LU}
    if soft:
        yield warning(
            f"Up to {max(soft.values()):.1f} LU softer than {target:g} LUFS, because a higher gain "
            f"would clip their peaks: {quoted(soft)}.",
            "Lower loudness_lufs in [study] until all clips reach it.",
            "study.loudness_lufs",
            "Lower it until all clips reach it.",
        )
    if unknown := [s.key for s in plain if s.loudness_lufs is None and s.peak_dbfs is not None]:
        yield warning(
            f"Too quiet to measure, so that their level stays: {quoted(unknown)}.",
            "Check these files.",
            CLIPS,
        )


def _check_formats(stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    groups = _by_condition(stimuli)
    facts: tuple[tuple[str, str, str, str, Callable[[Stimulus], int]], ...] = (
        (
            *("sampling rate", "Hz", "study.sample_rate_hz"),
            "Set sample_rate_hz in [study] to bring",
            _served_rate_hz,
        ),
        ("number of channels", "", CLIPS, "Bring", lambda s: s.channels),
    )
    for name, unit, place, bring, fact in facts:
        kinds = {key: sorted({fact(s) for s in group}) for key, group in groups.items()}
        if len({tuple(values) for values in kinds.values()}) > 1:
            shown = "; ".join(
                f"{key} {'/'.join(map(str, values))} {unit}".strip()
                for key, values in sorted(kinds.items())
            )
            yield warning(
                f"The {name} differs between conditions and could reveal them: {shown}.",
                f"{bring} all clips to one, unless it is what you study.",
                place,
                "Bring all clips to one, unless it is what you study.",
            )


def _check_lengths(stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    """A condition whose clips are several times as long as the others' of the same items."""
    by_item: dict[int, list[float]] = defaultdict(list)
    for s in stimuli:
        by_item[s.item_id].append(s.duration_s)
    for key, group in _by_condition(stimuli).items():
        ratio = median(s.duration_s / median(by_item[s.item_id]) for s in group)
        if not 1 / MAX_LENGTH_RATIO <= ratio <= MAX_LENGTH_RATIO:
            yield warning(
                f"The clips of “{key}” are {ratio:.1f} times as long as those of the other "
                "conditions.",
                "Check that they contain the same words and no long silence.",
                CLIPS,
            )


def _stimuli_of_tasks(study: Study, stimuli: Sequence[Stimulus]) -> list[Stimulus]:
    """What the tasks rate: what they name, else all that was not made of lines; no prompts."""
    named = [task.material.get("conditions") for task in study.tasks.all()]
    return [
        s
        for s in stimuli
        if not s.trap
        and s.run == 1
        and s.condition.role != PROMPT
        and any(s.condition.key in n if n else not s.derived for n in named)
    ]


def _check_traps(stimuli: Sequence[Stimulus], rated: Sequence[Stimulus]) -> Iterator[Finding]:
    """A trap that differs from all rated clips in length, level or rate is known for one."""
    kinds = sorted({s.trap for s in stimuli} - {"", TRAINING})
    for kind in kinds if rated else ():
        own = [s for s in stimuli if s.trap == kind]
        told_by = [
            *(["length"] if _outside(_durations(own), _durations(rated), 1.5) else []),
            *(["loudness"] if _outside(_powers(own), _powers(rated), 10**0.3) else []),
            *(["sampling rate"] if _rates(own).isdisjoint(_rates(rated)) else []),
        ]
        if told_by:
            yield warning(
                f"Traps of the kind “{kind}” can be distinguished from all other clips by their "
                f"{' and '.join(told_by)}.",
                "Make them like the other clips, so that they can only be recognized by listening.",
                CLIPS,
            )


def _check_leaks(study: Study) -> Iterator[Finding]:
    """What the bytes that raters get say about systems, as a script would find it."""
    leaking = study_leaks(study)
    of_bytes = [str(leak) for leak in leaking if not leak.is_of_sound]
    of_sound = [str(leak) for leak in leaking if leak.is_of_sound]
    if of_bytes:
        yield warning(
            f"A script could distinguish clips without listening, by "
            f"{'; '.join(of_bytes[:MOST_LEAKS])}.",
            'Leave ends = "alike" and low_cut_hz = 50 in [study], name sample_rate_hz, and bring '
            "all clips to one number of channels.",
            "study.sample_rate_hz",
            "Let the ends of clips be made alike, remove what is below 50 Hz, choose one sampling "
            "rate, and bring all clips to one number of channels.",
        )
    if of_sound:
        wanted = {
            "loudness_lufs": study.loudness_lufs,
            "the lowest sample_rate_hz": study.sample_rate_hz,
        }
        missing = [name for name, value in wanted.items() if value is None]
        what = f"Systems differ in simple audio properties: {'; '.join(of_sound[:MOST_LEAKS])}."
        notice = "you study these properties: raters notice them, too."
        if missing:
            remedy = f"Name {' and '.join(missing)} in [study], unless {notice}"
            on_page = f"Choose one loudness and the lowest sampling rate, unless {notice}"
        else:
            remedy = on_page = f"Make sure that {notice}"
        yield warning(what, remedy, "study.loudness_lufs", on_page)


def study_leaks(study: Study) -> list[Leak]:
    """What tells the systems, roles and traps of a study, by a sample of clips."""
    return leaks(study_sightings(study))


def study_sightings(study: Study) -> list[Sighting]:
    """A sample of clips as browsers get them, some of them in two trials."""
    stimuli = list(study.stimuli.select_related("condition").order_by("pk"))
    stimuli = [*_stimuli_of_tasks(study, stimuli), *(s for s in stimuli if s.trap)]
    sample = Random(study.seed).sample(stimuli, min(len(stimuli), MOST_LOOKED_AT))
    times = [(s, 0) for s in sample] + [(s, 1) for s in sample[:TWICE_LOOKED_AT]]
    seen = (_sighting(s, time) for s, time in times)
    return [each for each in seen if each is not None]


def _sighting(s: Stimulus, time: int) -> Sighting | None:
    """None where a clip is missing or damaged: that is said elsewhere."""
    trial = 2 * s.pk + time  # no two clips of the sample are in one trial
    try:
        facts = _facts_of_appearance(s.served, trial)
    except (OSError, RuntimeError):
        return None
    marks = marked_lines(moved(s.lines, MEAN_PAD_S - s.trimmed_s), f"{s.pk} {trial}")
    marked = facts_of_metadata(mark_facts(marks))
    return Sighting(str(s.pk), str(s.item_id), groups_of(s), {**facts, **marked})


@lru_cache(maxsize=1000)  # who opens a study has just looked at its findings
def _facts_of_appearance(served: str, trial: int) -> Mapping[str, float]:
    return facts_of(sample_appearance(audio.local_path(served), trial, place=0))


def groups_of(s: Stimulus) -> frozenset[str]:
    """What a rater must not learn of a clip: its system, its role, that it is a trap."""
    if s.trap:
        return frozenset({"traps", f"traps of the kind “{s.trap}”"})
    role = {"reference": {"references"}, "anchor": {"anchors"}}.get(s.condition.role, set())
    return frozenset({f"“{s.condition.key}”", *role})


def _outside(own: Sequence[float], others: Sequence[float], factor: float) -> bool:
    """All of them beyond the others by more than the factor, on the same side."""
    if not own or not others:
        return False
    return min(own) > max(others) * factor or max(own) < min(others) / factor


def _durations(stimuli: Iterable[Stimulus]) -> list[float]:
    return [s.duration_s for s in stimuli]


def _powers(stimuli: Iterable[Stimulus]) -> list[float]:
    return [
        10 ** ((s.loudness_lufs + s.gain_db) / 10) for s in stimuli if s.loudness_lufs is not None
    ]


def _rates(stimuli: Iterable[Stimulus]) -> set[int]:
    return {_served_rate_hz(s) for s in stimuli}


def _served_rate_hz(s: Stimulus) -> int:
    return s.study.sample_rate_hz or s.sample_rate_hz


def _check_duplicates(stimuli: Sequence[Stimulus]) -> Iterator[Finding]:
    same: dict[tuple[str, str], list[str]] = defaultdict(list)
    for s in stimuli:
        if s.condition.role != PROMPT:  # one prompt may come before clips of many sentences
            # one word may be in several sets of alternatives
            same[s.sha256, str(s.attributes.get(ALTERNATIVES, ""))].append(s.key)
    for keys in same.values():
        if len(keys) > 1:
            yield warning(
                f"The same file stands behind {quoted(keys)}.",
                "Check that none was copied by mistake.",
                CLIPS,
            )
