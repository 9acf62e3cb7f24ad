"""The first row of a file of ratings: its columns, other tools' layouts, and what is not used."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from analysis.formatting import enumerated
from analysis.ratings.cells import COLUMNS, LEFT_OUT_BY, WORDS
from analysis.ratings.covariate_columns import is_covariate
from analysis.ratings.estimands import estimand_of, estimand_of_method
from analysis.ratings.problems import NEAR, RatingsError, likeness, nearest
from analysis.ratings.reading_rules import SAMPLE, ReadingRules, fold_cell
from analysis.ratings.wide_tables import (
    NO_SCORES,
    WideTable,
    answer_columns,
    number_of,
    p808_batch,
    wide_advice,
    wide_table,
)
from listening.common.parquet_tables import is_parquet, parquet_layout
from listening.common.spreadsheets import (
    DELIMITERS,
    Layout,
    TableError,
    clean_name,
    layout_of_file,
    located,
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


NEEDED = (("rater",), ("condition",), ("score",), ("item", "stimulus"))
# What people call a column. Only a missing one of `DECISIVE` is worth an error.
SYNONYMS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "rater": "participant worker subject user annotator listener assessor evaluator person "
        "respondent responder subj vp proband versuchsperson id pid prolificpid responseid "
        "sessionuuid questionaireuuid email emailaddress participantprivate hörer hörerin bewerter "
        "auditeur évaluateur oyente evaluador ascoltatore 评价者 评分者 被试 听者 評価者 被験者",
        "condition": "system sys model tts algorithm codec engine variant systema conditiona "
        "modela bedingung système sistema condición condizione 系统 条件 模型 システム",
        "criterion": "question aspect attribute scale measure quality kriterium questiontype "
        "ratingtype",
        "item": "text sentence sent satz utterance utt prompt passage content script "
        "phrase frase oración 句子 文 文章",
        "stimulus": "stim clip file filename audio audiofile wav wavfile sample path url",
        "score": "rating mos cmos value answer response resp choice winner preferred preference "
        "pref vote votes opinion grade scoreraw bewertung urteil puntuación valoración punteggio "
        "voto 评分 得分 分数 評価 評点 得点",
        "trap": "trapkind traptype attentioncheck attention gold goldstandard catch catchtrial "
        "trapquestion",
        "trap_passed": "passed trapcorrect passedtrap attentionpassed",
        "review": "verdict reviewverdict expertverdict",
        "session_status": "status submissionstatus",
        "versus_condition": "versus systemb conditionb modelb comparedwith against",
        "method": "testmethod testtype",
        "presented_first": "first order",
        "rated_at": "timestamp datetime createdat submittedat answeredat recordeddate enddate "
        "submittime endtime wmdate date datum zeit uhrzeit fecha hora heure 时间 日時",
    }.items()
}
ONLY_NOTED = frozenset(  # columns without which the same numbers come out
    {
        *("plays", "heard_fraction", "latency_ms", "position", "block", "session", "rated_at"),
        *("headphones", "paid", "justification", "codes", "version", "recruitment_source"),
        *("language", "context", "correct_answer", "alternatives", "pair_probability"),
    }
)
OF_SURVEYS = frozenset(  # what a column of scores may be called, and a question beside answers
    {"choice", "winner", "preferred", "preference", "pref", "resp", "response", "vote", "value"}
)
FEWEST_ANSWERS = 4  # columns beside such a one that are answers about clips
COUNTS = frozenset({"n", "freq", "frequency", "anzahl"})  # of ratings, in a table of them
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
        of_answers = self.wide.filled if self.wide else set()
        of_pattern = _of_pattern(self.rules)
        if of_pattern and "versus_stimulus" in self.theirs:
            of_pattern.add("versus_condition")
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
        if self.wide:
            yield self.wide.note
            for name in sorted(self.wide.filled & {*self.theirs}):
                yield f"The column {self.theirs[name]} is not used: each answer has its own {name}."
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
    theirs = {name: name for name in ours if name in names and name not in ignore}
    if reading_rules.wide:
        have = {*theirs, *columns, *constants, *_of_pattern(reading_rules)}
        wide: WideTable | None = wide_table(reading_rules.wide, free, have)
    else:
        wide = p808_batch(names)
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
        if (number := number_of(name)) is not None
    }
    count = {b - a for a, b in pairwise(numbers.values())} == {1.0}
    cells = [row[place] for row in layout.sample for place in numbers]
    if not cells or count or None in map(number_of, cells):
        return False
    return not any(
        _known_as(each) or _means(each, ours) for each in layout.names for ours in COLUMNS
    )


def _of_pattern(rules: ReadingRules) -> set[str]:
    """The columns that ``--condition-pattern`` fills."""
    pattern = rules.condition_pattern
    return {"condition", *(["item"] if "(?P<item>" in pattern else [])} if pattern else set()


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
    scores = [name for name in mapping.unasked if _means(name, "score")]
    if any(plain_name(name) not in OF_SURVEYS for name in scores):
        return []
    others = [words for ours, words in SYNONYMS.items() if ours != "score"]
    free = [
        name
        for name in mapping.unasked
        if name.casefold() not in QUALTRICS
        and not any({plain_name(name), plain_name(name).removesuffix("id")} & w for w in others)
    ]
    answers = answer_columns(mapping.layout, free)
    return [] if scores and len(answers) < FEWEST_ANSWERS else answers


def _missing(mapping: ColumnMapping, answers: Sequence[str]) -> Iterator[str]:
    """Columns that every file needs, with those of the file that may be meant."""
    have = mapping.filled
    others = [name for name in mapping.layout.names if name not in answers]
    meant_there = {ours for ours in COLUMNS if any(_means(name, ours) for name in others)}
    advice = wide_advice(answers, have | meant_there) if len(answers) > 1 else None
    if advice:
        clips = "; row 2 may name the clips: then delete row 1" * bool(mapping.layout.extra)
        yield f"no column score, and several columns hold numbers: {advice.words}{clips}"
        have = have | advice.fills
    for needed in NEEDED:
        if have.intersection(needed) or (needed == ("score",) and "label" in mapping.theirs):
            continue  # labels tell scores
        meant = [
            (ours, name) for ours in needed for name in mapping.layout.names if _means(name, ours)
        ]
        # A column of one value, such as "anonymous", tells nobody apart
        meant = [each for each in meant if len(_sample_of(mapping.layout, each[1])) > 1] or meant
        if needed == ("score",) and len(answers) == 1:
            meant = [("score", answers[0])]
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


def _sample_of(layout: Layout, name: str) -> set[str]:
    """The different cells of a column in the first rows."""
    place = layout.names.index(name)
    return {row[place] for row in layout.sample}


def _near_misses(mapping: ColumnMapping, answers: Collection[str]) -> Iterator[str]:
    """Columns that nobody uses and that look like one of the table that nothing gives.

    ``answers`` are asked about already.
    """
    have = mapping.filled
    have |= {name for needed in NEEDED if not have.intersection(needed) for name in needed}
    like: dict[str, list[str]] = {}
    of_survey = QUALTRICS if mapping.layout.extra else frozenset[str]()
    others = [name for name in mapping.unasked if name not in answers]
    for name in others:
        known = "" if name.casefold() in of_survey else _known_as(name)
        cells = {fold_cell(cell) for cell in _sample_of(mapping.layout, name)} - {""}
        if known == "trap_passed" and cells and cells <= {"1", "true", "yes", "passed"}:
            continue  # of raters who all did
        if known == "session_status" and not _are_statuses(mapping.layout, name):
            continue  # another tool's: its values are asked about
        if known and known not in have:
            like.setdefault(known, []).append(name)
    for name in others:
        ignored = f"--ignore-column {shlex.quote(name)}"
        if plain_name(name) in COUNTS and _sample_of(mapping.layout, name) != {"1"}:
            yield f"the column {name} may count ratings: repeat the rows in the file, or {ignored}"
        in_pairs = "versus_condition" in have and "presented_first" not in have
        order = in_pairs and plain_name(name) in SYNONYMS["presented_first"]
        if order and None in map(number_of, _sample_of(mapping.layout, name)):
            yield (
                f"the column {name} may say which clip came first, and would not be used: if "
                "scores compare the second clip with the first, write the second into condition "
                f"and the first into versus_condition, else {ignored}"
            )
    for ours, names in like.items():
        columns = f"the column {names[0]} looks" if len(names) == 1 else f"{enumerated(names)} look"
        use = _option("--column", ours, names[0])
        leave = " ".join(f"--ignore-column {shlex.quote(name)}" for name in names)
        yield f"{columns} like {ours} and would not be used; say {use}, or {leave}"


def _are_statuses(layout: Layout, name: str) -> bool:
    """Whether the first cells of a column are what a session's status can be."""
    return _sample_of(layout, name) <= {"", *WORDS["session_status"]}


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
    """The column that a name stands for, where leaving it out could change numbers; else empty."""
    plain = plain_name(name)
    for form in (plain, plain.removesuffix("id")):
        for ours, words in SYNONYMS.items():
            if form in words:
                return ours if ours in DECISIVE else ""
    best = max(COLUMNS, key=lambda ours: likeness(plain, plain_name(ours)))
    near = likeness(plain, plain_name(best)) >= NEAR and best not in ONLY_NOTED
    return best if near and plain not in NO_SCORES else ""


def _means(name: str, ours: str) -> bool:
    plain = plain_name(name)
    of_others = any(plain in words for other, words in SYNONYMS.items() if other != ours)
    if plain in SYNONYMS.get(ours, ()):
        return True
    shorter = plain.removesuffix("id") in SYNONYMS.get(ours, ()) and not of_others
    like = likeness(plain, plain_name(ours)) >= NEAR and plain not in NO_SCORES
    return shorter or like


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
