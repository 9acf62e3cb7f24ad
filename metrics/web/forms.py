"""What a researcher asks for in the form of the metrics page."""

from __future__ import annotations

from django.http import QueryDict

from metrics.core.metric import Metric
from metrics.scoring.presets import Choice, PresetError, preset

OWN = "own"  # in place of a preset's name: the metrics that are ticked
DEFAULT_PRESET = "fast"


def choices_of(form: QueryDict) -> list[Choice]:
    """The metrics of the preset that was chosen, or those that were ticked.

    Raises PresetError when there is no such preset or metric, or nothing was ticked.
    """
    name = form.get("preset") or DEFAULT_PRESET
    if name != OWN:
        return preset(name).choices(judges=form.get("judges") == "on")
    ticked = form.getlist("metric")
    if unknown := sorted(set(ticked) - set(Metric.registry)):
        raise PresetError(f"no metric is called {', '.join(unknown)}")
    if not ticked:
        raise PresetError("no metric is ticked; tick one, or choose a preset")
    return [Choice(key) for key in ticked]
