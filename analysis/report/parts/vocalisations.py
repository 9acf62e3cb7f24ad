"""Vocalisations that people verified: controllability, and the judge's share corrected by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.citations import cite
from analysis.formatting import counted, enumerated
from analysis.ratings.breakdowns import coded_column
from analysis.ratings.estimands import estimand_of
from analysis.ratings.metric_scores import newest_scores
from analysis.report.content import Content, Table, column, interval_cells, table_row
from analysis.report.part import Part, PartInput
from analysis.report.parts.nvv import (
    ABOUT,
    Systems,
    by_criterion,
    by_group,
    families_by_task,
    name_of,
    systems_of,
)
from analysis.statistics.corrected_share import ALWAYS, CorrectedShare, Counted, rogan_gladen
from analysis.statistics.count_shares import (
    CountShare,
    effective_clips,
    mean_on_scale,
    share_of_sums,
)

if TYPE_CHECKING:
    from analysis.arrays import Codes
    from analysis.report.parts.nvv import Tasks

JUDGE = "judge_nvv"
COUNTS = ("tp", "fp", "fn", "distance")
PRESENT = "present"
PEOPLE = "people"
_NOTE = (
    "Vocalisations that were asked for against those heard, by type and place (NVV-SuperBench, "
    "section 2.4.1), of the clips that reviewers decided. Counts are summed over clips. NTD: mean "
    "over clips with a match. Intervals: over clips, runs of a sentence together. "
)
_SHARES_NOTE = (
    "Share of clips in which every type that was asked for is heard, at whatever place. Corrected: "
    f"the judge's share without its false presence and its misses {cite('rogan1978')}, with an "
    f"interval for the error of all three shares {cite('lang2014')}. It holds if the judge errs "
    "alike in the clips of every system of a language. "
)
_NO_PRESENT = (
    "No clip with the sound was verified by people in {}: the correction assumes that the judge "
    "misses nothing there, so the corrected share is a lower limit. "
)
_RATES_NOTE = (
    "Sensitivity: clips in which people heard the sound. False presence: clips of conditions "
    "without vocalisations, and clips in which people did not hear it. "
)
_METHOD = (
    "Shares of clips in which the judge model heard the vocalisation were corrected for its false "
    f"presence and its misses {cite('rogan1978')}, with intervals that allow for the error of both "
    f"{cite('lang2014')}."
)


@table_row
class ControllabilityRow:
    """A system in one language, as heard by people or by the judge."""

    group: str
    condition: str = column("System")
    language: str = column("Language")
    heard_by: str = column("Heard by")
    clips: int = column("Clips", "count")
    precision: float | None = column("Precision", "number")
    precision_low: float | None = column("{level}", "interval", key="precision")
    precision_high: float | None
    recall: float | None = column("Recall", "number")
    recall_low: float | None = column("{level}", "interval", key="recall")
    recall_high: float | None
    f1: float | None = column("F1", "number")
    f1_low: float | None = column("{level}", "interval", key="f1")
    f1_high: float | None
    ntd: float | None = column("NTD", "number", 4)
    ntd_low: float | None = column("{level}", "interval", 4, key="ntd")
    ntd_high: float | None


@table_row
class PresenceRow:
    """The share of a system's clips that have the sound: by the judge, corrected, by people."""

    group: str
    condition: str = column("System")
    language: str = column("Language")
    judged: int = column("Judged clips", "count")
    judge: float = column("Judge", "number", 2)
    corrected: float | None = column("Corrected", "number", 2)
    corrected_low: float | None = column("{level}", "interval", 2, key="corrected")
    corrected_high: float | None
    verified: int | None = column("Verified clips", "count")
    people: float | None = column("People", "number", 2)
    people_low: float | None = column("{level}", "interval", 2, key="people")
    people_high: float | None
    note: str = column("Note")


@table_row
class JudgeRateRow:
    """How often the judge hears the sound in clips that have it, or have it not."""

    language: str = column("Language")
    rate: str = column("Rate of the judge")
    clips: int = column("Clips", "count")
    controls: int = column("Of conditions without", "count")
    share: float = column("Heard", "number", 2)
    low: float | None = column("{level}", "interval", 2, key="interval")
    high: float | None


@dataclass(frozen=True)
class Verified:
    """What people heard in clips, one row each.

    ``clips`` has the columns stimulus, item, condition, language and ``present`` (0 or 1), and
    where reviewers marked places also `COUNTS` and units, else empty.
    """

    clips: pd.DataFrame
    tolerance: int
    sentences: tuple[str, ...] = ()


class Vocalisations(Part):
    """Controllability by people's ears beside the judge's, and its false presence corrected."""

    key = "vocalisations"
    version = "1"
    title = "Vocalisations verified by people"
    order = 47
    always = False
    presets = frozenset({"nvv"})

    def applies(self, inputs: PartInput) -> bool:
        reviews = inputs.facts.get("vocalisation_reviews") if inputs.facts else ()
        return bool(reviews) or len(_judge_scores(inputs)) > 0

    def make(self, inputs: PartInput) -> Content:
        """Precision, recall, F1 and NTD by people and judge; presence, corrected; judge's rates."""
        scored, pairs = families_by_task(inputs)
        tasks = {task: by_criterion(scored[task], inputs) for task in scored}
        judged = _judge_scores(inputs)
        known = inputs.scores if inputs.scores is not None else judged
        systems = systems_of(tasks, pairs, known)
        verified = verify_clips(tasks, inputs)
        label, judge = _by_clip(judged, inputs, verified.clips)
        judge = judge[judge["condition"].isin(systems.group)]
        tables = [
            *_controllability(verified, judge, label, systems, inputs),
            *_presence(verified.clips, judge, label, systems, inputs),
        ]
        sentences = list(verified.sentences)
        if not tables:
            sentences.append(
                "No table: people verified no clip with a target, and no judge’s scores "
                f"({JUDGE}) have controls. Open a review of vocalisations, or score the clips."
            )
        methods = [_METHOD] if any(each.key == "presence" for each in tables) else []
        return Content(sentences=sentences, tables=tables, methods=methods)


def verify_clips(tasks: Tasks, inputs: PartInput) -> Verified:
    """Return what people heard: reviewers where they decided, else the majority of raters."""
    from metrics.scoring.selectors import count_events

    rows: dict[str, dict[str, Any]] = {}
    for row in _rated_presence(tasks):
        rows[row["stimulus"]] = row
    by_raters = set(rows)
    reviews = (inputs.facts.get("vocalisation_reviews") if inputs.facts else None) or []
    sentences, tolerance, decided = [], 1, 0
    for review in reviews:
        if not review["unblinded"]:
            sentences.append(
                f"The review “{review['title']}” ({counted(review['reviewed'], 'clip')}) is "
                "blind: unblind it to have its outcomes here."
            )
        for clip in review["clips"]:
            counts = count_events(
                *(clip["target"], clip["heard"], clip["text"], clip["language"]),
                tolerance=review["tolerance"],
            )
            if counts is None:
                continue
            present = {PRESENT: float(counts["present"] >= 1)}
            rows[clip["stimulus"]] = {**clip, **counts, **present}
            tolerance, decided = review["tolerance"], decided + 1
            by_raters.discard(clip["stimulus"])
    if decided:
        titles = enumerated([f"“{each['title']}”" for each in reviews if each["clips"]])
        sentences.append(f"Reviewers decided {counted(decided, 'clip')} ({titles}).")
    if by_raters:
        sentences.append(
            f"For {counted(len(by_raters), 'clip')}, raters said whether the sound is there. It "
            "counts as present if more than half of them gave a score above 0 (absent)."
        )
    columns = ["stimulus", "item", "condition", "language", PRESENT, "units", *COUNTS]
    table = pd.DataFrame(list(rows.values()), columns=columns)
    return Verified(table, tolerance, tuple(sentences))


def _rated_presence(tasks: Tasks) -> Iterator[dict[str, Any]]:
    """By clip, whether most raters heard the sound; of each task's first such criterion."""
    for task_families in tasks.values():
        for family in task_families:
            absent = estimand_of(family.estimand).absent
            table = family.table
            if ABOUT not in name_of(family).lower() or absent is None:
                continue
            if not (table["score"] == absent).any():
                continue  # nobody was offered the answer, or needed it
            names = ["stimulus", "item", "condition", "language"]
            facts = table[names].astype(str).assign(heard=table["score"] != absent)
            heard = facts.groupby("stimulus")["heard"].mean() > 0.5
            for row in facts.drop_duplicates("stimulus")[names].to_dict("records"):
                known = {str(name): value for name, value in row.items()}
                yield {**known, PRESENT: float(heard[known["stimulus"]])}
            break


def _judge_scores(inputs: PartInput) -> pd.DataFrame:
    """The newest scores of the judge with the most clips: its counts, and presence."""
    scores = inputs.scores
    if scores is None or "condition" not in scores:
        return pd.DataFrame(columns=["stimulus", "metric", "value", "condition"])
    names = scores["metric"].astype(str)
    own = newest_scores(scores[names.str.match(rf"{JUDGE}_({'|'.join((*COUNTS, PRESENT))})(\[|$)")])
    own = own.dropna(subset=["value"])
    if not len(own):
        return own
    settings = own["metric"].astype(str).str.extract(r"(\[.*)$")[0].fillna("")
    most = own[settings == settings.value_counts().index[0]]
    return pd.DataFrame(most)


def _by_clip(
    scores: pd.DataFrame, inputs: PartInput, verified: pd.DataFrame
) -> tuple[str, pd.DataFrame]:
    """The judge's name, and one row per clip with its facts, `COUNTS` and presence (0 or 1)."""
    wanted = [*COUNTS, PRESENT]
    if not len(scores):
        return "", pd.DataFrame(columns=["stimulus", "condition", "language", "item", *wanted])
    names = scores["metric"].astype(str)
    settings = names.iloc[0].partition("[")[2]
    label = JUDGE + (f"[{settings}" if settings else "")
    output = names.str.removeprefix(f"{JUDGE}_").str.partition("[")[0]
    stimulus = scores["stimulus"].astype(str)
    clips = scores.assign(output=output, stimulus=stimulus)
    wide = clips.pivot(index="stimulus", columns="output", values="value")
    facts = clips.drop_duplicates("stimulus").set_index("stimulus")
    wide["condition"] = facts["condition"].astype(str)
    wide["language"] = facts["language"].astype(str) if "language" in facts else ""
    rated = inputs.table[["stimulus", "item"]].astype(str).drop_duplicates("stimulus")
    known = pd.concat([rated, verified[["stimulus", "item"]]])
    items: dict[str, str] = dict(zip(known["stimulus"], known["item"], strict=True))
    wide = wide.reset_index()
    wide["item"] = [items.get(name, name) for name in wide["stimulus"]]
    for name in wanted:
        if name not in wide:
            wide[name] = np.nan
    wide[PRESENT] = (wide[PRESENT] >= 1).astype(float).where(wide[PRESENT].notna())
    return label, wide


def _controllability(
    verified: Verified, judge: pd.DataFrame, label: str, systems: Systems, inputs: PartInput
) -> Iterator[Table]:
    """People's table, and the judge's on the same clips."""
    heard = verified.clips.dropna(subset=["tp"])
    judged = judge.dropna(subset=["tp"]).set_index("stimulus")
    both = heard[heard["stimulus"].isin(judged.index)]
    most = float((verified.tolerance / heard["units"].clip(lower=1)).max()) if len(heard) else 1.0
    if len(both):
        seen = judged["distance"].reindex(both["stimulus"]).max()
        most = max(most, 0.0 if pd.isna(seen) else float(seen))
    level, rows = inputs.options.level, []
    for group, condition, language in _places(heard, systems, inputs):
        if condition in systems.plain or condition in systems.prompted:
            continue
        own = heard[(heard["condition"] == condition) & (heard["language"] == language)]
        place = (group, condition, language)
        rows.append(_rates_row(place, PEOPLE, own, most, level))
        shared = own[own["stimulus"].isin(judged.index)]
        if len(shared):
            its = judged.loc[shared["stimulus"], list(COUNTS)].assign(
                item=shared["item"].to_numpy()
            )
            rows.append(_rates_row(place, label, its, most, level))
    if rows:
        fewer = "The judge’s rows are of the clips that it judged as well. " * bool(len(both))
        yield Table.from_rows(
            *(ControllabilityRow, "controllability", "Controllability by people and judge", rows),
            level=level,
            note=_NOTE + fewer,
            group="group",
        )


def _places(
    clips: pd.DataFrame, systems: Systems, inputs: PartInput
) -> Iterator[tuple[str, str, str]]:
    """Groups, in each the languages, in each the systems that have clips."""
    there = set(clips[["condition", "language"]].itertuples(index=False, name=None))
    for places in by_group(there, systems, inputs):
        for place in places:
            yield place[systems.heads], place["condition"], place["language"]


def _rates_row(
    place: tuple[str, str, str], heard_by: str, clips: pd.DataFrame, most: float, level: float
) -> ControllabilityRow:
    tp, fp, fn = (clips[name].to_numpy(dtype=np.float64) for name in ("tp", "fp", "fn"))
    items = _codes(clips["item"])
    measured = clips["distance"].notna().to_numpy()
    distance = clips["distance"].to_numpy(dtype=np.float64)[measured]
    group, condition, language = place
    return ControllabilityRow(
        group=group,
        condition=condition,
        language=language,
        heard_by=heard_by,
        clips=len(clips),
        **interval_cells("precision", share_of_sums(tp, tp + fp, items, level)),
        **interval_cells("recall", share_of_sums(tp, tp + fn, items, level)),
        **interval_cells("f1", share_of_sums(2 * tp, 2 * tp + fp + fn, items, level)),
        **interval_cells("ntd", mean_on_scale(distance, items[measured], most, level)),
    )


def _codes(names: pd.Series) -> Codes:
    return coded_column(names.astype(str))[0]


@dataclass(frozen=True)
class JudgeRates:
    """Sensitivity and false presence of the judge in one language."""

    present: Counted | None
    absent: Counted | None
    rows: tuple[JudgeRateRow, ...]

    def correct(self, heard: Counted, level: float) -> tuple[CorrectedShare | None, str]:
        """The corrected share; or None, and why there is none."""
        if self.absent is None:
            return None, "no controls"
        corrected = rogan_gladen(heard, self.present or ALWAYS, self.absent, level)
        if corrected is None:
            return None, "the judge hears it as often in clips without it"
        if not corrected.fits:
            more = heard.share > self.absent.share
            return None, "more often than its sensitivity" if more else "less than in controls"
        return corrected, ""


def _presence(
    verified: pd.DataFrame, judge: pd.DataFrame, label: str, systems: Systems, inputs: PartInput
) -> Iterator[Table]:
    """The judge's share of clips with the sound, corrected; people's beside it; judge's rates."""
    judged = judge.dropna(subset=[PRESENT])
    truth = dict(zip(verified["stimulus"], verified[PRESENT], strict=True))
    plain = judged["condition"].isin(systems.plain)
    judged = judged.assign(truth=judged["stimulus"].map(truth), plain=plain)
    judged.loc[plain & judged["truth"].isna(), "truth"] = 0.0
    level, rows = inputs.options.level, []
    rates = {
        language: _judge_rates(str(language), own, level)
        for language, own in judged.groupby("language", sort=False)
    }
    for group, condition, language in _places(judged[~judged["plain"]], systems, inputs):
        own = judged[(judged["condition"] == condition) & (judged["language"] == language)]
        heard = own[PRESENT].to_numpy(dtype=np.float64)
        items = _codes(own["item"])
        share = Counted(float(heard.mean()), effective_clips(heard, items))
        corrected, note = rates[language].correct(share, level)
        ears = verified[(verified["condition"] == condition) & (verified["language"] == language)]
        people = _share(ears, PRESENT, level)
        rows.append(
            PresenceRow(
                group=group,
                condition=condition,
                language=language,
                judged=len(own),
                judge=share.share,
                **interval_cells("corrected", corrected),
                verified=len(ears) or None,
                **interval_cells("people", people),
                note=note,
            )
        )
    if not rows:
        return
    of_language = {name: each for name, each in rates.items() if name in {r.language for r in rows}}
    assumed = [str(n) or "these clips" for n, each in of_language.items() if each.present is None]
    lower = _NO_PRESENT.format(enumerated(sorted(assumed))) if assumed else ""
    none = [str(n) or "these clips" for n, each in of_language.items() if each.absent is None]
    without = (
        f"Nothing is corrected in {enumerated(sorted(none))}: no judged clip is known to be "
        "without the sound. "
        if none
        else ""
    )
    yield Table.from_rows(
        *(PresenceRow, "presence", "Clips with the vocalisation that was asked for", rows),
        level=level,
        note=f"{_SHARES_NOTE}Judge: {label}. {lower}{without}",
        group="group",
    )
    rate_rows = [row for each in of_language.values() for row in each.rows]
    if rate_rows:
        yield Table.from_rows(
            *(JudgeRateRow, "presence_rates", "False presence and sensitivity of the judge"),
            rate_rows,
            level=level,
            note=_RATES_NOTE,
        )


def _judge_rates(language: str, judged: pd.DataFrame, level: float) -> JudgeRates:
    results: dict[float, Counted | None] = {}
    rows = []
    for truth, name in ((1.0, "sensitivity"), (0.0, "false presence")):
        own = judged[judged["truth"] == truth]
        share = _share(own, PRESENT, level)
        if share is None:
            results[truth] = None
            continue
        heard = own[PRESENT].to_numpy(dtype=np.float64)
        results[truth] = Counted(share.value, effective_clips(heard, _codes(own["item"])))
        controls = int(own["plain"].sum())
        rows.append(
            JudgeRateRow(language, name, len(own), controls, share.value, share.low, share.high)
        )
    return JudgeRates(results[1.0], results[0.0], tuple(rows))


def _share(clips: pd.DataFrame, column_name: str, level: float) -> CountShare | None:
    values = clips[column_name].to_numpy(dtype=np.float64)
    return share_of_sums(values, np.ones(len(values)), _codes(clips["item"]), level)
