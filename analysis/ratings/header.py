"""The first row of a file of ratings: its columns, other tools' layouts, and what is not used."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from analysis.formatting import enumerated
from analysis.ratings.cells import COLUMNS, LEFT_OUT_BY, WORDS
from analysis.ratings.covariate_columns import is_covariate
from analysis.ratings.estimands import estimand_of, estimand_of_method
from analysis.ratings.problems import NEAR, RatingsError, likeness, nearest
from analysis.ratings.reading_rules import SAMPLE, ReadingRules
from listening.common.parquet_tables import is_parquet, parquet_layout
from listening.common.spreadsheets import (
    DELIMITERS,
    Layout,
    TableError,
    clean_name,
    layout_of_file,
    located,
    some,
    strict_number,
)

MUSHRA = {"method": "mushra"}
QUALTRICS = frozenset(  # what Qualtrics writes of each response, without case
    {
        *("startdate", "enddate", "status", "ipaddress", "progress", "duration (in seconds)"),
        *("finished", "recordeddate", "responseid", "recipientlastname", "recipientfirstname"),
        *("recipientemail", "externalreference", "locationlatitude", "locationlongitude"),
        *("distributionchannel", "userlanguage", "q_recaptchascore"),
    }
)


@dataclass(frozen=True)
class KnownLayout:
    """The table of a tool that has all columns of ``needs`` (without case).

    ``columns`` has for a column of the ratings table the tool's names for it, the first one there
    is counts; ``constants`` are values of every row. ``refused`` says why there are no ratings.
    """

    tool: str
    needs: frozenset[str]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""

    def mapped(self, names: Iterable[str]) -> dict[str, str]:
        """The columns of a file by those of the ratings table that they hold."""
        there = {name.casefold(): name for name in reversed(list(names))}
        theirs_of = {
            ours: next((there[name] for name in theirs if name in there), "")
            for ours, theirs in self.columns.items()
        }
        return {ours: name for ours, name in theirs_of.items() if name}


def _layout(
    tool: str, needs: str, constants: Mapping[str, str] | None = None, **columns: str
) -> KnownLayout:
    by_ours = {ours: tuple(names.split()) for ours, names in columns.items()}
    return KnownLayout(tool, frozenset(needs.split()), by_ours, constants or {})


def _refused_layout(tool: str, needs: str, why: str) -> KnownLayout:
    return KnownLayout(tool, frozenset(needs.split()), refused=why)


LAYOUTS = (
    _layout(
        "webMUSHRA (mushra.csv)",
        "trial_id rating_stimulus rating_score",
        MUSHRA,
        rater="session_uuid participant_id",
        item="trial_id",
        condition="rating_stimulus",
        score="rating_score",
    ),
    _layout(
        "webMUSHRA (lms.csv, lss.csv)",
        "trial_id stimuli_rating stimuli",
        rater="session_uuid participant_id",
        item="trial_id",
        condition="stimuli",
        label="stimuli_rating",
    ),
    _layout(
        "pyMUSHRA",
        "responses_stimulus responses_score wm_id",
        MUSHRA,
        rater="questionaire_uuid",
        item="wm_id",
        condition="responses_stimulus",
        score="responses_score",
    ),
    _layout(
        "pyMUSHRA (Likert pages)",
        "responses_stimulus responses_stimulusrating wm_id",
        rater="questionaire_uuid",
        item="wm_id",
        condition="responses_stimulus",
        label="responses_stimulusrating",
    ),
    _layout(
        "the P.808 toolkit (votes_per_worker.csv)",
        "hitid workerid file vote question_type",
        rater="workerid",
        session="assignment_id",
        stimulus="file",
        score="vote",
        criterion="question_type",
        condition="condition condition_name condition_num",
    ),
    _refused_layout(
        "the P.808 toolkit",
        "file_url n vote_1",
        "votes per clip do not say who voted; analyse its file votes_per_worker.csv or the batch "
        "results",
    ),
    _refused_layout(
        "the P.808 toolkit",
        "condition_name n std 95%ci",
        "these are means of conditions; analyse its file votes_per_worker.csv or the batch results",
    ),
    _refused_layout(
        "webMUSHRA (paired_comparison.csv)",
        "choice_reference choice_non_reference choice_answer",
        "its answers say which clip is the reference; add a column score (1 right, 0 wrong), then "
        "say --set method=abx --column rater={rater} --column item=trial_id "
        "--column condition=choice_non_reference --column versus_condition=choice_reference",
    ),
    _refused_layout(
        "webMUSHRA (bs1116.csv)",
        "rating_reference rating_non_reference rating_reference_score rating_non_reference_score",
        "a BS.1116 grade is the difference of two scores; add a column score (non-reference minus "
        "reference), then say --set method=bs1116 --column rater={rater} "
        "--column item=trial_id --column condition=rating_non_reference",
    ),
)


def known_layout(names: Iterable[str]) -> KnownLayout | None:
    """The tool whose table has these columns, if any is known."""
    there = {name.casefold() for name in names}
    return next((layout for layout in LAYOUTS if layout.needs <= there), None)


MOST_SCORE = 100.0
MOST_LISTED = 8  # columns that a remedy writes out
_MARK = re.compile(r"[_\-. ]")
_ENDING = re.compile(r"\.(?:wav|flac|mp3|ogg|opus|m4a|webm)[])]?$|[])]$", re.IGNORECASE)
_PLACE = re.compile(r"\{(\w+)\}")
_P808_URL = re.compile(r"answer\.(q\d+)_url", re.IGNORECASE)
_P808_CRITERIA = {  # endings of the toolkit's columns, and the criterion that they hold
    **{"": "", "_sig": "signal", "_bak": "background", "_ovrl": "overall"},
    **{"_echo": "echo", "_other": "other", "_noise": "noisiness", "_col": "coloration"},
    **{"_loud": "loudness", "_disc": "discontinuity", "_reverb": "reverberation"},
}
_P808_TRAPS = (  # kind, column of the address, column of the answer, what may be beside it
    ("trapping", "input.tp", "input.tp_ans", 0.0),
    ("gold", "input.gold_clips", "input.gold_clips_ans", 1.0),
    ("gold", "input.gold_url", "input.gold_url_ans", 1.0),
)


_NO_SCORES = QUALTRICS | {  # columns of numbers that stand beside answers
    *("age", "gender", "year", "id", "index", "trial", "duration", "rt", "time", "time_elapsed"),
    *("position", "order"),
}


@dataclass(frozen=True)
class Answer:
    """One answer of a wide row: its cells' columns, and values, by columns of the ratings table."""

    theirs: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trap:
    """Columns that hold the clip of a trap and its right answer; ``within`` is the tolerance."""

    kind: str
    stimulus: str
    expected: str
    within: float


@dataclass(frozen=True)
class WideTable:
    """The answers that each row of a file holds, and the clips among them that are traps."""

    answers: tuple[Answer, ...]
    traps: tuple[Trap, ...] = ()
    note: str = ""

    @property
    def used(self) -> set[str]:
        """The columns of the file that answers, and their traps, take."""
        traps = {name for trap in self.traps for name in (trap.stimulus, trap.expected)}
        return traps | {name for answer in self.answers for name in answer.theirs.values()}

    @property
    def filled(self) -> set[str]:
        """The columns of the ratings table that the answers fill."""
        traps = {"trap", "trap_passed"} if self.traps else set()
        return traps | {
            name for answer in self.answers for name in (*answer.theirs, *answer.constants)
        }


def wide_table(template: str, names: Sequence[str]) -> WideTable:
    """The answers of a file by a template, or by a list of columns that are named after conditions.

    ``{item}_{condition}`` fits Q1_A and Q1_B. Raises RatingsError where no column fits.
    """
    fields = _PLACE.findall(template)
    if not fields:
        listed = [clean_name(name) for name in template.split(",") if clean_name(name)]
        absent = [name for name in listed if name not in names]
        if absent or not listed:
            there = ", ".join(names)
            raise RatingsError([f"--wide: no column {some(absent) or template} (it has {there})"])
        return _named_answers({name: {"condition": name} for name in listed})
    unknown = [name for name in fields if name not in COLUMNS]
    if unknown or len(set(fields)) < len(fields):
        wrong = unknown[0] if unknown else fields[0]
        known = "{condition}, {item}, {criterion} or another column of a ratings table, once each"
        raise RatingsError([f"--wide {template}: {{{wrong}}} is not known; write {known}"])
    pattern = _regular_expression(template)
    fields_of = {name: match.groupdict() for name in names if (match := pattern.fullmatch(name))}
    if not fields_of:
        raise RatingsError([f"--wide {template}: no column fits (it has {', '.join(names)})"])
    if others := _apart(fields_of):
        ignored = " ".join(f"--ignore-column {shlex.quote(name)}" for name in others)
        raise RatingsError(
            [
                f"--wide {template} also fits {some(others)}, without an item or a condition of "
                f"the other columns: are these ratings of clips? Leave them out by {ignored}, or "
                "write more of the fixed text into the template; where they are ratings, make a "
                "table with one rating in each row"
            ]
        )
    return _named_answers(fields_of)


def _apart(fields_of: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Columns that no chain of shared items and conditions joins with most of the others.

    Such are questions of a survey (Q1_age) beside answers about clips. Where as many columns are on
    both sides, systems have sentences of their own, and nothing is said.
    """
    groups: list[tuple[set[tuple[str, str]], list[str]]] = []
    for name, fields in fields_of.items():
        own = {(field, fields[field]) for field in ("item", "condition") if field in fields}
        if len(own) < 2:
            return []
        joined = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        marks = own.union(*(marks for marks, _ in joined))
        groups.append((marks, [*(each for _, names in joined for each in names), name]))
    largest = max(len(names) for _, names in groups)
    return [name for _, names in groups if 2 * len(names) <= largest for name in names]


def _regular_expression(template: str) -> re.Pattern[str]:
    parts = _PLACE.split(template)  # literal text and names in turns
    return re.compile(
        "".join(
            f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)
        )
    )


def _named_answers(fields_of: Mapping[str, Mapping[str, str]]) -> WideTable:
    answers = tuple(Answer({"score": name}, values) for name, values in fields_of.items())
    return WideTable(answers, note=f"Each of these columns is one answer: {some(fields_of)}.")


def p808_batch(names: Sequence[str]) -> WideTable | None:
    """The answers of a batch of the P.808 toolkit (Mechanical Turk, HIT app), if it is one."""
    there = {name.casefold(): name for name in reversed(names)}
    if not {"workerid", "assignmentid"} <= set(there):
        return None
    answers = []
    for name in names:
        question = _P808_URL.fullmatch(name)
        if question is None:
            continue
        for ending, criterion in _P808_CRITERIA.items():
            column = there.get(f"answer.{question[1].casefold()}{ending}")
            if column:
                place = {"position": question[1][1:]}
                criteria = {"criterion": criterion} if criterion else {}
                answers.append(Answer({"stimulus": name, "score": column}, place | criteria))
    traps = tuple(
        Trap(kind, there[url], there[expected], within)
        for kind, url, expected, within in _P808_TRAPS
        if url in there and expected in there
    )
    if not answers:
        return None
    kinds = f"; traps by {some(trap.stimulus for trap in traps)}" if traps else ""
    note = f"Batch results of the P.808 toolkit: {len(answers)} answers in each row{kinds}."
    return WideTable(tuple(answers), traps, note)


def columns_of_scores(layout: Layout, free: Sequence[str]) -> list[str]:
    """Columns that may be an answer each, by a file's first rows; none if there is only one.

    ``free`` are the columns that hold nothing else.
    """
    columns = [name for name in free if name and _holds_scores(layout, name)]
    return columns if len(columns) > 1 else []


def suggestion(columns: Sequence[str]) -> str:
    """How ``--wide`` may read columns of scores."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*columns, strict=False))
    # What stands before all names, as in Google Forms: "How natural is this? [s01_vits.wav]"
    fixed = re.sub(r"[\w.-]*$", "", "".join(letters[0] for letters in alike))
    endings = {match[0] if (match := _ENDING.search(name)) else "" for name in columns}
    ending = next(iter(endings)) if len(endings) == 1 else ""  # names of files
    marks = {
        tuple(_MARK.findall(name.removeprefix(fixed).removesuffix(ending))) for name in columns
    }
    firsts = {mark[:1] for mark in marks}
    if len(firsts) == 1 and firsts != {()} and (ending or max(map(len, marks)) == 1):
        return f"'{fixed}{{item}}{next(iter(firsts))[0]}{{condition}}{ending}'"
    if len(columns) > MOST_LISTED:
        return f"'{{item}}_{{condition}}' (a template that fits {some(columns)})"
    shown = ",".join(columns)
    return f"'{shown}'" if re.search(r"[^\w,.-]", shown) else shown


def _holds_scores(layout: Layout, name: str) -> bool:
    place = layout.names.index(name)
    cells = [row[place] for row in layout.sample if row[place]]
    numbers = [_number_of(cell) for cell in cells]
    known = [number for number in numbers if number is not None and abs(number) <= MOST_SCORE]
    steps = {b - a for a, b in pairwise(known)}
    counting = steps == {1.0} and (len(known) > 5 or (place == 0 and known[0] in (0.0, 1.0)))
    scores = bool(cells) and len(known) == len(cells) and not counting
    return scores and name.casefold() not in _NO_SCORES


def _number_of(cell: str) -> float | None:
    return strict_number(cell.replace(",", "."))  # 3,5 as well


NEEDED = (("rater",), ("condition",), ("score",), ("item", "stimulus"))
# What people call a column. Only a missing one of `DECISIVE` is worth an error.
SYNONYMS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "rater": "participant worker subject user annotator listener assessor evaluator person "
        "respondent pid prolificpid responseid sessionuuid questionaireuuid email "
        "emailaddress participantprivate",
        "condition": "system model tts algorithm codec engine variant",
        "item": "text sentence utterance utt prompt passage content script",
        "stimulus": "clip file filename audio audiofile wav wavfile sample path url",
        "score": "rating mos cmos value answer response vote opinion grade scoreraw",
        "trap": "trapkind traptype attentioncheck attention gold goldstandard catch catchtrial "
        "trapquestion",
        "trap_passed": "passed trapcorrect passedtrap attentionpassed",
        "review": "verdict reviewverdict expertverdict",
        "session_status": "status submissionstatus",
        "versus_condition": "versus systemb conditionb modelb comparedwith against",
        "method": "testmethod testtype",
        "presented_first": "first order",
        "rated_at": "timestamp datetime createdat submittedat answeredat recordeddate enddate "
        "submittime endtime wmdate date",
    }.items()
}
MOST_SHOWN = 12  # columns of a file that are named in a sentence
DECISIVE = frozenset(
    {"trap", "trap_passed", "review", "session_status", "versus_condition", "method"}
)
_PREFIX, _SUFFIX = re.compile(r"^(is|has|was|the)_"), re.compile(r"_(id|name|code|key|no|nr)$")


@dataclass(frozen=True)
class ColumnMapping:
    """Which column of the file gives which of the table, values for whole columns, and the rest.

    ``unused`` are all columns of the file that give nothing, ``unasked`` those of them that nobody
    said to ignore. ``sample`` is a column of the file that makes raters different people, ``known``
    the tool whose table it is, ``wide`` the answers that each row holds.
    """

    layout: Layout
    theirs: Mapping[str, str]
    constants: Mapping[str, str]
    unused: tuple[str, ...]
    unasked: tuple[str, ...]
    rules: ReadingRules = field(default_factory=ReadingRules)
    sample: str = ""
    known: KnownLayout | None = None
    wide: WideTable | None = None

    @property
    def filled(self) -> set[str]:
        """The columns of the table that the file or a constant gives."""
        pattern = self.rules.condition_pattern
        of_pattern = {"condition", *(["item"] if "(?P<item>" in pattern else [])} if pattern else ()
        of_answers = self.wide.filled if self.wide else set()
        return {*self.theirs, *self.constants, *of_pattern, *of_answers}

    def notes(self, ordered_by: str | None = None) -> Iterator[str]:
        """What is to be told of how the file is read, a sentence each.

        ``ordered_by`` is a column that tells which of repeated ratings came first: it is used.
        """
        yield from self.layout.notes()
        if self.known:
            mapped = self.known.mapped(self.layout.names).items()
            roles = [f"{ours} is {name}" for ours, name in mapped if self.theirs.get(ours) == name]
            yield f"The file is read as a table of {self.known.tool}: {enumerated(roles)}."
        if self.wide and self.wide.note:
            yield self.wide.note
        overridden = [name for name in self.unasked if name in self.constants]
        for name in overridden:
            unused = f"The column {name} of the file is not used"
            yield f"{unused}: every row has {shlex.quote(self.constants[name])}, as was asked for."
        looked_at = {
            self.theirs.get(column, column)
            for option in ("drop", "keep")
            for column, _ in self.rules.rows_named(option)
        }
        others = [
            name or "without a name"
            for name in self.unasked
            if name not in overridden and name not in looked_at and name != ordered_by
        ]
        if others:
            columns = "column" if len(others) == 1 else "columns"
            yield f"Not used: the {columns} {enumerated(others)}."


def column_mapping(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
    **rules: Any,
) -> ColumnMapping:
    """How the columns of a file are to be read; raises RatingsError with all that is wrong.

    ``columns`` maps a column of the table to the file's name for it (``sample`` to one that tells
    apart people whose rater is called alike), ``constants`` gives one value to every row, and
    ``ignore`` names columns of the file that are to be left out. ``rules`` are `ReadingRules`.
    """
    path, reading_rules = Path(path), ReadingRules(**rules)
    try:
        parquet = is_parquet(path)
        layout = parquet_layout(path) if parquet else layout_of_file(path, reading_rules.encoding)
    except TableError as error:
        raise RatingsError([located(path.name, line) for line in error.problems]) from None
    constants, names = dict(constants or {}), layout.names
    columns = {ours: clean_name(name) for ours, name in (columns or {}).items()}
    ignore = {clean_name(name) for name in ignore}
    known = known_layout(names)
    if known and known.refused and "score" not in columns:
        rater = next((name for name in names if _means(name, "rater")), "NAME")
        why = known.refused.replace("{rater}", shlex.quote(rater))
        raise RatingsError([f"{path.name}: a table of {known.tool}: {why}"])
    ours = (*COLUMNS, LEFT_OUT_BY)
    taken = QUALTRICS | {name.casefold() for name in (*ours, *columns.values(), *ignore)}
    free = [name for name in names if name.casefold() not in taken]
    wide = wide_table(reading_rules.wide, free) if reading_rules.wide else p808_batch(names)
    theirs = {name: name for name in ours if name in names and name not in ignore}
    theirs = {**_of_tool(known, wide, names), **theirs, **columns}
    sample = theirs.pop(SAMPLE, "")
    theirs = {ours: name for ours, name in theirs.items() if ours not in constants}
    if known:
        constants = {
            name: v for name, v in known.constants.items() if name not in theirs
        } | constants
    used = {*theirs.values(), *([sample] if sample else ()), *(wide.used if wide else ())}
    used |= {name for name in names if is_covariate(name) and name not in ignore}
    unused = tuple(name for name in names if name not in used)
    unasked = tuple(name for name in unused if name not in ignore)
    mapping = ColumnMapping(
        layout, theirs, constants, unused, unasked, reading_rules, sample, known, wide
    )
    answers = _answers(mapping)
    problems = [*_unknown_names(mapping, columns, ignore), *_missing(mapping, answers)]
    problems += [*_near_misses(mapping, answers), *_wrong_method(mapping)]
    if problems and layout.short:
        mark = DELIMITERS[layout.delimiter].removesuffix("s")
        problems = [
            f"every row has {layout.short} cells, and the header {len(names)} names: put a name "
            f"that holds a {mark} in quotes"
        ]
    if problems and _is_data(layout):
        problems = [
            f"the first row ({_names_in_words(names)}) looks like ratings: put a row with the "
            "names of columns above it, such as rater,condition,item,score"
        ]
    if problems:
        raise RatingsError([f"{path.name}: {problem}" for problem in problems])
    return mapping


def _is_data(layout: Layout) -> bool:
    """Whether the first row has numbers where the others have them, and no name of a column.

    Numbers that count (1, 2, 3) are names of questions.
    """
    numbers = {
        place: number
        for place, name in enumerate(layout.names)
        if (number := _number_of(name)) is not None
    }
    count = {b - a for a, b in pairwise(numbers.values())} == {1.0}
    cells = [row[place] for row in layout.sample for place in numbers]
    if not cells or count or None in map(_number_of, cells):
        return False
    return not any(
        _known_as(each) or _means(each, ours) for each in layout.names for ours in COLUMNS
    )


def _of_tool(
    known: KnownLayout | None, wide: WideTable | None, names: Collection[str]
) -> dict[str, str]:
    """The columns that a known tool gives."""
    if known:
        return known.mapped(names)
    if wide and wide.answers and "stimulus" in wide.answers[0].theirs:  # the P.808 toolkit
        there = {name.casefold(): name for name in names}
        return {"rater": there["workerid"], "session": there["assignmentid"]}
    return {}


def _unknown_names(
    mapping: ColumnMapping, columns: Mapping[str, str], ignore: Collection[str]
) -> Iterator[str]:
    """Names in options that neither the table nor the file has."""
    for name in sorted({*columns, *mapping.constants} - {*COLUMNS, SAMPLE}):
        meant = _or_empty("; did you mean {}?", nearest(name, COLUMNS))
        known = ", ".join(COLUMNS)
        yield f"{name} is no column of a ratings table{meant or ';'} Known are {known}"
    for name in sorted(columns.keys() & mapping.constants.keys()):
        yield f"{name} is given twice, by --column and by --set; leave one of them out"
    there = _names_in_words(mapping.layout.names)
    for name, what in [
        *((theirs, f" (wanted for {ours})") for ours, theirs in columns.items()),
        *((name, " to ignore") for name in ignore),
    ]:
        if name not in mapping.layout.names:
            meant = _or_empty("; did you mean {}?", nearest(name, mapping.layout.names))
            yield f"no column {name}{what}{meant} (it has {there})"


def _answers(mapping: ColumnMapping) -> list[str]:
    """Columns that may hold an answer each, of a file without a column of scores."""
    if mapping.wide or mapping.filled & {"score", "label"}:
        return []
    if any(_means(name, "score") for name in mapping.unasked):
        return []
    free = [name for name in mapping.unasked if not _means(name, "rater")]
    return columns_of_scores(mapping.layout, free)


def _missing(mapping: ColumnMapping, answers: Sequence[str]) -> Iterator[str]:
    """Columns that every file needs, with those of the file that may be meant."""
    have = mapping.filled
    wide = suggestion(answers) if answers else ""
    if wide:
        yield (
            "no column score, and several columns hold numbers: if each is an answer about one "
            f"clip, name them, like --wide {wide}"
            + ("" if "{" in wide else " (or by a template, like --wide '{item}_{condition}')")
        )
    for needed in NEEDED:
        if have.intersection(needed) or (needed == ("score",) and "label" in mapping.theirs):
            continue  # labels tell scores
        if wide and needed in (("score",), ("condition",)):
            continue
        if wide and needed[0] == "item" and "{item}" in wide:
            continue
        meant = [
            (ours, name) for ours in needed for name in mapping.layout.names if _means(name, ours)
        ]
        absent = f"no column {' or '.join(needed)}"
        if meant:
            names = enumerated(dict.fromkeys(name for _, name in meant), "or")
            yield f"{absent}; did you mean {names}? {_option('--column', *meant[0])}"
        else:
            remedy = f"add it, or say which column holds it: --column {needed[0]}=NAME"
            if needed == ("condition",) and "stimulus" in have:
                remedy += ", or how it stands in the names of stimuli: --condition-pattern REGEX"
            means = ". Means over raters cannot be analysed" if needed == ("rater",) else ""
            yield f"{absent}; {remedy} (it has {_names_in_words(mapping.layout.names)}){means}"


def _near_misses(mapping: ColumnMapping, answers: Collection[str]) -> Iterator[str]:
    """Columns that nobody uses and that look like one of the table that nothing gives.

    ``answers`` are asked about already.
    """
    have = mapping.filled
    have |= {name for needed in NEEDED if not have.intersection(needed) for name in needed}
    like: dict[str, list[str]] = {}
    of_survey = QUALTRICS if mapping.layout.extra else frozenset[str]()
    for name in (name for name in mapping.unasked if name not in answers):
        known = "" if name.casefold() in of_survey else _known_as(name)
        if known == "session_status" and not _are_statuses(mapping.layout, name):
            continue  # another tool's: its values are asked about
        if known and known not in have:
            like.setdefault(known, []).append(name)
    for ours, names in like.items():
        columns = f"the column {names[0]} looks" if len(names) == 1 else f"{enumerated(names)} look"
        use = _option("--column", ours, names[0])
        leave = " ".join(f"--ignore-column {shlex.quote(name)}" for name in names)
        yield f"{columns} like {ours} and would not be used; say {use}, or {leave}"


def _are_statuses(layout: Layout, name: str) -> bool:
    """Whether the first cells of a column are what a session's status can be."""
    place = layout.names.index(name)
    return {row[place] for row in layout.sample} <= {"", *WORDS["session_status"]}


def _wrong_method(mapping: ColumnMapping) -> Iterator[str]:
    """A method or estimand for the whole file that there is not, or that lacks its columns."""
    method, estimand = (mapping.constants.get(name, "") for name in ("method", "estimand"))
    try:
        known = estimand_of_method(method) if method else None
        known = estimand_of(estimand) if estimand else known
    except KeyError as error:
        yield str(error.args[0])
        return
    if known and known.in_pairs and "versus_condition" not in mapping.filled:
        meant = [name for name in mapping.unasked if _means(name, "versus_condition")]
        remedy = _option("--column", "versus_condition", (*meant, "NAME")[0])
        yield (
            f"no column versus_condition, and {known.name} compares two clips; name the other "
            f"condition: {remedy}, or --set versus_condition=NAME if it is always the same"
        )


def _known_as(name: str) -> str:
    """The column that a name stands for, where leaving it out would be a mistake; else empty."""
    plain = plain_name(name)
    for form in (plain, plain.removesuffix("id")):
        for ours, words in SYNONYMS.items():
            if form in words:
                return ours if ours in DECISIVE else ""
    best = max(COLUMNS, key=lambda ours: likeness(plain, plain_name(ours)))
    return best if likeness(plain, plain_name(best)) >= NEAR else ""


def _means(name: str, ours: str) -> bool:
    plain = plain_name(name)
    of_others = any(plain in words for other, words in SYNONYMS.items() if other != ours)
    if plain in SYNONYMS.get(ours, ()):
        return True
    shorter = plain.removesuffix("id") in SYNONYMS.get(ours, ()) and not of_others
    return shorter or likeness(plain, plain_name(ours)) >= NEAR


def plain_name(name: str) -> str:
    """A name without case, signs, and words such as is_ or _id around it."""
    words = re.sub(r"\W+", "_", name.strip().casefold()).strip("_")
    return _SUFFIX.sub("", _PREFIX.sub("", words)).replace("_", "")


def _option(option: str, ours: str, theirs: str) -> str:
    return f"{option} {ours}={shlex.quote(theirs)}"


def _names_in_words(names: Sequence[str]) -> str:
    """The names of columns, or as many as a sentence can hold."""
    more = len(names) - MOST_SHOWN
    return ", ".join(names[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _or_empty(words: str, name: str) -> str:
    return words.format(name) if name else ""
