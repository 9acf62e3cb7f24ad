"""Scores as lines of JSON, one per input and output: the same of a file, of equal files, of twins.

A file that cannot be read has one line, whose metric is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from metrics.core.decoding import escape_path
from metrics.core.metric import Metric, Score, canonical_parameters, title_of
from metrics.scoring.inputs import InputClip
from metrics.scoring.provenance import provenance
from metrics.scoring.runner import Clip, ScoredBatch, ScoredClip

OF_ATTRIBUTES = ("group", "role", "dimension", "challenge", "speakers", "sentences")
FACTS = ("run", "language", *OF_ATTRIBUTES)  # of a clip, in its lines where the manifest has them
Key = tuple[str, str, str, str, str]  # sha256, output, version, parameters as text, given
Line = tuple[Key, str, str]  # with file and stimulus: what one line is about


class Inputs:
    """What a run was given, by audio: equal audio may come under several names."""

    def __init__(self, pairs: Iterable[tuple[InputClip, Clip]] = ()) -> None:
        self.pairs = list(pairs)
        self._by_audio: dict[str, list[tuple[InputClip, Clip]]] = {}
        for pair in self.pairs:
            self._by_audio.setdefault(pair[1].sha256, []).append(pair)

    @property
    def clips(self) -> list[Clip]:
        """The clips, in the order of the inputs."""
        return [clip for _, clip in self.pairs]

    def matching(
        self, clip: Clip, needs: Iterable[str] = ()
    ) -> list[tuple[InputClip | None, Clip]]:
        """The inputs with this audio and, as far as ``needs`` go, this material; else the clip."""
        given = clip.material.fingerprint(needs)
        twins = self._by_audio.get(clip.sha256, [])
        same = [pair for pair in twins if pair[1].material.fingerprint(needs) == given]
        return [*same] or [(None, clip)]


def records(batch: ScoredBatch, device: str, inputs: Inputs | None = None) -> list[dict[str, Any]]:
    """A batch's scores with all that is needed to make them again: one per input and output.

    Clips that could not be read have none here: see `unread_record`.
    """
    made = provenance(batch.metric, device)
    titles = {output.key: title_of(batch.metric, output) for output in batch.metric.outputs()}
    return [
        record
        for scored in batch.clips
        if not scored.unread
        for named, clip in (inputs or Inputs()).matching(scored.clip, batch.metric.needs)
        for record in _of_clip(batch.metric, scored, named, clip, (made, titles))
    ]


def _of_clip(
    metric: Metric,
    scored: ScoredClip,
    named: InputClip | None,
    clip: Clip,
    about: tuple[Mapping[str, Any], Mapping[str, str]],  # provenance; titles by output
) -> Iterable[dict[str, Any]]:
    made, titles = about
    outputs = {output.key: output for output in metric.outputs()}
    for key, score in metric.by_output(scored.score).items():
        yield {
            **_names(clip.path, clip.sha256, named),
            "metric": key,
            "version": metric.version,
            "parameters": metric.parameters_dict(),
            "given": clip.material.fingerprint(metric.needs),
            "value": score.value,
            "reason": score.reason,
            "warnings": dict(score.warnings),
            "higher_is_better": outputs[key].higher_is_better,
            "low": outputs[key].low,
            "high": outputs[key].high,
            "title": titles[key],
            "failed": score.failed,
            "details": dict(score.details),
            "audio": scored.facts.plain() if scored.facts else None,
            "provenance": made,
        }


def _names(path: str, sha256: str, named: InputClip | None) -> dict[str, Any]:
    names = {"stimulus": named.stimulus, "condition": named.condition} if named else {}
    return {
        "file": escape_path(path),
        "sha256": sha256,
        **names,
        **(_facts(named) if named else {}),
    }


def _facts(named: InputClip) -> dict[str, str]:
    """What analyses ask of a clip, as far as its manifest says so."""
    said = {"run": named.run, "language": named.material.language}
    said |= {name: named.material.attribute(name) for name in OF_ATTRIBUTES}
    return {name: value for name, value in said.items() if value}


def unread_record(named: InputClip, reason: str, sha256: str = "") -> dict[str, Any]:
    """The one line of a file that no metric can be asked about, and why."""
    names = _names(named.path, sha256, named)
    said: dict[str, Any] = {
        "metric": None,
        "value": None,
        "reason": reason,
        "warnings": {},
        "failed": True,
    }
    return {**names, **said}


def renamed(record: Mapping[str, Any], named: InputClip) -> dict[str, Any]:
    """A stored record as that of another input with the same audio and material."""
    reason = record["reason"].replace(record["file"], escape_path(named.path))
    bare = {name: value for name, value in record.items() if name not in FACTS}
    return {**bare, **_names(named.path, record["sha256"], named), "reason": reason}


def line_of(record: Mapping[str, Any]) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def key_of(record: Mapping[str, Any]) -> Key:
    """What names a record's number."""
    parameters = canonical_parameters(record["parameters"])
    return (
        record["sha256"],
        record["metric"],
        record["version"],
        parameters,
        record.get("given", ""),
    )


def keys_of(metric: Metric, clip: Clip) -> list[Key]:
    """What names the numbers of a metric about a clip, its first output first."""
    parameters = canonical_parameters(metric.parameters_dict())
    given = clip.material.fingerprint(metric.needs)
    return [(clip.sha256, out.key, metric.version, parameters, given) for out in metric.outputs()]


def line_id(record: Mapping[str, Any]) -> Line:
    """What one line is about: a number of a file under a name."""
    return key_of(record), record["file"], record.get("stimulus", "")


def score_of(record: Mapping[str, Any]) -> Score:
    """The score that a record holds."""
    details, warnings = record.get("details") or {}, record.get("warnings") or {}
    failed = record["failed"]
    return Score(record["value"], record["reason"], details, failed, warnings=warnings)
