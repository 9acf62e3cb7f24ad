"""Metric scores as a table, from rows, CSV or JSON lines; and the names that reports use."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pandas as pd

from analysis.ratings.cells import FACTS, unescape_cells
from analysis.ratings.problems import RatingsError, RatingsWarning
from listening.common.spreadsheets import TableError, clean_name, located
from metrics.scoring.score_rows import NO_VALUE, ScoreRow, read_score_rows

if TYPE_CHECKING:
    import pandas as pd


SCORE_COLUMNS = ("stimulus", "metric", "version", "value")
DIRECTION, REASON, TITLE = "higher_is_better", "reason", "title"
HYPOTHESIS = "hypothesis"  # what a recogniser heard, of wer and cer
ENDS = ("low", "high")
NO_METRICS = frozenset(  # outputs that say what a clip holds, not how good it is
    {
        *("n_words", "length_s"),
        *("nvv_tp", "nvv_fp", "nvv_fn", "judge_nvv_tp", "judge_nvv_fp", "judge_nvv_fn"),
    }
)
NAMES = ("file", "sha256")  # what names a clip beside its stimulus
_STAND_INS = ("stimulus", "file", "path", "key")  # what names the clip, in this order
WANTED = "metric, value and one of stimulus, file, path, key"


class FileScore(TypedDict):
    """A score as a file has it; ``parameters`` are JSON, or empty where the file says none."""

    stimulus: str
    metric: str
    version: str
    value: float | None
    higher_is_better: bool | None
    low: float | None
    high: float | None
    reason: str
    title: str
    parameters: str
    facts: dict[str, str]  # of the clip, and its `NAMES`


def scores_from_rows(rows: Iterable[Mapping[str, Any]], also: Sequence[str] = ()) -> pd.DataFrame:
    """A table of metric scores from plain rows (ScoreRow), in a canonical order.

    ``higher_is_better``, ``reason``, ``title``, ``low``, ``high`` and what is known of clips
    (`FACTS`) are columns only where a row has them; so are those of ``also``.
    """
    rows = list(rows)
    table = pd.DataFrame(
        [[row[name] for name in SCORE_COLUMNS] for row in rows], columns=list(SCORE_COLUMNS)
    ).astype(dict.fromkeys(SCORE_COLUMNS[:3], "str") | {"value": "float64"})
    for name, empty in ((DIRECTION, None), (REASON, ""), (TITLE, "")):
        values = [row.get(name) for row in rows]
        if any(value not in (None, "") for value in values):
            table[name] = pd.Series(
                [empty if value in (None, "") else value for value in values], dtype=object
            )
    if any(row.get(end) is not None for row in rows for end in ENDS):
        for end in ENDS:
            table[end] = pd.Series([row.get(end) for row in rows], dtype="float64")
    for name in (*FACTS, HYPOTHESIS, *also):
        if any(row.get(name) for row in rows):
            values = [str(row.get(name) or "") for row in rows]
            table[name] = pd.Series(pd.Categorical(values))
    return table.sort_values(list(SCORE_COLUMNS), ignore_index=True)


def scores_from_file(path: str | Path) -> pd.DataFrame:
    """The metric scores of a CSV, or of a file of JSON lines.

    A row for each score has the columns metric, value, maybe version, and one that names the clip
    (stimulus, file, path, key, sha256), as `export_scores` and `score_files` write them; a row for
    each clip has a column for each metric, as NISQA, DNSMOS and VERSA write them. Raises
    RatingsError with all that is wrong; what was guessed or left out is a RatingsWarning each.
    """
    scores, notes = named_scores(path)
    for note in notes:
        warnings.warn(note, RatingsWarning, stacklevel=2)
    return scores.drop(columns=list(NAMES), errors="ignore")


def named_scores(path: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """`scores_from_file` with what else names each clip (file and sha256, if any), and notes."""
    path = Path(path)
    try:
        score_rows = read_score_rows(path)
    except TableError as error:
        raise RatingsError([located(path.name, line) for line in error.problems]) from None
    problems, notes = score_rows.problems, score_rows.notes
    problems.place = path.name
    rows: dict[tuple[str, ...], FileScore] = {}
    again = 0
    for row in score_rows.rows:
        if not row.clip:
            problems.add(row.number, f"names no clip; give {WANTED}")
            continue
        score = _file_score(row)
        key = (score["stimulus"], score["metric"], score["version"], score["parameters"])
        before = rows.setdefault(key, score)
        again += before is not score
        if before is not score and before["value"] != score["value"]:
            cause = f"{row.metric} of this clip is there twice with different values; remove one"
            problems.add(row.number, cause)
    if lines := problems.lines():
        raise RatingsError(lines)
    if again:
        notes.append(f"{again} scores repeat another score of the same clip and metric.")
    return scores_from_rows(_with_parameters_named(list(rows.values())), NAMES), notes


def _file_score(row: ScoreRow) -> FileScore:
    clip = {name: clean_name(text) for name, text in row.clip.items()}
    facts = {
        name: unescape_cells([str(row.record[name])], name)[0]
        for name in (*FACTS, *NAMES)
        if row.record.get(name) is not None
    }
    named = {name: text for name, text in clip.items() if name in NAMES}
    name = next(clip[each] for each in (*_STAND_INS, *NAMES) if each in clip)
    return {
        "stimulus": unescape_cells([name], "stimulus")[0],
        "metric": row.metric,
        "version": row.version,
        "value": row.value,
        "higher_is_better": row.higher_is_better,
        "low": row.low,
        "high": row.high,
        "reason": row.reason if row.value is None and row.reason != NO_VALUE else "",
        "title": row.title,
        "parameters": row.parameters,
        "facts": facts | named,
    }


def _with_parameters_named(rows: list[FileScore]) -> list[dict[str, Any]]:
    """The rows as `scores_from_rows` takes them, a metric's several settings in its name."""
    sets: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        sets.setdefault((row["metric"], row["version"]), set()).add(row["parameters"])
    names = {
        key: _names_of_settings(key[0], texts) for key, texts in sets.items() if len(texts) > 1
    }
    named_rows: list[dict[str, Any]] = []
    for row in rows:
        key, settings = (row["metric"], row["version"]), row["parameters"]
        named = names[key][settings] if settings and key in names else row["metric"]
        named_rows.append({**row, **row["facts"], "metric": named})
    return named_rows


def _names_of_settings(metric: str, sets: Iterable[str]) -> dict[str, str]:
    """A name for each set of parameters (JSON): metric[name=value] with those that differ."""
    settings = {text: _settings(text) for text in sets if text}
    known = [values for values in settings.values() if values is not None]
    differ = sorted(
        name
        for name in {name for values in known for name in values}
        if len({json.dumps(values.get(name)) for values in known}) > 1
    )
    return {
        text: f"{metric} {text}"
        if values is None or not differ
        else f"{metric}[{','.join(f'{name}={values.get(name)}' for name in differ)}]"
        for text, values in settings.items()
    }


def _settings(text: str) -> dict[str, Any] | None:
    """A set of parameters; None where the text is no JSON object."""
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def of_metrics(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores that say how good a clip is: without the outputs `NO_METRICS`."""
    outputs = scores["metric"].map(lambda name: str(name).partition("[")[0])
    return scores[~outputs.isin(NO_METRICS)]


def newest_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return one score per stimulus and metric: that of the highest version, 10 being above 9."""

    def place(version: str) -> list[tuple[bool, int, str]]:
        parts = re.findall(r"\d+|\D+", version)
        return [(each.isdigit(), int(each) if each.isdigit() else 0, each) for each in parts]

    versions = sorted(scores["version"].astype(str).unique(), key=place)
    order = scores["version"].astype(str).map({name: n for n, name in enumerate(versions)})
    newest = scores.assign(order=order).sort_values("order", kind="stable")
    newest = newest.drop_duplicates(["stimulus", "metric"], keep="last").sort_index()
    return newest.drop(columns="order")


def directions(scores: pd.DataFrame) -> dict[str, bool | None]:
    """Whether a higher value is better, for each metric; None where nobody says."""
    if DIRECTION not in scores:
        return dict.fromkeys(scores["metric"].unique())
    metric_directions: dict[str, bool | None] = {}
    for metric, column in scores.groupby("metric", sort=True)[DIRECTION]:
        known = {bool(each) for each in column if each is not None and not pd.isna(each)}
        metric_directions[str(metric)] = known.pop() if len(known) == 1 else None
    return metric_directions


def titles(scores: pd.DataFrame) -> dict[str, str]:
    """What each metric is called; empty where nobody says, or rows say different things."""
    if TITLE not in scores:
        return dict.fromkeys(map(str, scores["metric"].unique()), "")
    named: dict[str, str] = {}
    for metric, column in scores.groupby("metric", sort=True)[TITLE]:
        known = {str(each) for each in column if each}
        named[str(metric)] = known.pop() if len(known) == 1 else ""
    return named


def ranges(scores: pd.DataFrame) -> dict[str, tuple[float | None, float | None] | None]:
    """The least and the greatest value that each metric can have; None where nobody says.

    An end that there is not is None. A metric of which rows say different things has no range.
    """
    metric_ranges: dict[str, tuple[float | None, float | None] | None] = {}
    for metric, own in scores.groupby("metric", sort=True):
        metric_ranges[str(metric)] = None
        if ENDS[0] in scores:
            bounds = own[list(ENDS)].dropna(how="all").drop_duplicates()
            if len(bounds) == 1:
                low, high = (None if pd.isna(end) else float(end) for end in bounds.iloc[0])
                metric_ranges[str(metric)] = (low, high)
    return metric_ranges


def reasons(scores: pd.DataFrame, metric: str, stimuli: Sequence[str]) -> dict[str, int]:
    """Why the metric has no value for some of these stimuli: each reason with its number.

    Of a reason that goes on with the clip's own numbers, only the beginning counts.
    """
    own = scores[(scores["metric"] == metric) & scores["stimulus"].isin(stimuli)]
    empty = own[own["value"].isna()]
    texts = empty[REASON] if REASON in own else pd.Series([""] * len(empty), dtype=object)
    short = [re.split(r"[,;:(]", str(reason))[0].strip() or "no value" for reason in texts]
    counts = pd.Series(short, dtype=object).value_counts(sort=False)
    numbers = {str(reason): int(count) for reason, count in counts.items()}
    unscored = len(set(stimuli) - set(own["stimulus"]))
    if unscored:
        numbers["not scored, or the run broke"] = unscored
    return dict(sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True)
class Metric:
    """One metric (or version of it) as a report names it; ``rises`` None: nobody says.

    ``ends`` are the least and the greatest value that it can have, None where there is no such end.
    """

    name: str
    metric: str
    version: str
    rises: bool | None
    ends: tuple[float | None, float | None] | None = None  # None: nobody says
    title: str = ""  # what sentences and figures call it


def metrics_of(scores: pd.DataFrame | None) -> tuple[Metric, ...]:
    """Every metric of a table of scores, named with its version where there are several."""
    if scores is None:
        return ()
    known = of_metrics(scores)
    upward, ends, called = directions(known), ranges(known), titles(known)
    both = known[["metric", "version"]].drop_duplicates().sort_values(["metric", "version"])
    several = both["metric"].duplicated(keep=False)
    metrics = [
        Metric(
            f"{metric} {version}" if more else metric,
            metric,
            version,
            upward[metric],
            ends[metric],
            f"{called[metric]} {version}" if more and called[metric] else called[metric],
        )
        for metric, version, more in zip(both["metric"], both["version"], several, strict=True)
    ]
    often = Counter(each.title for each in metrics)
    return tuple(
        replace(each, title=each.title if often[each.title] == 1 and each.title else each.name)
        for each in metrics
    )


def metric_titles(scores: pd.DataFrame | None) -> dict[str, str]:
    """What a report calls each metric that has another title than its name, by that name."""
    return {each.name: each.title for each in metrics_of(scores) if each.title != each.name}
