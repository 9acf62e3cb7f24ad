"""Errors that raters marked on the waveform: per minute, along each clip, and agreement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Bools, Floats
from analysis.citations import citation
from analysis.ratings.breakdowns import Family
from analysis.report.content import Content, Figure, column, row_from, table_row, together
from analysis.report.part import FamilyInput, PartInput
from analysis.report.parts.marking.marked_clips import (
    AgreementRow,
    MarkedClip,
    agreement_in_words,
    agreements,
    answers_of,
    clip_entry,
    in_order,
    marks_file,
    most_frequent,
    most_marked,
)
from analysis.report.parts.marking.rates import (
    PER_MINUTE,
    PER_WORDS,
    RateRow,
    marks_in,
    rate_rows,
    rate_table,
    rates_of_marks,
)
from listening.methods.error_spans import ErrorSpan
from listening.methods.marking import Marking

if TYPE_CHECKING:
    from listening.selectors import MarkingFacts

FRAME_S = 0.01
MAP_STEP_S = 0.05
MOST_STEPS = 200
WITHOUT_TIMES = (
    "The map of clips and the agreement between raters need the lengths of the clips. A file of "
    "ratings does not hold them: analyse the study itself."
)
_PLACES_NOTE = (
    "Each place is a part of a clip that raters marked without a gap. Times are seconds of the "
    "clip as it was uploaded. Marked by: raters with a mark there. At once: the largest share of "
    "raters who marked the same moment. Kind: that of most marks."
)
_AGREEMENT_NOTE = (
    "Alpha: Krippendorff's nominal alpha over frames of 10 ms, marked or not; 0 is chance, 1 full "
    "agreement. Alpha of kinds: the same over no mark and each kind; of two kinds that a rater "
    "marked at once the shorter mark counts. Positive agreement: of a frame that one rater marked, "
    "the share of the other raters who marked it. Met marks: of a mark, the share of the other "
    "raters with a mark that overlaps it. Intervals resample clips; fewer than 8 clips have none."
)
_METHOD = (
    "Raters marked spans of the waveform where they heard an error, with the kind of error (error "
    f"marking, after {citation('gutierrez2021')}). The score is the number of marks per minute "
    "that raters heard of the clip. Agreement is Krippendorff's nominal alpha "
    f"({citation('krippendorff2019')}) over frames of 10 ms, with an interval by a bootstrap over "
    "clips."
)


@table_row
class PlaceRow:
    """A part of a clip that raters marked without a gap."""

    item: str = column("Item")
    condition: str = column("System")
    start_s: float = column("Start (s)", "number", 2)
    end_s: float = column("End (s)", "number", 2)
    marked: int = column("Marked by", "count")
    raters: int = column("Raters", "count")
    share: float = column("At once", "percent", 0)
    kind: str = column("Kind")
    stimulus: str = ""


@table_row
class SpanAgreementRow(AgreementRow):
    """How far raters agree about the moments of one condition."""

    met: float | None = column("Met marks", "percent", 0)
    seconds: float = column("Seconds", "number", 1)
    clips: int = column("Clips", "count")


@dataclass(frozen=True)
class TimedClip(MarkedClip):
    """A clip, the part of it that raters heard, and the spans of each rater who answered."""

    start_s: float
    end_s: float
    spans: Mapping[str, Sequence[ErrorSpan]]  # by rater

    @property
    def middles(self) -> Floats:
        """The middle of each whole frame of the heard part, in s."""
        count = max(int((self.end_s - self.start_s) / FRAME_S + 1e-6), 1)
        return np.asarray(self.start_s + FRAME_S * (np.arange(count) + 0.5), dtype=np.float64)

    def counts(self, kinds: Sequence[str]) -> Floats:
        """Raters (F, 1 + K) who did not mark each frame, and who chose each kind."""
        middles = self.middles
        counts = np.zeros((len(middles), 1 + len(kinds)))
        places = np.arange(len(middles))
        for spans in self.spans.values():
            chosen = np.zeros(len(middles), dtype=np.int64)
            for span in sorted(spans, key=lambda s: s.start_s - s.end_s):  # the shortest last
                chosen[_inside(middles, span)] = 1 + kinds.index(span.kind)
            counts[places, chosen] += 1
        return counts

    def share(self) -> Floats:
        """The share of raters who marked each frame (F,)."""
        marked = np.zeros(len(self.middles))
        for spans in self.spans.values():
            marked += _marked(self.middles, spans)
        return marked / len(self.spans)

    def places(self) -> Iterator[tuple[float, float, list[tuple[str, ErrorSpan]]]]:
        """Start, end and marks of each part that is marked without a gap, with the raters."""
        marks = sorted(
            ((rater, span) for rater, spans in self.spans.items() for span in spans),
            key=lambda mark: mark[1],
        )
        here: list[tuple[str, ErrorSpan]] = []
        end_s = 0.0
        for rater, span in marks:
            if here and span.start_s >= end_s:
                yield here[0][1].start_s, end_s, here
                here = []
            end_s = max(end_s, span.end_s) if here else span.end_s
            here.append((rater, span))
        if here:
            yield here[0][1].start_s, end_s, here


def _inside(middles: Floats, span: ErrorSpan) -> Bools:
    return np.asarray((middles >= span.start_s) & (middles < span.end_s))


def _marked(middles: Floats, spans: Sequence[ErrorSpan]) -> Bools:
    marked = np.zeros(len(middles), dtype=bool)
    for span in spans:
        marked |= _inside(middles, span)
    return marked


def content_of_spans(each: FamilyInput) -> Content:
    """Rates per minute and per 100 words, maps, agreement and the file of marks."""
    family, inputs = each.family, each.inputs
    facts, kinds, rates = rates_of_marks(each, PER_MINUTE, _METHOD)
    if facts is None:
        return together([rates, Content([WITHOUT_TIMES])])
    by_words = per_words(family, facts, kinds, inputs)
    tables = [rate_table(by_words, "errors_words", PER_WORDS, each)] if by_words else []
    clips = timed_clips(family, facts)
    agreement = list(agreement_rows(clips, list(kinds), inputs, each.level))
    places = place_rows(clips, kinds, inputs)
    key, title = "mark_agreement", "Agreement between raters on moments"
    tables.append(each.table(SpanAgreementRow, key, title, agreement, note=_AGREEMENT_NOTE))
    shown = {"note": _PLACES_NOTE, "folded": True, "group": "item"}
    tables.append(each.table(PlaceRow, "marked_places", "Marked places", places, **shown))
    files = {f"marks{each.suffix}.json": spans_json(clips, kinds)}
    maps = Content(figures=list(_maps(clips, inputs, each)), tables=tables, files=files)
    return together([rates, maps, agreement_in_words(agreement[0], "moment", each.level)])


def per_words(
    family: Family, facts: MarkingFacts, kinds: Mapping[str, str], inputs: PartInput
) -> list[RateRow]:
    """Errors per 100 words, of the clips whose text is known; none where no text is."""
    words = (
        family.table["stimulus"]
        .astype(str)
        .map({stimulus: float(len(own)) for stimulus, own in facts["words"].items()})
    )
    known = words.notna().to_numpy()
    if not known.any():
        return []
    table = family.table[known]
    marks = np.array([len(marks_in(label)) for label in table["label"]], dtype=float)
    score = 100 * marks / words[known].to_numpy(dtype=float)
    table = table.assign(score=score, estimand=Marking.estimand.key)
    return list(rate_rows(table, kinds, inputs))


def timed_clips(family: Family, facts: MarkingFacts) -> list[TimedClip]:
    """The rated clips with a known length, in the order of the table."""
    known: dict[str, TimedClip] = {}
    spans: defaultdict[str, dict[str, Sequence[ErrorSpan]]] = defaultdict(dict)
    for row in answers_of(family):
        heard = facts["heard"].get(row["stimulus"])
        if heard is None:
            continue
        own = [span for span in marks_in(row["label"]) if isinstance(span, ErrorSpan)]
        spans[row["stimulus"]].setdefault(row["rater"], own)  # of repeated trials the first
        start_s, duration_s = heard
        about = (row["stimulus"], row["condition"], row["item"], row["language"])
        clip = TimedClip(*about, start_s, start_s + duration_s, spans[row["stimulus"]])
        known.setdefault(row["stimulus"], clip)
    return list(known.values())


def agreement_rows(
    clips: Sequence[TimedClip], kinds: Sequence[str], inputs: PartInput, level: float
) -> Iterator[SpanAgreementRow]:
    """All conditions together, then each."""
    for own, marked, cells in agreements(clips, kinds, inputs, level):
        seconds, met = marked.n_words * FRAME_S, met_marks(own)
        yield SpanAgreementRow(**cells, met=met, seconds=seconds, clips=marked.n_clips)


def met_marks(clips: Sequence[TimedClip]) -> float | None:
    """Of a mark, the share of the other raters of its clip with a mark that overlaps it, 0 to 1.

    None where no clip with two raters has a mark.
    """
    met = pairs = 0
    for clip in clips:
        for rater, spans in clip.spans.items():
            for other, theirs in clip.spans.items():
                if other != rater:
                    pairs += len(spans)
                    met += sum(
                        any(a.start_s < b.end_s and b.start_s < a.end_s for b in theirs)
                        for a in spans
                    )
    return met / pairs if pairs else None


def place_rows(
    clips: Sequence[TimedClip], kinds: Mapping[str, str], inputs: PartInput
) -> list[PlaceRow]:
    """Every marked place, by item and condition in the order of the study."""
    rows = []
    for clip in in_order(clips, inputs):
        middles, share = clip.middles, clip.share()
        for start_s, end_s, marks in clip.places():
            inside = share[(middles >= start_s) & (middles < end_s)]
            kind = most_frequent(Counter(span.kind for _, span in marks), kinds)
            rows.append(
                row_from(
                    PlaceRow,
                    clip,
                    start_s=start_s,
                    end_s=end_s,
                    marked=len({rater for rater, _ in marks}),
                    raters=len(clip.spans),
                    share=float(inside.max(initial=0.0)),
                    kind=kinds[kind],
                )
            )
    return rows


def _maps(clips: Sequence[TimedClip], inputs: PartInput, each: FamilyInput) -> Iterator[Figure]:
    """One map for each of the most marked items: a line for each system along the time."""
    marked: Counter[str] = Counter()
    for clip in clips:
        marked[clip.item] += sum(len(spans) for spans in clip.spans.values())
    ordered = in_order(clips, inputs)
    for number, item in enumerate(most_marked(marked, inputs), start=1):
        rows = [
            {"group": clip.condition, "x": at, "y": share}
            for clip in ordered
            if clip.item == item
            for at, share in shares_in_time(clip)
        ]
        yield Figure(
            key=f"map_{number}{each.suffix}",
            title=f"Share of raters who marked each moment: {item}",
            drawing="lines",
            rows=rows,
            x="Time in the clip (s)",
            y="Raters who marked it",
            ends=(0.0, 1.0),
            about=each.title,
        )


def shares_in_time(clip: TimedClip) -> list[tuple[float, float]]:
    """Times (s) and the mean share of raters who marked the clip around them, 50 ms or longer."""
    share, middles = clip.share(), clip.middles
    size = max(round(MAP_STEP_S / FRAME_S), -(-len(share) // MOST_STEPS))
    starts = np.arange(0, len(share), size)
    sums = np.add.reduceat(share, starts) / np.diff([*starts, len(share)])
    times = np.add.reduceat(middles, starts) / np.diff([*starts, len(share)])
    return [(round(float(t), 3), round(float(s), 4)) for t, s in zip(times, sums, strict=True)]


def spans_json(clips: Sequence[TimedClip], kinds: Mapping[str, str]) -> str:
    """All marks of all clips: seconds of the upload, kinds, and raters by their codes."""
    entries = [
        clip_entry(clip, clip.spans, heard_s=[round(clip.start_s, 3), round(clip.end_s, 3)])
        for clip in clips
    ]
    return marks_file(entries, kinds)
