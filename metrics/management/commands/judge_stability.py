"""manage.py judge_stability FILE...: how much a judge's score changes when it is asked again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.core import decoding
from metrics.core.metric import Metric, ParameterError, make_metric
from metrics.judges.judge import RepeatedJudge
from metrics.judges.stability import Stability, stability
from metrics.management.judging import add_source, align_table, format_number, judged_clips
from metrics.management.metric_options import chosen_parameters
from metrics.scoring import runner
from metrics.scoring.runner import ScoredClip


class Command(BaseCommand):
    help = (
        "Measure how stable a judge's scores are. Queries it several times about each clip and "
        "prints how much of the variance is due to the clips. Cached answers are not asked "
        "again."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_source(parser)
        judges = [key for key, cls in Metric.registry.items() if issubclass(cls, RepeatedJudge)]
        parser.add_argument("--metric", required=True, choices=judges)
        parser.add_argument("--repeats", type=int, default=5)
        parser.add_argument(
            "--parameters", default="{}", help="Parameters as JSON by metric, as for score_files."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key = options["metric"]
        parameters = {**chosen_parameters(options).get(key, {}), "repeats": options["repeats"]}
        try:
            judge = make_metric(key, parameters)
            clips = judged_clips(options)
        except (ParameterError, decoding.AudioError) as error:
            raise CommandError(str(error)) from error
        scored_clips = list(runner.score_clips(judge, clips, "cpu"))
        for scored in scored_clips:
            if scored.score.value is None:
                self.stderr.write(f"{scored.clip.name}: {scored.score.reason}")
        scores = {scored.clip.name: repeat_means(scored) for scored in scored_clips}
        repeats = {clip.name: scores[clip.name] for clip in clips}
        self.stdout.write(report_lines(stability(repeats)))
        self.stdout.write(cost_line(scored_clips))
        if parameters.get("temperature", judge.parameters_dict()["temperature"]) == 0:
            self.stdout.write(
                "The temperature is 0: most servers then answer the same each time, whatever the "
                "seed; give --parameters with a temperature to see the spread."
            )
        if not any(repeats.values()):
            raise CommandError("no clip has a score; the reasons are above")


def repeat_means(scored: ScoredClip) -> list[float]:
    """The mean of each repeat that there is."""
    if scored.score.value is None:
        return []
    return [value for value in scored.score.details["repeats"] if value is not None]


def report_lines(result: Stability) -> str:
    """A line per clip, then what holds for all of them."""
    rows = [["clip", "n", "mean", "sd", "range"]]
    rows += [
        [
            clip.clip,
            str(clip.n),
            format_number(clip.mean),
            format_number(clip.sd),
            format_number(clip.range),
        ]
        for clip in result.clips
    ]
    return "\n".join(
        [
            align_table(rows),
            "",
            f"clips with two repeats or more   {result.n_clips}",
            f"share whose repeats are equal    {format_number(result.equal)}",
            f"sd inside clips                  {format_number(result.sd_within)}",
            f"sd between clips                 {format_number(result.sd_between)}",
            f"ICC(1), of one answer            {format_number(result.icc)}",
            f"ICC(1, k), of the mean           {format_number(result.icc_mean)}  "
            f"(k = {format_number(result.k)})",
        ]
    )


def cost_line(scored_clips: list[ScoredClip]) -> str:
    """How many questions there were, how many failed, and what they cost."""
    details = [s.score.details for s in scored_clips if "n_asked" in s.score.details]
    sums = {
        name: sum(part[name] for part in details)
        for name in ("n_asked", "n_failed", "n_cached", "tokens_in", "tokens_out")
    }
    costs = [part["cost"] for part in details]
    cost = "unknown" if None in costs or not costs else f"{sum(costs):.4f}"
    return (
        f"{sums['n_asked']} questions, {sums['n_cached']} from the cache, {sums['n_failed']} "
        f"failed; {sums['tokens_in']} tokens in, {sums['tokens_out']} out, cost {cost}"
    )
