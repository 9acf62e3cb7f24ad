"""What raters were paid: per session, clip and hour, and in all; nothing of a single rater."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated
from analysis.report.content import column, table_row
from analysis.report.small_cells import LEAST

if TYPE_CHECKING:
    from listening.selectors import StudyFacts

MINOR = 100  # pence to a pound
_OURS = "as study.toml says"


@table_row
class PayRow:
    """One source of pay; amounts in units of its currency, None where not to be told."""

    source: str = column("Source")
    currency: str = column("Currency")
    per_session: float | None = column("Per session", "number", 2)
    per_clip: float | None = column("Per clip", "number", 3)
    per_hour: float | None = column("Per hour", "number", 2)
    paid_for: str = column("Paid for")
    total: float | None = column("Total", "number", 2)
    bonuses: float | None = column("Bonuses", "number", 2)


def per_clip_and_hour(per_session: float, work: Mapping[str, Any]) -> tuple[float, float] | None:
    """An amount for a session by the median session of people; None below `LEAST` of them."""
    if work["timed"] < LEAST or not work["minutes"] or not work["clips_each"]:
        return None
    return per_session / work["clips_each"], 60 * per_session / work["minutes"]


def paid_by_us(work: Mapping[str, Any]) -> bool:
    """Whether study.toml says what the researcher pays."""
    return any(work[name] is not None for name in ("per_clip", "per_session", "per_hour"))


def pay_rows(facts: StudyFacts) -> Iterator[PayRow]:
    """A row for the rate in study.toml, and one for each recruitment at Prolific."""
    work = facts["pay"]
    if paid_by_us(work):
        yield _by_the_study(work)
    for each in facts["recruitments"]:
        reward = each["reward_minor"] / MINOR
        known = per_clip_and_hour(reward, work)
        has_bonuses = each["bonuses"] >= LEAST
        yield PayRow(
            source="Prolific",
            currency=each["currency"],
            per_session=reward,
            per_clip=known[0] if known else None,
            per_hour=known[1] if known else None,
            paid_for=counted(each["rewards"], "reward"),
            total=reward * each["rewards"],
            bonuses=each["bonuses_minor"] / MINOR if has_bonuses else None,
        )


def rates_in_words(row: PayRow, work: Mapping[str, Any]) -> list[str]:
    """The rate that was stated, then what it came to in the median session, if that is known."""
    amounts = {
        "per_session": (row.per_session, "a session"),
        "per_clip": (row.per_clip, "a clip"),
        "per_hour": (row.per_hour, "an hour"),
    }
    ours = [name for name in amounts if row.source == _OURS and work[name] is not None]
    stated = amounts.pop(ours[0] if ours else "per_session")
    told = [
        f"{amount:,.2f} {row.currency} {unit}"
        for amount, unit in (stated, *amounts.values())
        if amount is not None
    ]
    derived = [f"for the median session {enumerated(told[1:])}"] if told[1:] else []
    return told[:1] + derived


def _by_the_study(work: Mapping[str, Any]) -> PayRow:
    """One amount is given; the others follow from the median session."""
    enough = work["timed"] >= LEAST and work["minutes"] and work["clips_each"]
    clip, session, hour = work["per_clip"], work["per_session"], work["per_hour"]
    if clip is not None:
        total, paid_for = clip * work["clips"], counted(work["clips"], "clip")
        session = clip * work["clips_each"] if enough else None
    elif session is not None:
        total, paid_for = session * work["timed"], counted(work["timed"], "finished session")
    else:
        hours = work["hours"] or 0.0
        total, paid_for = (hour * hours, f"{hours:,.1f} hours") if enough else (None, "–")
        session = hour * work["minutes"] / 60 if enough else None
    known = per_clip_and_hour(session, work) if session is not None else None
    return PayRow(
        source=_OURS,
        currency=work["currency"],
        per_session=session,
        per_clip=clip if clip is not None else known[0] if known else None,
        per_hour=hour if hour is not None else known[1] if known else None,
        paid_for=paid_for,
        total=total,
        bonuses=None,
    )
