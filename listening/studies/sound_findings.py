"""What is odd about the sound of clips: silence, clipping, dead channels, lengths that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from listening.audio import Facts
from listening.design.studyfile.problems import quoted
from listening.studies.findings import CLIPS, Finding, problem, warning

MAX_LEADING_SILENCE_S = 1.0
MAX_CLIPPED_SHARE = 1e-4
MIN_DURATION_S = 0.2
NAMED = 5  # clips whose lengths are told
SPEECH_HZ = 16_000
MOST_LOW_SHARE = 0.25  # so few clips lower the rate of all
SIDES = ("left", "right")


@dataclass(frozen=True)
class MeasuredClip:
    """A clip by the name that researchers know it by, its facts, and the gain that it gets."""

    name: str
    facts: Facts
    gain_db: float = 0.0

    @property
    def is_clipped(self) -> bool:
        """Whether samples stand at full scale and stay there, or pass it in the served copy."""
        peak_dbfs = self.facts.peak_dbfs
        if peak_dbfs is None or self.facts.clipped_share <= MAX_CLIPPED_SHARE:
            return False
        return peak_dbfs <= 0 or peak_dbfs + self.gain_db > 0  # a gain may bring floats back


def sound_findings(clips: Sequence[MeasuredClip]) -> Iterator[Finding]:
    """Findings about clips one by one; those of one kind are named together."""
    facts = {clip.name: clip.facts for clip in clips}
    silent = [name for name, each in facts.items() if each.peak_dbfs is None]
    late = [n for n, each in facts.items() if each.leading_silence_s > MAX_LEADING_SILENCE_S]
    short = [name for name, each in facts.items() if each.duration_s < MIN_DURATION_S]
    clipped = [clip.name for clip in clips if clip.is_clipped]
    dead = {side: [n for n, each in facts.items() if each.channel_fault == side] for side in SIDES}
    turned = [n for n, each in facts.items() if each.channel_fault == "antiphase"]
    yield from _if_any(silent, "Digital silence", "Check these files.", problem)
    yield from _if_any(clipped, "Clipped (full scale reached)", "Lower the level before export.")
    yield from _if_any(
        late, f"More than {MAX_LEADING_SILENCE_S:g} s of silence at the start", "Trim it."
    )
    yield from _if_any(short, f"Shorter than {MIN_DURATION_S:g} s", "Check these files.")
    for side, names in dead.items():
        yield from _if_any(
            names,
            f"The {side} channel is silent, so that this ear hears nothing",
            "Save the other channel as mono, unless this is what you study.",
        )
    yield from _if_any(
        turned,
        "The two channels are in antiphase and cancel each other on a loudspeaker",
        "Invert one channel, or save one as mono.",
    )
    yield from _check_rates(facts)
    yield from _check_lengths({n: each.length_note for n, each in facts.items()})


def _check_rates(facts: dict[str, Facts]) -> Iterator[Finding]:
    """Few clips of a low rate: all are brought to the lowest, so that none shows its system."""
    rates = sorted({each.sample_rate_hz for each in facts.values()})
    if len(rates) < 2 or rates[0] >= SPEECH_HZ:
        return
    low = [name for name, each in facts.items() if each.sample_rate_hz < SPEECH_HZ]
    if len(low) <= MOST_LOW_SHARE * len(facts):
        low_rates = " or ".join(f"{rate:,}" for rate in rates if rate < SPEECH_HZ)
        usual = Counter(each.sample_rate_hz for each in facts.values()).most_common(1)[0][0]
        yield warning(
            f"{len(low)} of {len(facts)} clips have {low_rates} Hz, the others mostly {usual:,} "
            f"Hz: {quoted(low, NAMED)}. If all are brought to one rate, nobody hears anything "
            f"above {rates[0] / 2000:g} kHz.",
            "Replace them with clips of the usual rate, or remove them.",
            CLIPS,
        )


def _check_lengths(notes: dict[str, str]) -> Iterator[Finding]:
    remarks = [f"“{name}”: {note}" for name, note in notes.items() if note]
    if remarks:
        more = [f"And {len(remarks) - NAMED} more clips."] if len(remarks) > NAMED else []
        named = " ".join([*remarks[:NAMED], *more])
        yield warning(
            f"Lengths that headers do not state, or state otherwise. {named}",
            "Listen to these clips to the end, and save them again as FLAC or WAV.",
            CLIPS,
        )


def _if_any(
    names: Sequence[str],
    what: str,
    remedy: str,
    make_finding: Callable[[str, str, str], Finding] = warning,
) -> Iterator[Finding]:
    if names:
        yield make_finding(f"{what}: {quoted(names)}.", remedy, CLIPS)
