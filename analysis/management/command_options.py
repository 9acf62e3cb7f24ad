"""The command-line options that decide the numbers of a report."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from analysis.ratings.cells import COLUMNS
from analysis.ratings.reading_rules import ALL, REPEATS, ReadingRules
from analysis.statistics.options import INTERVALS, REPLICATES, Options, OptionsError, options_from
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_text
from analysis.statistics.screening.screened import DEFAULT, Spared


def add_options(parser: ArgumentParser) -> None:
    """The options that `chosen_options` reads."""
    repeatable = partial(_add_repeatable, parser)
    parser.add_argument("--estimator", default="mean_score", help="Estimator. Default: mean_score.")
    repeatable(
        "--by",
        "COLUMNS",
        "Break results down by these columns, like voice,dimension. system:dimension "
        "compares systems instead of conditions; stimulus or item writes the scores of each "
        "clip or text to clips.csv or items.csv (needs --out). Repeatable. Default: each "
        "column that varies within conditions.",
    )
    parser.add_argument(
        "--level", type=float, default=0.95, help="Confidence level of intervals. Default: 0.95."
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="Random seed of the bootstrap. Default: 0."
    )
    parser.add_argument(
        "--interval",
        action="append",
        choices=INTERVALS,
        help=(
            "Intervals to add to two_way, on which claims rest, and the naive one. Default: "
            "bootstrap."
        ),
    )
    parser.add_argument(
        "--replicates",
        type=int,
        default=REPLICATES,
        help="Maximum number of replicates of each bootstrap.",
    )
    parser.add_argument("--preset", default="", help="Report of a paper's design, like att.")
    repeatable(
        "--part",
        "KEY",
        "Further analysis, like --part ordinal; docs/estimators.md lists all. Repeatable.",
    )
    parser.add_argument(
        "--reference", default="", help="Condition that the others are compared with."
    )
    parser.add_argument(
        "--rope",
        type=float,
        help="Equivalence margin: differences up to this size do not matter.",
    )
    repeatable(
        "--margin",
        "ESTIMAND=SIZE",
        "Largest difference at which versions of a study may be combined, like mos=0.15. "
        "Repeatable. Default: set by the scale.",
    )
    repeatable(
        "--hypothesis",
        "SENTENCE",
        "Hypothesis to test, like “A is non-inferior to B within 0.2”, “A is equivalent to B "
        "within 0.2” or “A is better than B”. “in TASK” or “for these items” may follow. "
        "Repeatable. Default: the hypotheses of the study.",
    )
    repeatable(
        "--covariate",
        "NAME",
        "Covariate of clips in the model of pairs: side, the output of a metric, like "
        "length_s, or NAME of columns covariate_NAME and versus_covariate_NAME. Repeatable. "
        "Adds strengths with and without covariates.",
    )
    parser.add_argument(
        "--chains", type=int, default=4, help="Number of chains of posterior draws. Default: 4."
    )
    parser.add_argument(
        "--draws", type=int, default=1000, help="Number of draws of each chain. Default: 1000."
    )
    repeatable(
        "--spare",
        "RULE/RATER",
        "Undo an exclusion: the rule with this key leaves out nothing of this rater. Repeatable.",
    )
    screened = parser.add_mutually_exclusive_group()
    screened.add_argument("--no-screening", action="store_true", help="Exclude no ratings.")
    screened.add_argument(
        "--rule",
        action="append",
        metavar="RULE",
        help=(
            "Exclusion rule, like att_traps:flawed=1/1,human=2/2 or answer_time:minimum_ms=800. "
            f"Repeatable. Known rules: {', '.join(Rule.registry)}. Default: session_status, "
            "not_counted, and the traps of the study (of a CSV file: att_traps, and review if "
            "the column review has verdicts)."
        ),
    )


def add_input_options(parser: ArgumentParser) -> None:
    """The options that say how a CSV of ratings is to be read; `input_of` reads them."""
    repeatable = partial(_add_repeatable, parser)
    repeatable(
        "--column", "OURS=THEIRS", "Name of a column in the file, like --column condition=system."
    )
    repeatable("--set", "COLUMN=VALUE", "One value for a whole column, like --set method=att.")
    repeatable("--ignore-column", "THEIRS", "Column of the file to ignore. Repeatable.")
    parser.add_argument(
        "--repeats",
        choices=REPEATS,
        default="",
        help=(
            "Ratings to use where a rater rated a clip several times: the first, the mean as one "
            "rating, or all. Default: all if most clips were rated again, the first if few were; "
            "otherwise you are asked. --column sample=COLUMN treats raters of different samples "
            "as different people."
        ),
    )
    repeatable(
        "--same",
        "COLUMN[=NAME]",
        "Treat nearly equal names of raters, conditions, systems or items as one name, like "
        "--same rater.",
    )
    repeatable("--different", "COLUMN[=NAME]", "Treat nearly equal names as different names.")
    repeatable(
        "--drop",
        "COLUMN=VALUE",
        "Drop rows that are not ratings, like --drop phase=practice. Repeatable.",
    )
    repeatable(
        "--keep", "COLUMN=VALUE", "Keep rows as ratings although their column speaks against it."
    )
    parser.add_argument(
        "--wide",
        default="",
        metavar="TEMPLATE",
        help=(
            "Read a file with one column for each answer. Give the template of the column names, "
            "like '{item}_{condition}', or the columns, separated by commas, that are named "
            "after conditions; in a file with conditions, after items, raters or criteria."
        ),
    )
    parser.add_argument(
        "--condition-pattern",
        default="",
        metavar="REGEX",
        help=(
            "Regular expression whose groups give the condition (and a group 'item' the item) in "
            "a stimulus name and in a versus_stimulus. Where it begins with a hyphen: "
            "--condition-pattern='-…'."
        ),
    )
    parser.add_argument(
        "--scale",
        default="",
        metavar="LOW,HIGH",
        help="Ends of the scale, like 1,5 or 0,100, if nobody used its upper part.",
    )
    parser.add_argument(
        "--encoding",
        default="",
        help="Encoding of the file, like gb18030. Default: UTF-8, UTF-16, else Windows-1252.",
    )


def _add_repeatable(parser: ArgumentParser, option: str, metavar: str, words: str) -> None:
    """Add an option that may be given several times."""
    parser.add_argument(option, action="append", metavar=metavar, help=words)


def input_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a command line says of how to read a CSV, as arguments of `read_csv`."""
    return {
        "columns": pairs(arguments["column"], "--column"),
        "constants": pairs(arguments["set"], "--set"),
        "ignore": arguments["ignore_column"] or (),
        **{
            name: arguments[name] or type(default)()
            for name, default in vars(ReadingRules()).items()
        },
    }


def reading_options(arguments: Mapping[str, Any]) -> str:
    """The answers that the ratings.csv of a report needs again, as a command line ends."""
    words = ["--repeats", arguments["repeats"]] if arguments["repeats"] == ALL else []
    words += ["--scale", arguments["scale"]] if arguments["scale"] else []
    for name in ("different", "keep"):
        words += [word for text in arguments[name] or () for word in (f"--{name}", text)
                  if text.partition("=")[0] in COLUMNS]  # fmt: skip
    return "".join(f" {shlex.quote(word)}" for word in words)


def chosen_options(
    arguments: Mapping[str, Any],
    screening: Sequence[Rule] = DEFAULT,
    undone: Sequence[Spared] = (),
    hypotheses: Sequence[str] = (),
    covariates: Sequence[str] = (),
) -> Options:
    """The options of a command line, with those rules unless it names some; or CommandError.

    ``undone`` are a study's exclusions that were undone, ``hypotheses`` and ``covariates`` those
    it declared.
    """
    same = ("estimator", "level", "seed", "replicates", "preset", "reference", "rope")
    parameters = {name: arguments[name] for name in (*same, "chains", "draws")}
    if arguments["margin"]:
        parameters["margins"] = pairs(arguments["margin"], "--margin")
    parameters["rules"] = [rule_text(rule) for rule in screening]
    parameters |= {"spared": list(map("/".join, undone))} if undone else {}
    parameters |= {"hypotheses": list(hypotheses)} if hypotheses else {}
    parameters |= {"covariates": list(covariates)} if covariates else {}
    for name, key in (
        ("by", "by"),
        ("interval", "intervals"),
        ("rule", "rules"),
        ("part", "parts"),
        ("spare", "spared"),
        ("hypothesis", "hypotheses"),
        ("covariate", "covariates"),
    ):
        if arguments[name]:
            parameters[key] = arguments[name]
    if arguments["no_screening"]:
        parameters["rules"] = []
    try:
        return options_from(parameters)
    except OptionsError as error:
        raise CommandError(str(error)) from None


def pairs(words: Sequence[str] | None, option: str) -> dict[str, str]:
    """NAME=VALUE words as a mapping; raises CommandError for a word without an equals sign."""
    wrong = [word for word in words or [] if not word.partition("=")[1]]
    if wrong:
        raise CommandError(f"{option} {wrong[0]}: write it as NAME=VALUE")
    return {word.partition("=")[0]: word.partition("=")[2] for word in words or []}


def error_words(error: Exception) -> str:
    """Return an error's words; a ``KeyError`` as text would be in quotes."""
    return str(error.args[0]) if isinstance(error, KeyError) else str(error)
