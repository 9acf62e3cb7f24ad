"""manage.py plan: raters, ratings, cost and time that a wanted precision needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.command_options import add_input_options, input_of, pairs
from listening.common.whole_files import write_whole

if TYPE_CHECKING:
    from analysis.report.content import Content
    from analysis.statistics.planning.pilot import Pilot
    from analysis.statistics.planning.variance_components import Components

FORMER = {"ratings_per_clip": "ratings_per_stimulus"}  # old names of options, still accepted
# Options that go into the question as they are: the name of reading.FIELDS and its metavar.
NUMBERS = {
    "power": "Power for --difference, in percent. Default: 80.",
    "comparisons": "Number of comparisons that share the error. Default: all pairs, or one mean.",
    "level": "Confidence level, in percent. Default: 95.",
    "conditions": "Number of conditions. Default: as in the pilot, else 4.",
    "items": "Number of items. Default: as in the pilot, else 40.",
    "clips_per_rater": "Clips per rater. Default: 40.",
    "ratings_per_stimulus": (
        "Report what this many ratings give, instead of how many are needed. "
        "--ratings-per-clip is the option's old name."
    ),
    "seconds_per_clip": "Seconds per clip with its answer. Default: as in the pilot, else 12.",
    "session_seconds": "Overhead per session, in seconds. Default: 180.",
    "traps": "Traps and practice clips per session. Default: 0.",
    "pay_per_hour": "Pay per hour. Default: 9.",
    "fee": "Fee of the platform on the pay, in percent. Default: 0.",
    "tax": "Tax on the fee, in percent. Default: 0.",
    "lost": "Sessions that are paid but not used, in percent. Default: 10.",
}


class Command(BaseCommand):
    help = "Plan how many raters and ratings a study needs, what they cost, and how long they take."
    requires_system_checks = []
    requires_migrations_checks = False
    needs_database = False  # manage.py starts no server for it

    def add_arguments(self, parser: CommandParser) -> None:
        goal = parser.add_mutually_exclusive_group(required=True)
        goal.add_argument(
            "--half-width",
            help="Target precision: half-width of the confidence interval, in scores.",
        )
        goal.add_argument(
            "--difference", help="Target effect size: the true difference to detect, in scores."
        )
        known = parser.add_mutually_exclusive_group(required=True)
        known.add_argument(
            "--pilot",
            metavar="FILE",
            help="CSV or Parquet file of pilot ratings; docs/other-tools.md has the layouts.",
        )
        known.add_argument("--preset", help="Known study: att, long_form, lfs or nvv.")
        known.add_argument(
            "--sd",
            action="append",
            metavar="TERM=SD",
            help=(
                "Standard deviation of rater, rater_condition, item, stimulus or residual. "
                "Repeatable."
            ),
        )
        parser.add_argument(
            "--task", default="", help="Task of the pilot. Default: the task with most ratings."
        )
        parser.add_argument("--criterion", default="", help="Criterion of the pilot.")
        parser.add_argument(
            "--of", choices=("mean", "difference"), help="What to estimate. Default: difference."
        )
        parser.add_argument("--assignment", choices=("within", "random", "between"))
        parser.add_argument("--currency", help="Currency. Default: GBP.")
        for name, words in NUMBERS.items():
            former = [old for old, new in FORMER.items() if new == name]
            options = [f"--{each.replace('_', '-')}" for each in (name, *former)]
            parser.add_argument(*options, help=words.replace("%", "%%"))
        add_input_options(parser)
        parser.add_argument(
            "--runs",
            type=int,
            default=1000,
            help="Number of simulated studies; 0 simulates none.",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="Random seed of the simulation. Default: 0."
        )
        parser.add_argument("--out", type=Path, help="Folder for JSON, CSV and SVG files.")

    def handle(self, *args: Any, **arguments: Any) -> None:
        from analysis.report.planning.form_fields import requirements_from
        from analysis.report.planning.plan_content import content_of, plain
        from analysis.statistics.planning.proposal import check, propose
        from analysis.statistics.planning.study_design import PlanningError

        try:
            components, known = _components(arguments, self.stderr.write)
            requirements = requirements_from(_question(arguments, known), components)
            proposal = propose(requirements)
            checked = None
            if arguments["runs"]:
                checked = check(proposal, runs=arguments["runs"], seed=arguments["seed"])
        except PlanningError as error:
            raise CommandError(str(error)) from None
        content = content_of(proposal, checked)
        if arguments["out"] is None:
            for line in lines(content):
                self.stdout.write(line)
            return
        for path in _plan_files(arguments["out"], content, plain(proposal, checked)):
            self.stdout.write(str(path))


def lines(content: Content) -> Iterator[str]:
    """A plan as text: sentences, warnings, tables."""
    from analysis.report.html.part_html import cell

    yield from content.sentences
    for words in content.warnings:
        yield f"  note: {words}"
    for table in content.tables:
        yield f"\n{table.title}"
        heads = [column.heading for column in table.columns]
        body = [[cell(column, row) for column in table.columns] for row in table.rows]
        widths = [max(len(line[k]) for line in [heads, *body]) for k in range(len(heads))]
        for line in [heads, *body] if len(heads) > 2 else body:
            padded = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
            yield f"  {'  '.join(padded)}".rstrip()
        if table.note:
            yield f"  {table.note}"


def _components(
    arguments: Mapping[str, Any], say: Callable[[str], object]
) -> tuple[Components, Pilot | None]:
    from analysis.ratings.problems import RatingsError
    from analysis.ratings.table import read_csv
    from analysis.report.planning.form_fields import SDS, own_components
    from analysis.statistics.planning.pilot import chosen_pilot, pilots
    from analysis.statistics.planning.variance_components import preset
    from analysis.statistics.screening.screened import default_rules, screen

    if arguments["preset"]:
        return preset(arguments["preset"]), None
    if arguments["sd"]:
        typed = pairs(arguments["sd"], "--sd")
        unknown = sorted(set(typed) - set(SDS))
        if unknown:
            known = ", ".join(SDS)
            raise CommandError(f"no component {unknown[0]}; known are {known}")
        return own_components({f"sd_{name}": value for name, value in typed.items()}), None
    try:
        reading = read_csv(arguments["pilot"], **input_of(arguments))
    except (RatingsError, OSError) as error:
        raise CommandError(str(error)) from None
    for note in reading.notes:
        say(f"note: {note}")
    rules = default_rules(reading.table)
    every = pilots(screen(reading.table, rules).kept(rules))
    chosen = chosen_pilot(every, arguments["task"], arguments["criterion"])
    return chosen.components, chosen


def _question(arguments: Mapping[str, Any], pilot: Pilot | None) -> dict[str, str]:
    """The values of the planning page's form."""
    from analysis.report.planning.form_fields import starting_values

    known: dict[str, Any] = {}
    if pilot:
        known = {"conditions": pilot.conditions, "items": pilot.items}
    if pilot and pilot.compared:
        known["of"] = "mean"
    goal = "half_width" if arguments["half_width"] is not None else "power"
    size = arguments["half_width"] if goal == "half_width" else arguments["difference"]
    typed = {name: arguments[name] for name in (*NUMBERS, "of", "assignment", "currency")}
    return starting_values(**known) | {
        "goal": goal,
        "size": size,
        **{name: value for name, value in typed.items() if value is not None},
    }


def _plan_files(
    folder: Path, plan_content: Content, everything: Mapping[str, Any]
) -> Iterator[Path]:
    from analysis.report.figures import figure_svg
    from analysis.report.pipeline import plain_of

    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plain_of(everything), indent=1, ensure_ascii=False, sort_keys=True)
    files = {"plan.json": text + "\n", "plan.txt": "\n".join(lines(plan_content)) + "\n"}
    for figure in plan_content.figures:
        files[f"{figure.key}.svg"] = figure_svg(figure, figure.key, standalone=True)
    for name, content in files.items():
        path = folder / name
        write_whole(path, content.encode())
        yield path
