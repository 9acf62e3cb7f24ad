"""Which part of each clip raters hear, where a study makes the ends of its clips alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from listening.audio import Facts, Span, common_span, span_of
from listening.design.studyfile import StudyFile
from listening.design.studyfile.entries import StimulusEntry
from listening.methods import method_named


class Trimming:
    """The spans of a study's stimuli; `facts_of` knows the sound of a file of the study."""

    def __init__(self, study: StudyFile, facts_of: Callable[[str], Facts]) -> None:
        self.study, self.facts_of = study, facts_of
        self.made_of_lines = bool(study.settings)

    @cached_property
    def in_step(self) -> bool:
        """Whether raters switch between the clips of an item while they play."""
        return any(method_named(task.method).screen == "parallel" for task in self.study.tasks)

    @cached_property
    def _files_of_items(self) -> dict[str, list[str]]:
        files: dict[str, list[str]] = defaultdict(list)
        for stimulus in self.study.stimuli:
            files[stimulus.item].append(stimulus.file)
        return files

    def span(self, stimulus: StimulusEntry) -> Span | None:
        """What is kept of a plain clip; None where it stays whole.

        Lines that settings join stay whole: their pauses belong to what is studied.
        """
        if self.study.ends == "as_is" or self.made_of_lines:
            return None
        if self.in_step:
            return common_span(self.facts_of(f) for f in self._files_of_items[stimulus.item])
        return span_of(self.facts_of(stimulus.file))

    def span_of_joined(self, facts: Facts) -> Span | None:
        """What is kept of a clip that was made of lines."""
        return None if self.study.ends == "as_is" else span_of(facts)
