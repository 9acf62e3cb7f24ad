"""Which parts a report has, and the parts made, each with what it shows or why it could not."""

from __future__ import annotations

import logging
import math
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from analysis.ratings.large_tables import LARGE, as_texts, raters_sampled
from analysis.report.part import Cancelled, Part, PartInput, silent
from analysis.report.report_schema import PartRecord
from analysis.report.second_process import Result, has_two_cores, second_process
from analysis.statistics.one_thread import on_one_thread
from analysis.statistics.options import Options, OptionsError
from analysis.statistics.screening.screened import Screened
from listening.common.plugins import left_out, origin_of

log = logging.getLogger(__name__)
MANY_SCORES = 50_000  # for fewer a process takes as long to start as it saves
BROKE = "This part broke, which is a fault of Earnest: please report it"


def chosen_parts(options: Options) -> list[type[Part]]:
    """The parts of every report, those of the preset and those asked for, in the page's order."""
    known = Part.registry
    presets = sorted({preset for part in known.values() for preset in part.presets})
    if options.preset and options.preset not in presets:
        raise OptionsError(f"no preset {options.preset}; choose {', '.join(presets)}")
    unknown = [key for key in options.parts if key not in known]
    if unknown:
        choices = ", ".join(known) + left_out(known)
        raise OptionsError(f"no part {', '.join(unknown)}; choose from {choices}")
    return [part for part in known.values() if part.asked_by(options)]


def parts_to_make(inputs: PartInput) -> list[type[Part]]:
    """The chosen parts that apply, in the order of making: those that take long come last."""
    chosen = [kind for kind in chosen_parts(inputs.options) if _applies(kind, inputs)]
    return sorted(chosen, key=lambda kind: kind.late)


def _applies(kind: type[Part], inputs: PartInput) -> bool:
    """Whether a part applies; True where it breaks, so that the report shows why."""
    try:
        return kind().applies(sampled_input(inputs)[0] if kind.sampled else inputs)
    except Exception:
        log.exception("The part %s cannot say whether it applies", kind.key)
        return True


def sampled_input(inputs: PartInput) -> tuple[PartInput, list[str]]:
    """The input of a part that is made of a sample of raters, and a note that says so.

    The very input, and nothing to say, where the ratings are not millions.
    """
    if len(inputs.table) <= LARGE:
        return inputs, []
    ratings, screened, shared, note = inputs.once("sample of raters", lambda: _sampled(inputs))
    return replace(inputs, ratings=ratings, screened=screened, shared=shared), [note]


def _sampled(inputs: PartInput) -> tuple[Any, Screened, dict[Any, Any], str]:
    table = inputs.table
    rows, count, raters = raters_sampled(table["rater"], inputs.options.seed)
    own = as_texts(table[rows]).reset_index(drop=True)
    reasons = {rule: why[rows] for rule, why in inputs.screened.reasons.items()}
    screened = replace(inputs.screened, table=own, reasons=reasons)
    methods = inputs.ratings["method"].unique()
    ratings = screened.kept(inputs.options.rules)
    ratings = ratings[ratings["method"].isin(methods)]
    note = (
        f"Made of the ratings of {count:,} of {raters:,} raters, drawn at random (seed "
        f"{inputs.options.seed}): {len(ratings):,} of {len(inputs.ratings):,} ratings."
    )
    return ratings, screened, {}, note


@contextmanager
def parts_apart(inputs: PartInput) -> Iterator[Result[list[PartRecord]] | None]:
    """The parts about many metric scores, being made in a second process; None without one.

    ``inputs`` needs no report.
    """
    many = inputs.scores is not None and len(inputs.scores) >= MANY_SCORES
    wanted = chosen_parts(inputs.options) if many and has_two_cores() else []
    kinds = [kind for kind in wanted if kind.apart and _applies(kind, inputs)]
    if not kinds:
        yield None
        return
    with second_process(_all_parts, replace(inputs, progress=silent), kinds) as result:
        yield result


@on_one_thread
def _all_parts(inputs: PartInput, kinds: Sequence[type[Part]]) -> list[PartRecord]:
    return list(made_parts(inputs, kinds))


def in_place(parts: list[PartRecord], part: PartRecord) -> None:
    """Put a part among those that are made already, in the page's order."""
    order = list(Part.registry)
    insort(parts, part, key=lambda each: order.index(each["key"]))


def made_parts(
    inputs: PartInput,
    chosen: Sequence[type[Part]],
    say: Callable[[float, str], None] = silent,
) -> Iterator[PartRecord]:
    """Each of these parts as plain values; ``problem`` where it could not be made."""
    for place, kind in enumerate(chosen):
        say(place / len(chosen), kind.title)
        given, notes = sampled_input(inputs) if kind.sampled else (inputs, [])
        inside = replace(given, progress=_scaled_progress(say, place, len(chosen), kind.title))
        content, problem = {}, ""
        try:
            made = kind().make(inside)
            content = plain_of(replace(made, warnings=[*notes, *made.warnings]).plain())
        except ValueError as error:
            problem = str(error)
        except Cancelled:
            raise
        except Exception as error:  # the rest of the report stands
            log.exception("The part %s broke", kind.key)
            origin = origin_of(kind)
            fault = f"This part of {origin} broke: please tell its authors" if origin else BROKE
            problem = f"{fault} ({type(error).__name__}: {error})"
        heading = {"key": kind.key, "version": kind.version, "title": kind.title}
        yield cast(PartRecord, {**heading, "problem": problem, **content})


def _scaled_progress(
    say: Callable[[float, str], None], place: int, parts: int, title: str
) -> Callable[[float, str], None]:
    """Takes a part's own share (0 to 1) for its place among all parts."""

    def tell(share: float, words: str) -> None:
        say((place + min(max(share, 0.0), 1.0)) / parts, f"{title}: {words}" if words else title)

    return tell


def plain_of(value: Any) -> Any:
    """Values that JSON can hold: numbers of NumPy become Python's, what is no number None."""
    if isinstance(value, Mapping):
        return {str(key): plain_of(each) for key, each in value.items()}
    if isinstance(value, str) or value is None:
        return value
    if hasattr(value, "tolist"):
        return plain_of(value.tolist())
    if isinstance(value, Sequence):
        return [plain_of(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
