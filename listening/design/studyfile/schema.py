"""The schema of study.toml: each field declared once, in the order in which it is written.

A field has its type and bounds, its default, a label for pages, one sentence of help, and what it
is: `Kind` says whether it may change once raters have answered. From here come reading
(`reader`), writing (`writer`), what a definition is made of (`listening.design.definition`), the
tables of docs/study-folder.md, and the JSON Schema by which editors complete the file.

Tables inside tables are read one by one by their own modules, since what one may hold depends on
others: `Read` checks them here only for being tables. Import this module inside functions:
pydantic takes 0.2 s to load, and most processes read no study.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as slot
from datetime import date
from functools import partial
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.annotated_handlers import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from listening.checks import Check as SoundCheck
from listening.checks.check import MOST_ATTEMPTS, MOST_TRIALS
from listening.design.analysis_rules import LONGEST as LONGEST_RULE
from listening.design.consent import ETHICS, STANDARD_SENTENCE
from listening.design.kinds import Kind
from listening.design.occasions import BETWEEN
from listening.design.providers import Provider
from listening.design.questionnaires import READY_MADE
from listening.design.questions import QuestionKind
from listening.design.stop_rule import ACTS, COMPARED, FEWEST_LOOKS, MOST_LOOKS, RULES
from listening.design.studyfile import values
from listening.design.studyfile.entries import LONGEST_HYPOTHESIS, LOW_CUTS_HZ, USUAL_LOW_CUT_HZ
from listening.design.studyfile.values import LONGEST_TEXT, Wrong
from listening.methods import Method

WORDING, ASKED, MEASURED, PLAN, RECORD = Kind
SMALL = 32_767  # the largest number of a small column of the database
LARGE = 2**31 - 1
LONGEST_GAP_S = 60
WIDEST_NUMBER = 10**12
SMALLEST_NUMBER = 10**-6


# --- Types ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """A value that a function of ours reads, or refuses by raising `Wrong`.

    The annotated type and `limits` describe it in the JSON Schema.
    """

    read: Callable[[Any], Any]
    limits: dict[str, Any] = slot(default_factory=dict)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            lambda value, _: self.read(value), handler(source)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(schema) | self.limits


def text_of(longest: int = LONGEST_TEXT, *, required: bool = False) -> Read:
    limits = {"maxLength": longest} | ({"minLength": 1} if required else {})
    return Read(partial(values.text, longest=longest, required=required), limits)


def name_of(longest: int, *, required: bool = True) -> Read:
    """A name in any script, on one line."""
    read = partial(values.identifier, longest=longest, required=required)
    return Read(read, {"maxLength": longest, "minLength": 1})


def matching(base: Read, pattern: str, what: str, remedy: str, *, empty: bool = False) -> Read:
    """A text of a pattern; `what` holds {} where the text is quoted."""
    compiled = re.compile(pattern)

    def read(value: Any) -> str:
        clean: str = base.read(value)
        if not (compiled.fullmatch(clean) or (empty and not clean)):
            raise Wrong(what.format(clean), remedy)
        return clean

    return Read(read, base.limits | {"pattern": f"^({pattern})?$" if empty else f"^{pattern}$"})


def slug_of(longest: int, *, required: bool = True) -> Read:
    return matching(
        name_of(longest, required=required),
        "[-a-zA-Z0-9_]+",
        "“{}” may hold only letters a-z and A-Z, digits, - and _ (it stands in URLs and tables).",
        "Choose such a key; the title may hold any characters.",
    )


CODE = matching(
    text_of(64),
    "[A-Za-z0-9_-]+",
    "“{}” is no completion code.",
    "Use letters, digits, - and _, like “C1A2B3D4”.",
)
CURRENCY = matching(
    text_of(), "[A-Z]{3}", "“{}” is no code of a currency.", "Write three capitals, like CNY."
)
LICENCE = matching(
    text_of(60),
    "[A-Za-z0-9][A-Za-z0-9.+-]*",
    "“{}” is no short name of a licence.",
    "Write it as spdx.org/licenses does, like CC-BY-4.0.",
    empty=True,
)
LANGUAGE = Read(
    partial(values.language, longest=16),
    {"maxLength": 16, "pattern": f"^({values.LANGUAGE.pattern})?$"},
)
OPTIONS = Read(values.table)
DAY = Read(values.day)
NESTED = Read(values.raw_table)
NESTED_LIST = Read(values.raw_tables)
SOME_NESTED = Read(partial(values.raw_tables, required=True), {"minItems": 1})
AMOUNT = Field(ge=0, le=1_000_000)
SOME_NAMES = Read(partial(values.listed, longest=20, required=True), {"minItems": 1})
WIDE = Field(ge=-WIDEST_NUMBER, le=WIDEST_NUMBER)
RETURN_URL = Read(partial(values.return_url, longest=1000), {"maxLength": 1000})
LOOKS = Read(
    partial(values.looks, fewest=FEWEST_LOOKS, most=MOST_LOOKS),
    {
        "anyOf": [
            {"type": "integer", "minimum": FEWEST_LOOKS, "maximum": MOST_LOOKS},
            {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}},
        ]
    },
)
METHOD = Read(partial(values.text, longest=40, required=True), {"enum": sorted(Method.registry)})


def one_of(*choices: str) -> Read:
    return Read(partial(values.one_of, choices=choices), {"enum": list(choices)})


def one_of_numbers(*choices: int) -> Read:
    return Read(partial(values.one_of_numbers, choices=choices), {"enum": list(choices)})


def texts_of(longest: int) -> Read:
    limits = {"uniqueItems": True, "items": {"type": "string", "maxLength": longest}}
    return Read(partial(values.texts, longest=longest), limits)


LABELS = texts_of(80)  # of answers: short, so that pages show them on one line


def read_by(read: Callable[..., Any], longest: int) -> Read:
    return Read(partial(read, longest=longest))


def words_of(longest: int) -> Read:
    return Read(partial(values.words, longest=longest))


def _without_point(value: float) -> float:
    return int(value) if value.is_integer() else value


Value = TypeVar("Value")
Described = Annotated[Value, Read(values.plain)]  # read by the check or method that it is for
Text = Annotated[str, text_of()]
EthicsText = Annotated[str, text_of(2000)]
Code = Annotated[str, CODE]
ReturnUrl = Annotated[str, RETURN_URL]
ReadySet = Annotated[str, Field(json_schema_extra={"enum": list(READY_MADE)})]
POINT = AfterValidator(_without_point)


# --- Fields ---------------------------------------------------------------------------------------


def declare(
    label: str, help: str = "", default: Any = ..., usual: str = "", *, kind: Kind | None = None
) -> Any:
    """A field: its label, its help, its default, that default in words, and what it is.

    Without a kind it has that of its table. The kind of a field that holds a table is that of what
    this holds beside the fields of the schema.
    """
    own: dict[str, Any] = {"usual": usual} | ({"kind": kind} if kind else {})
    return Field(default=default, title=label, description=help or None, json_schema_extra=own)


def own(field: FieldInfo) -> dict[str, Any]:
    """The kind of a field, and its default in words."""
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


class Table(BaseModel):
    """A table of study.toml; names that it does not declare are mistakes."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def __init_subclass__(cls, kind: Kind | None = None) -> None:
        """Give the fields that name no kind that of the table."""
        for field in vars(cls).values():
            if isinstance(field, FieldInfo):
                own(field).setdefault("kind", kind)


CHECK = Read(slug_of(40).read, {"enum": sorted(SoundCheck.registry)})


# --- [study] --------------------------------------------------------------------------------------


class Texts(Table, kind=WORDING):
    welcome: Text = declare(
        "Welcome", "the first page; `{minutes}` is replaced by how long it takes", None
    )
    consent: Text = declare("Consent", "what raters agree to; `{minutes}` works here, too", None)
    consent_version: Annotated[str, text_of(40)] = declare(
        "Version of the consent", "kept with each session", None
    )
    end: Text = declare("At the end", "shown at the end of a complete session", None)
    contact: Text = declare("Whom raters write to", "whom to write to", None)
    debrief: Text = declare(
        "What the study was about, shown last", "what the study was about, shown below `end`", None
    )
    synthetic_voices: Text = declare(
        "That voices were synthetic, said at the end",
        "says at the end that voices were synthetic, to all who heard clips. "
        f'`"{STANDARD_SENTENCE}"` is a ready sentence in the rater\'s language',
        None,
    )
    comment_prompt: Text = declare(
        "Question above the box for comments (empty: no box)",
        "asks for a comment at the end; without it none is asked",
        None,
    )


class Codes(Table, kind=RECORD):
    """A code for each outcome."""

    complete: Code = declare("Code of who finished", "of a complete session", None, "generated")
    screened_out: Code = declare(
        "Code for screened-out raters", "after a check or an answer", None, "generated"
    )
    partial: Code = declare(
        "Code of who stopped", "of a session that ended early", None, "generated"
    )
    needs_review: Code = declare(
        "Code of who failed traps", "of a complete session to look at", None, "generated"
    )
    no_consent: Code = declare(
        "Code of who declined", "of who declines on the first page", None, "generated"
    )


class Publication(Table, kind=RECORD):
    audio_licence: Annotated[str, LICENCE] = declare(
        "Licence of the clips",
        "the licence of the clips and their texts; without it they are left out",
        "",
        "none",
    )
    ratings_licence: Annotated[str, LICENCE] = declare(
        "Licence of the ratings",
        'the licence of the ratings, by its short name at spdx.org/licenses, like `"CC-BY-4.0"`',
        "",
        "none",
    )
    consent_covers_ratings: bool = declare(
        "Consent covers ratings",
        "the consent text says that ratings are published under random codes",
        False,
    )
    consent_covers_words: bool = declare(
        "Consent covers words",
        "it also covers what raters write: reasons, and answers in words",
        False,
    )


class Ethics(Table, kind=RECORD):
    controller: EthicsText = declare(ETHICS["controller"], "the data controller", "")
    purpose: EthicsText = declare(ETHICS["purpose"], "what it is for", "")
    risks: EthicsText = declare(ETHICS["risks"], "risks of taking part", "")
    payment: EthicsText = declare(ETHICS["payment"], "what raters get", "")
    data: EthicsText = declare(ETHICS["data"], "what else is kept", "")
    kept: EthicsText = declare(ETHICS["kept"], "for how long, and where", "")
    shared: EthicsText = declare(ETHICS["shared"], "who else gets it", "")
    withdrawal: EthicsText = declare(
        ETHICS["withdrawal"], "how to withdraw, besides stopping at any moment", ""
    )
    approval: EthicsText = declare(ETHICS["approval"], "board and number of the approval", "")
    complaints: EthicsText = declare(ETHICS["complaints"], "whom to complain to", "")
    age: EthicsText = declare(ETHICS["age"], "the least age", "", "18")


class Payment(Table, kind=RECORD):
    by: Annotated[str, one_of("prolific", "us", "nobody")] = declare(
        "Raters are paid", 'who pays raters: `"prolific"`, `"us"` or `"nobody"`', "prolific"
    )
    per_hour: Annotated[float, AMOUNT, POINT] = declare("Pay per hour", "an amount", None)
    per_session: Annotated[float, AMOUNT, POINT] = declare(
        "Pay per session", "an amount, where you do not pay by the hour", None
    )
    per_clip: Annotated[float, AMOUNT, POINT] = declare(
        "Pay per clip",
        "an amount for each clip that is answered, traps too; a pair or a screen counts once",
        None,
    )
    currency: Annotated[str, CURRENCY] = declare(
        "Currency", 'at Prolific `"GBP"` or `"USD"`, else any code like `"CNY"`', "GBP"
    )


class Check(Table, kind=MEASURED):
    """Its settings are read by the check itself: here they are only described."""

    model_config = ConfigDict(extra="allow")

    key: Annotated[str, CHECK] = declare(
        "Check",
        "which check, each once: `volume`, `huggins`, `antiphase`, `stereo`, `digits_in_noise`, "
        "`environment`",
    )
    title: Described[str] = declare(
        "Title", "your heading above the check", None, "its own", kind=WORDING
    )
    text: Described[str] = declare(
        "Text", "your words above the check", None, "its own", kind=WORDING
    )
    trials: Described[int] = declare(
        "Sounds", f"how many sounds, 1 to {MOST_TRIALS}", None, "the check's"
    )
    pass_at_least: Described[int] = declare(
        "Right at least", "how many must be right", None, "the usual share of the trials"
    )
    attempts: Described[int] = declare(
        "Attempts", f"how often a rater may try, 1 to {MOST_ATTEMPTS}", None, "the check's"
    )
    on_fail: Described[str] = declare(
        "After the last attempt",
        'after the last failed attempt: `"screen_out"` ends the session with the code '
        '`screened_out` and gives its slots to others; `"continue"` goes on and records the '
        "outcome",
        None,
        "the check's",
    )
    feedback: Described[bool] = declare(
        "Feedback",
        "before the next attempt, tell the rater what to change, never what was right; `false`:"
        " only that it was not enough",
        None,
        "`true`",
    )
    language: Described[str] = declare(
        "Language of the digits",
        'of the spoken digits: `"en"` or `"zh"`',
        None,
        'the study\'s, else `"en"`',
    )
    snr_db: Described[float] = declare(
        "Speech to noise, dB",
        "digits in noise: speech to noise, -20 to 20 dB; lower is harder",
        None,
        "`-2`",
    )
    better_db: Described[float] = declare(
        "Better sound, dB",
        "environment: speech to noise of the better sound, 0 to 70 dB",
        None,
        "`50`",
    )
    worse_db: Described[float] = declare(
        "Worse sound, dB",
        "environment: speech to noise of the worse sound, 0 to 70 dB",
        None,
        "`40`",
    )


class TextWords(Table, kind=WORDING):
    welcome: Text = declare("Welcome", "", "")
    consent: Text = declare("Consent", "", "")
    end: Text = declare("At the end", "", "")
    contact: Text = declare("Whom raters write to", "", "")
    debrief: Text = declare("What the study was about", "", "")
    synthetic_voices: Text = declare("That voices were synthetic", "", "")
    comment_prompt: Text = declare("Question for comments", "", "")


class CheckWords(Table, kind=WORDING):
    title: Annotated[str, text_of(200)] = declare("Title", "", "")
    text: Annotated[str, text_of(5000)] = declare("Text", "", "")


class QuestionWords(Table, kind=ASKED):
    question: Annotated[str, text_of(500)] = declare("Question", "", "")
    help: Annotated[str, text_of(1000)] = declare("Small words below it", "", "")
    options: Annotated[dict[str, str], words_of(300)] = declare("Answers", "by value", {})


class QuestionnaireWords(Table, kind=WORDING):
    title: Annotated[str, text_of(200)] = declare("Title", "", "")
    text: Text = declare("Text", "", "")
    questions: Annotated[dict[str, QuestionWords], NESTED] = declare(
        "Questions", "by key", {}, kind=ASKED
    )


class StudyWords(Table, kind=WORDING):
    """What a study says in one more language."""

    title: Annotated[str, text_of(200)] = declare("Title", "", "")
    texts: Annotated[TextWords, NESTED] = declare("Texts", "", {})
    checks: Annotated[dict[str, CheckWords], NESTED] = declare("Checks", "by key", {})
    questionnaires: Annotated[dict[str, QuestionnaireWords], NESTED] = declare(
        "Questionnaires", "by key", {}
    )


class Study(Table):
    key: Annotated[str, slug_of(80)] = declare(
        "Key",
        "the study's name in files and commands: letters a-z, digits, `-`, `_`; at most 80",
        kind=RECORD,
    )
    title: Annotated[str, text_of(200, required=True)] = declare(
        "Title", "what raters see; at most 200 characters", kind=WORDING
    )
    language: Annotated[str, LANGUAGE] = declare(
        "Language of the pages and the speech",
        'language tag of the pages and of the speech, like `"de"` or `"zh-Hans"`',
        "en",
        kind=MEASURED,
    )
    seed: Annotated[int, Field(ge=-(2**62), le=2**62)] = declare(
        "Seed", "a whole number; the same seed plans the same blocks", 0, kind=PLAN
    )
    task_plan: Annotated[str, one_of("one", "all")] = declare(
        "A rater gets",
        '`"all"`: a rater gets every task that has open blocks, in the order of the file; '
        '`"one"`: one of them. A task has stimuli × `ratings_per_stimulus` ÷ `block_size` '
        "blocks, so later raters may get fewer tasks",
        "all",
        kind=PLAN,
    )
    sessions_per_rater: Annotated[int, Field(ge=1, le=1000)] = declare(
        "Sittings per person at most", "how often a rater may come", 1, kind=PLAN
    )
    lease_minutes: Annotated[float, Field(ge=1, le=7 * 24 * 60), POINT] = declare(
        "Minutes away until others get the rest",
        "a rater who is away longer loses the rest of the block to others; 1 to 10080",
        30,
        kind=PLAN,
    )
    break_every: Annotated[int, Field(ge=0, le=1000)] = declare(
        "A break is offered after so many screens",
        "after so many clips the page offers a break; `0`: never",
        0,
        kind=PLAN,
    )
    loudness_lufs: Annotated[float, Field(ge=-50, le=-10), POINT] = declare(
        "One loudness for all, in LUFS",
        "bring every clip that raters hear to this loudness (BS.1770), such as `-23`. Each gain"
        " is recorded, and limited so that nothing clips. A mono clip plays at both ears, so it"
        " counts 3.01 LU more than its file measures",
        None,
        kind=MEASURED,
    )
    sample_rate_hz: Annotated[int, Field(ge=8_000, le=192_000)] = declare(
        "One sampling rate for all, in Hz",
        "bring every clip that raters hear to this sampling rate, such as `48000`, so that the "
        "rate does not reveal the system",
        None,
        kind=MEASURED,
    )
    low_cut_hz: Annotated[int, one_of_numbers(*LOW_CUTS_HZ)] = declare(
        "Low frequencies of clips",
        "remove low frequencies from every clip that raters hear, because inaudible hum reveals"
        " recordings to a script. `50`, for speech, removes all below 45 Hz and keeps all from "
        "60 Hz; `20`, for music and other sounds with bass, removes all below 15 Hz and keeps "
        "all from 20 Hz",
        USUAL_LOW_CUT_HZ,
        kind=MEASURED,
    )
    erase_after_days: Annotated[int, Field(ge=0, le=36_500)] = declare(
        "Days after the end until personal data is erased",
        "so many days after the study closes, [erase what names its "
        "raters](researcher-guide.md#erase-what-names-raters); ratings stay",
        None,
        kind=RECORD,
    )
    erase_on: Annotated[date, DAY] = declare(
        "Day when personal data is erased",
        "instead of days: a day, such as `2027-06-30`, from 00:00 UTC on, if the study is "
        "closed by then",
        None,
        kind=RECORD,
    )
    erase_reasons: bool = declare(
        "Erase the reasons, too", "also erase the reasons for ratings", False, kind=RECORD
    )
    ends: Annotated[str, one_of("alike", "as_is")] = declare(
        "Ends of clips",
        "cut the silence or noise before and after the sound of every clip that raters hear "
        "(more than 40 dB below its peak; 20 ms before and 50 ms after stay, faded), so that "
        'the ends of files do not reveal the system; `"as_is"` leaves them. Clips of one item '
        "stay aligned where raters switch between them. Lines that settings join are cut as one "
        "clip",
        None,
        '`"alike"`; `"as_is"` where the study asks for faint sounds: a question with the option '
        "`absent`, a key that begins with `nvv` or a word such as breath or laugh (English or "
        "Chinese), or a condition with the attribute `nvv_types`",
        kind=MEASURED,
    )
    hypotheses: Annotated[list[str], texts_of(LONGEST_HYPOTHESIS)] = declare(
        "Hypotheses",
        "what you expect: up to 30 sentences, each of up to 1,000 characters. Part of the "
        "frozen definition and of the preregistration; raters never see them. You can also "
        "write them on the page *Exclusion rules*",
        (),
        "none",
        kind=PLAN,
    )
    covariates: Annotated[list[str], texts_of(80)] = declare(
        "Covariates",
        "[covariates](estimators.md#pair_covariates) of clips, in paired studies: `side` (heard "
        "second), `length_s` and `loudness_lufs` (score the clips with these metrics), `voice`,"
        " or a column of your own in stimuli.csv with numbers or up to 8 different words",
        (),
        "none",
        kind=PLAN,
    )
    texts: Annotated[Texts, NESTED] = declare("Texts", "", {}, kind=WORDING)
    translations: Annotated[dict[str, StudyWords], NESTED] = declare(
        "Further languages", "by language tag: what the study says in it", {}
    )
    completion_codes: Annotated[Codes, NESTED] = declare("Completion codes", "", {}, kind=RECORD)
    publication: Annotated[Publication, NESTED] = declare("Publication", "", {}, kind=RECORD)
    ethics: Annotated[Ethics, NESTED] = declare("Ethics", "", {}, kind=RECORD)
    payment: Annotated[Payment, NESTED] = declare("Raters are paid", "", {}, kind=RECORD)
    checks: Annotated[list[Check], NESTED_LIST] = declare(
        "Checks before the study", "", (), kind=MEASURED
    )


# --- [[conditions]], [[settings]] and [[sources]] -------------------------------------------------


class Condition(Table, kind=PLAN):
    key: Annotated[str, name_of(80)] = declare(
        "Condition", "any script, at most 80 characters, on one line, without ` ~ `"
    )
    label: Annotated[str, text_of(120)] = declare(
        "Label",
        "its name on pages; results and exports use the key",
        "",
        "the key",
        kind=RECORD,
    )
    system: Annotated[str, text_of(80)] = declare("System", "results can be grouped by it", "")
    voice: Annotated[str, text_of(80)] = declare("Voice", "results can be grouped by it", "")
    role: Annotated[str, one_of("test", "reference", "anchor", "trap", "prompt")] = declare(
        "Role",
        '`"test"`, `"reference"` (known to be good, such as a human reader), `"anchor"` (known '
        'to be poor), `"trap"` (for traps only), `"prompt"` (a recording of the target speaker '
        "that raters hear before a clip and never rate)",
        "test",
    )
    attributes: Annotated[dict[str, Any], words_of(2000)] = declare(
        "Attributes",
        'a table of your own, such as `{ vocoder = "hifi", steps = "32" }`; exports have it. '
        "`bitrate_kbps` makes [a curve](estimators.md#rate_curve)",
        {},
        "none",
    )


class Setting(Table, kind=MEASURED):
    key: Annotated[str, slug_of(40, required=False)] = declare(
        "Name",
        "stands before the names, as in `news R1T1`; needed when two settings make a condition "
        "of the same name",
        "",
        "none",
    )
    real: Annotated[str, text_of(80)] = declare(
        "Real speech", "R: the key of the condition with real speech", "", "none"
    )
    synthetic: Annotated[str | list[str], read_by(values.one_or_several, 80)] = declare(
        "Synthetic speech", "T: the key of a condition, or a list of them", [], "none"
    )
    conditions: Annotated[list[str], SOME_NAMES] = declare(
        "Conditions", 'names, such as `["Ri", "Ti", "R1R1", "R1T1", "T1T1"]`'
    )
    lines: Annotated[str, one_of("rows", "turns")] = declare(
        "Lines",
        '`"rows"`: one file per line; `"turns"`: whole conversations, whose turns stand in the '
        "column `turns` and are cut out with all that overlaps them",
        "rows",
    )
    channels: Annotated[str, one_of("both", "mono")] = declare(
        "Channels",
        'of conversations: `"both"`, as recorded, one speaker at each ear; `"mono"`, the mean '
        "of both, for raters with one loudspeaker",
        "both",
    )
    windows: Annotated[str, one_of("all", "first", "last")] = declare(
        "Windows",
        'which pairs of context and stimulus a paragraph gives: `"all"`, only the `"first"`, as'
        ' in the paper, or only the `"last"`. Isolation always takes every line',
        "all",
    )
    first_lines: Annotated[int, Field(ge=1, le=99)] = declare(
        "First lines",
        "use only so many first lines of each paragraph, for every condition; `2` with "
        "dialogues, as in the paper. The import counts the lines left out",
        None,
        "all",
    )
    gap_s: Annotated[float, Field(ge=0, le=LONGEST_GAP_S), POINT] = declare(
        "Seconds between lines",
        f"seconds of silence between two lines; at most {LONGEST_GAP_S}",
        0.3,
    )
    context_gap_s: Annotated[float, Field(ge=0, le=LONGEST_GAP_S), POINT] = declare(
        "Seconds after the context",
        "seconds of silence between context and stimulus",
        None,
        "as `gap_s`",
    )
    dimensions: Annotated[list[str], read_by(values.listed, 80)] = declare(
        "Dimensions", "only paragraphs all of whose lines have one of these dimensions", [], "all"
    )
    allow_missing: bool = declare(
        "Lines may be missing",
        "leave out and count what a missing line needs; otherwise a gap in the positions, or a "
        "line that a condition lacks, is a mistake",
        False,
    )


class ReturnUrls(Table, kind=RECORD):
    """Where a rater goes at each end."""

    complete: ReturnUrl = declare("Address after the end", "", None)
    screened_out: ReturnUrl = declare("Address when screened out", "", None)
    partial: ReturnUrl = declare("Address after stopping", "", None)
    needs_review: ReturnUrl = declare("Address after failed traps", "", None, "that of `complete`")
    no_consent: ReturnUrl = declare("Address after declining", "", None)
    quota_full: ReturnUrl = declare("Address at a full quota", "", None)


class SourceCodes(Codes, kind=RECORD):
    """A code for each outcome, and for raters who find no place."""

    quota_full: Code = declare("Code at a full quota", "for raters who find no place", None)


class Source(Table, kind=RECORD):
    key: Annotated[str, slug_of(40)] = declare(
        "Source", "its name in the address (`?source=lab`) and in `sessions.csv`"
    )
    kind: Annotated[str, one_of(*Provider.registry)] = declare(
        "Kind",
        '`"link"` (the plain link), `"prolific"`, `"panel"` (people that you know by ids of '
        'your own), `"clickworker"`, `"connect"` (CloudResearch), `"microworkers"`, `"mturk"`, '
        '`"sona"`, `"other"`; [recipes](other-providers.md)',
        "link",
    )
    title: Annotated[str, text_of(120)] = declare(
        "Title", "for you; raters do not see it", "", "that of the kind"
    )
    quota: Annotated[int, Field(ge=0, le=1_000_000)] = declare(
        "Quota",
        "how many sessions it may have, finished and in progress. *Recruiting* changes it while"
        " the study runs. Raters who come back are always admitted",
        0,
        "none",
    )
    participant: Annotated[str, read_by(values.parameter, 60)] = declare(
        "Parameter of the participant",
        "the address parameter that names the person: `participant` (panel, other), `workerId`,"
        " `participantId`, `worker`, `user_id`, `id` (Sona). Without it nobody can start",
        "",
        "by kind",
    )
    submission: Annotated[str, read_by(values.parameter, 60)] = declare(
        "Parameter of the submission",
        "the parameter that names this submission and that only its participant knows: "
        "`assignmentId` (MTurk, Connect), `rand_key` (Microworkers). It lets them continue in "
        "another browser",
        "",
        "by kind",
    )
    project: Annotated[str, read_by(values.parameter, 60)] = declare(
        "Parameter of the project",
        "the parameter that names the project at the provider: `hitId` (MTurk), `projectId` "
        "(Connect), `campaign` (Microworkers)",
        "",
        "by kind",
    )
    signature: Annotated[str, read_by(values.parameter, 60)] = declare(
        "Parameter of the signature",
        "the parameter that holds a signature of the ids ([signed "
        "addresses](other-providers.md#signed-addresses)), made with a secret that you enter under "
        "*Recruitment sources*",
        "",
        "not signed",
    )
    invited_only: bool = declare(
        "By invitation only",
        "a panel that only invited people enter: *Recruitment sources*, *Invitations* gives "
        "each a link to one session, by mail or as a list",
        False,
    )
    own_ids: bool = declare(
        "Your own ids",
        "the ids are yours: the same id is the same rater in all your sources and studies. "
        "Otherwise a rater who comes by another source is another rater; ids of MTurk, Connect,"
        " Microworkers and Clickworker are known in every study there",
        False,
        "`false`, panel: always",
    )
    once_per_browser: bool = declare(
        "Once per browser",
        "only one id can start in a browser, also from another provider. Not for shared "
        "computers, as in a lab",
        False,
    )
    return_urls: Annotated[ReturnUrls, NESTED] = declare(
        "Return addresses",
        "where a rater goes at each of these ends; `{participant}`, `{submission}`, "
        "`{project}`, `{code}` and `{signature}` are filled in. `needs_review` uses that of "
        "`complete` if it has none",
        {},
        "none",
    )
    codes: Annotated[SourceCodes, NESTED] = declare(
        "Completion codes",
        "completion codes that all who end so share: `complete`, `partial`, `needs_review`, "
        "`screened_out`, `no_consent`, `quota_full`. A session's own code cannot be passed on "
        "and is in `sessions.csv`",
        {},
        "one for each session",
    )


class AnalysisRule(Table, kind=PLAN):
    rule: Annotated[str, text_of(LONGEST_RULE, required=True)] = declare(
        "Rule",
        "a rule with the numbers that you change: [all rules](estimators.md#screening)",
    )
    why: Annotated[str, text_of(300)] = declare(
        "Why", "for the preregistration and the report", "", "none"
    )


# --- [[questionnaires]] ---------------------------------------------------------------------------


class Option(Table, kind=PLAN):
    value: Described[str | int | bool] = declare("Value", "what is stored")
    text: Described[str] = declare("Answer", "what raters read", kind=ASKED)


class ShowIf(Table, kind=PLAN):
    question: Annotated[str, slug_of(40)] = declare(
        "Question", "the key of an earlier question of the questionnaire"
    )
    answers: Annotated[list[str | int | bool], read_by(values.answers, 200)] = declare(
        "Answers", "the answers that lead here"
    )


class Question(Table, kind=PLAN):
    """One that changes a ready-made question repeats only its key: editors ask for no more."""

    model_config = ConfigDict(json_schema_extra={"required": ["key"]})

    key: Annotated[str, slug_of(40)] = declare("Key", "its name in the exported answers")
    question: Annotated[str, text_of(500, required=True)] = declare(
        "Question", "at most 500 characters", kind=ASKED
    )
    help: Annotated[str, text_of(1000)] = declare(
        "Small words below it", "a sentence below it", "", kind=ASKED
    )
    kind: Annotated[str, one_of(*QuestionKind.registry)] = declare(
        "Kind",
        '`"one"` or `"many"` of the options, `"scale"` (a row of points), `"slider"`, '
        '`"number"`, `"text"`, or `"birth_date"`, of which Earnest keeps only the age in years',
    )
    options: Annotated[list[str | int | bool | Option], read_by(values.options, 200)] = declare(
        "Answers",
        'texts, or `{ value = "loss", text = "I hear less well" }` to keep a short value. For a '
        "`scale` or `slider`: words for some of its points, such as "
        '`{ value = 1, text = "wide awake" }`',
        [],
        "required for `one` and `many`",
    )
    required: bool = declare("Required", "must it be answered?", True)
    prefer_not: bool = declare(
        "May be declined",
        "adds “I prefer not to say”, kept as `prefer_not`; use it for personal questions",
        False,
    )
    other: bool = declare(
        "Other",
        "of `one` and `many`: adds “Other”, kept as `other`, and a line to say which, kept as "
        "`KEY_other`",
        False,
    )
    low: Annotated[float, WIDE, POINT] = declare(
        "Lowest",
        "lower limit of a `number`; first point of a `scale` or `slider`, a whole number",
        None,
    )
    high: Annotated[float, WIDE, POINT] = declare(
        "Highest",
        "upper limit of a `number`; last point of a `scale` (at most 11 points) or `slider`, a "
        "whole number",
        None,
    )
    longest: Annotated[int, Field(ge=1, le=5_000)] = declare(
        "Characters at most",
        "characters of a `text`, at most 5,000; up to 120 it has one line",
        None,
        "`500`",
    )
    show_if: Annotated[ShowIf, NESTED] = declare(
        "Shown if",
        "asked only when an earlier question of the same questionnaire has one of these answers: "
        '`{ question = "…", answers = ["…"] }`',
        None,
        "always",
    )
    screen_out: Annotated[list[str | int | bool], read_by(values.answers, 200)] = declare(
        "Screened out by",
        "answers that end the session as screened out; only `before`. The page does not reveal "
        "them",
        [],
        "none",
    )
    screen_out_unless: Annotated[list[str | int | bool], read_by(values.answers, 200)] = declare(
        "Screened out unless",
        "answers of which a rater must give at least one; all others are screened out. "
        '`"{language}"` is the language of the rater\'s pages: [raters of one '
        "language](#raters-of-one-language)",
        [],
        "none",
    )

    covariate: bool = declare(
        "Covariate",
        "compares scores between the answers [in the report](estimators.md#rater_answers), and "
        "adds them to ratings.csv; for one answer per rater: no `text`, no `many`, only "
        "`before` or `after`",
        False,
    )


class Questionnaire(Table, kind=PLAN):
    key: Annotated[str, slug_of(40)] = declare("Key", "letters a-z, digits, `-`, `_`; at most 40")
    when: Annotated[str, one_of("before", "after", *BETWEEN)] = declare(
        "When",
        '`"before"` the trials or `"after"` them; `"after_task"` or `"between_blocks"`: [see '
        "below](#between-tasks-and-blocks)",
        "before",
    )
    task: Annotated[str | list[str], read_by(values.task_keys, 80)] = declare(
        "Tasks",
        "of `after_task` and `between_blocks`: the key of a task, or a list of them",
        [],
        "all",
    )
    every: Annotated[int, Field(ge=1, le=1000)] = declare(
        "Every", "of `between_blocks`: after every so many blocks", None, "`1`"
    )
    title: Annotated[str, text_of(200)] = declare(
        "Title",
        "heading above the questions",
        "",
        "of the ready-made questions, or “A few questions”",
        kind=WORDING,
    )
    text: Text = declare("Text", "words above the questions", "", kind=WORDING)
    use: Annotated[ReadySet | list[ReadySet], Read(values.ready_sets)] = declare(
        "Ready-made questions",
        'one ready-made set or a list: `"demographics"` (`gender`, `age`, `native_speaker`, '
        '`first_language`), `"hearing"` (`hearing`), `"device"` (`listening_device`, `place`), '
        '`"native_languages"`, `"fluent_languages"`; their questions come first',
        [],
        "none",
    )
    questions: Annotated[list[Question], NESTED_LIST] = declare(
        "Questions", "[below](#questionnaires)", (), "none"
    )


# --- [[tasks]] ------------------------------------------------------------------------------------


class Draw(Table, kind=PLAN):
    number: Annotated[int, Field(ge=1, le=200_000)] = declare(
        "Number", "how many of each group", None, "this or `share`"
    )
    share: Annotated[float, Field(ge=0, le=1), POINT] = declare(
        "Share", "which share of each group (rounded up)", None, "this or `number`"
    )
    of: Annotated[str, one_of("items", "clips", "pairs")] = declare(
        "Of",
        '`"items"`: sentences, with the clips of all systems, so that systems are compared on '
        'the same ones; `"clips"`: single clips; `"pairs"`: single pairs of a comparison '
        "(`cmos`, `preference`, `ccr`, `dcr`, `ab`, `abx`), so that each system has sentences "
        "of its own; no sentence comes twice in a block",
        "items",
    )
    per: Annotated[list[str], texts_of(20)] = declare(
        "Per",
        'groups: `dimension`, `language`, `split`, `speaker`; for `"clips"` and `"pairs"` also '
        "`condition`, `system`, `voice`; of a pair those of its rated clip, the first of the "
        "two",
        (),
        "all as one",
    )
    seed: Annotated[int, Field(ge=0, le=LARGE)] = declare(
        "Seed", "a whole number", None, "the study's"
    )


class Example(Table, kind=MEASURED):
    stimulus: Annotated[str, name_of(120)] = declare("Clip", "a row's id")
    caption: Annotated[str, text_of(500)] = declare(
        "Caption", "text next to the clip", "", kind=WORDING
    )


class Training(Table, kind=MEASURED):
    stimulus: Annotated[str, name_of(120)] = declare("Clip", "a row's id")
    expected: Annotated[list[str], LABELS] = declare(
        "Right answers",
        "labels that are right; without them the page only shows your words",
        (),
        "none",
    )
    right: Annotated[str, text_of(500)] = declare(
        "After a right answer", "what the rater reads after a right answer", "", kind=WORDING
    )
    wrong: Annotated[str, text_of(500)] = declare(
        "After a wrong answer", "what the rater reads after a wrong answer", "", kind=WORDING
    )


class Justification(Table, kind=MEASURED):
    required: bool = declare("Required", "must a reason be given?", True)
    min_chars: Annotated[int, Field(ge=0, le=2000)] = declare(
        "Characters at least", "characters that a reason has at least", 10
    )
    prompt: Annotated[str, text_of(300)] = declare(
        "Question for the reason", "the question for the reason", "", "our own", kind=ASKED
    )
    good: Annotated[list[str], texts_of(1000)] = declare(
        "Good examples", "examples of good reasons", (), "none", kind=WORDING
    )
    poor: Annotated[list[str], texts_of(1000)] = declare(
        "Poor examples", "examples of poor reasons", (), "none", kind=WORDING
    )


class TrapKind(Table, kind=MEASURED):
    kind: Annotated[str, name_of(40)] = declare(
        "Kind of trap", "a name that the column `trap` uses"
    )
    count: Annotated[int, Field(ge=1, le=100)] = declare(
        "Traps in a set", "traps of this kind in a set", 1
    )
    expected: Annotated[list[str], LABELS] = declare(
        "Labels that pass",
        "labels that pass; the column `expected` of a row overrides it (several: `4|5`)",
        (),
        "the row's",
    )
    pass_at_least: Annotated[int, Field(ge=1, le=100)] = declare(
        "Pass at least", "how many of them must pass", None, "all"
    )
    tolerance: Annotated[float, Field(ge=0, le=100), POINT] = declare(
        "Tolerance",
        "for gold clips: an answer this near to an expected one passes too",
        None,
        "`0`",
    )
    criterion: Annotated[str, text_of(80)] = declare(
        "Criterion", "the criterion whose answer is judged", None, "the first"
    )
    text: bool = declare(
        "Written instruction",
        "a written instruction: show the text of the trap's item. Set `show_text` too, or the "
        "text gives the trap away",
        None,
        "`false`",
    )


class Traps(Table, kind=MEASURED):
    placement: Annotated[str, one_of("outside", "inside")] = declare(
        "Traps come",
        '`"outside"`: a set has `per` rated clips and the traps in addition; `"inside"`: the '
        "traps are among the `per`. `block_size` must hold whole sets of rated clips",
        "outside",
    )
    per: Annotated[int, Field(ge=1, le=1000)] = declare("Clips of one set", "clips of one set", 10)
    voids: Annotated[str, one_of("set", "session")] = declare(
        "A failed set voids",
        'what a failed set invalidates: that `"set"`, or all sets of this task in the rater\'s '
        '`"session"`, as in appendix B.2 of the Audio Turing Test; `"session"` needs '
        "`reopen_invalid = true`",
        "set",
    )
    kinds: Annotated[list[TrapKind], SOME_NESTED] = declare(
        "Kinds of traps", "each a table `[[tasks.traps.kinds]]`, below"
    )


class Options(Table, kind=MEASURED):
    """Options of the methods, which read them themselves: here they are only described."""

    model_config = ConfigDict(extra="allow")

    points: Described[int] = declare(
        "Highest point", "the scale's highest point, 2 to 100; above 11 as a slider", None, "`5`"
    )
    clips: Described[int] = declare(
        "Clips on a screen", "clips on a screen of `best_worst`, 3 to 12", None, "`4`"
    )
    step: Described[float] = declare(
        "Steps of the scale", "1, or 0.5 for half steps", None, "the method's"
    )
    reach: Described[int] = declare(
        "The scale reaches", "1, 2 or 3 on both sides of 0", None, "the method's"
    )
    part: Annotated[str, one_of("signal", "background", "overall")] = declare(
        "Part", "what a criterion of `p835` asks about", None, "`overall`"
    )
    names: Annotated[dict[str, str], words_of(300)] = declare(
        "Words at answers", "words by label", None, "the method's"
    )
    absent: Described[str] = declare(
        "Answer apart from the scale", "words of an answer 0, “not there”", None, "none"
    )
    order: Described[list[str] | str] = declare(
        "Order of the answers",
        'labels in the order of the buttons; of `closed_response` `"shuffled"` or `"fixed"`',
        None,
    )
    versus: Described[str] = declare(
        "Compare", "the condition that all others are compared with", None, "every pair"
    )
    pairs: Described[list[list[str]] | str] = declare(
        "Compare",
        'pairs of conditions, or the rule that draws them: `"random"`, `"swiss"` or `"adaptive"`',
        None,
        "every pair",
    )
    uniform_share: Described[float] = declare(
        "Even share",
        "share of the probability that is even over all pairs, above 0 and up to 1",
        None,
        "`0.2`",
    )
    reference: Described[str] = declare(
        "Reference", "the condition that is the reference, or the prompt", None, "that of this role"
    )
    null_pairs: Described[bool] = declare("Null pairs", "adds the reference against itself", False)
    tie: Described[bool | str] = declare(
        "“No difference” may be answered", "a third answer, or its words", False
    )
    heard: Described[float] = declare(
        "Share of a clip that must be heard",
        "the share of each clip that must be heard before its answer, above 0 and up to 1",
        None,
        "the method's",
    )
    restart: Described[bool] = declare(
        "Clips restart", "a clip starts at its beginning when it is pressed", False
    )
    reference_first: Described[bool] = declare(
        "Reference first", "the rated clips open once the reference was heard", False
    )
    open_reference: Described[bool] = declare(
        "Open reference",
        "a clip on the page is called the reference",
        True,
    )
    hidden_reference: Described[bool] = declare(
        "Hidden reference", "the reference is among the rated clips, too", True
    )
    waveform: Annotated[str, one_of("none", "reference")] = declare(
        "Waveform", "whose waveform the time line shows", None, "`none`"
    )
    choices: Described[list[Any]] = declare(
        "Answers", "labels, or tables of label, text and score", None
    )
    many: Described[bool] = declare("Several answers", "several of the choices may be taken", False)
    slider: Described[list[float]] = declare(
        "Slider", "its lowest value, its highest and its step", None
    )
    text: Described[bool] = declare("Free text", "the answer is a text", False)
    longest: Described[int] = declare(
        "Longest text", "characters that a text may have", None, "`500`"
    )
    plays: Described[int] = declare(
        "Plays of a clip", "how often a rater may play a clip, 1 to 20", None, "`1`"
    )
    unit: Annotated[str, one_of("words", "phonemes")] = declare(
        "Unit", "what is counted right: words, or phonemes", None, "`words`"
    )
    dialect: Described[str] = declare(
        "Dialect",
        "language tag of the dialect whose phonemes are compared, such as `en-gb`",
        None,
        "that of the language",
    )
    typos: Annotated[str, one_of("none", "one_letter")] = declare(
        "Typos",
        "`one_letter`: a word of 5 or more letters counts as right with one letter wrong",
        None,
        "`none`",
    )
    homophones: Described[list[str]] = declare(
        "Homophones",
        'groups of words that count as the same word, such as `["their there"]`',
        None,
        "none",
    )
    mark: Described[str] = declare(
        "Where errors are marked",
        "with `marking`: `words` of the text, or spans of the `waveform`",
        None,
        "`words`",
    )
    kinds: Described[list[str] | dict[str, str]] = declare(
        "Kinds of errors",
        "with `marking`: up to 9 kinds of errors, a list of names or a table of names and words",
        None,
        "the method's seven",
    )
    rubric: Described[str] = declare(
        "Rubric", "a judge's rubric that raters read, too", None, "none"
    )


class Criterion(Table, kind=MEASURED):
    key: Annotated[str, slug_of(80)] = declare(
        "Criterion", "letters a-z, digits, `-`, `_`; at most 80"
    )
    question: Annotated[str, text_of(300)] = declare(
        "Question", "what raters are asked", "", "the method's own", kind=ASKED
    )
    help_text: Text = declare(
        "Small words below it", "small words below the question", "", kind=ASKED
    )
    options: Annotated[Options, OPTIONS] = declare(
        "Scale", "options of its own scale, over those of the task", {}, "the task's"
    )


class ReasonWords(Table, kind=WORDING):
    prompt: Annotated[str, text_of(300)] = declare("Question for the reason", "", "", kind=ASKED)
    good: Annotated[list[str], texts_of(1000)] = declare("Good examples", "", ())
    poor: Annotated[list[str], texts_of(1000)] = declare("Poor examples", "", ())


class CriterionWords(Table, kind=ASKED):
    question: Annotated[str, text_of(300)] = declare("Question", "", "")
    help_text: Text = declare("Small words below it", "", "")
    names: Annotated[dict[str, str], words_of(300)] = declare("Words at answers", "by label", {})


class TrainingWords(Table, kind=WORDING):
    right: Annotated[str, text_of(500)] = declare("After a right answer", "", "")
    wrong: Annotated[str, text_of(500)] = declare("After a wrong answer", "", "")


class TaskWords(Table, kind=WORDING):
    """What a task says in one more language."""

    title: Annotated[str, text_of(200)] = declare("Heading", "", "")
    instructions: Text = declare("Instructions", "", "", kind=ASKED)
    justification: Annotated[ReasonWords, NESTED] = declare("Reasons", "", {})
    criteria: Annotated[dict[str, CriterionWords], NESTED] = declare(
        "Criteria", "by key", {}, kind=ASKED
    )
    captions: Annotated[dict[str, str], words_of(500)] = declare(
        "Captions of examples", "by stimulus", {}
    )
    training: Annotated[dict[str, TrainingWords], NESTED] = declare("Training", "by stimulus", {})


class Task(Table, kind=PLAN):
    key: Annotated[str, slug_of(80)] = declare(
        "Key", "letters a-z, digits, `-`, `_`; at most 80", kind=MEASURED
    )
    method: Annotated[str, METHOD] = declare(
        "Method", 'the key of one of the [methods](methods.md), such as `"mos"`', kind=MEASURED
    )
    block_size: Annotated[int, Field(ge=1, le=1000)] = declare(
        "Screens in a block, traps apart", "rated trials that a rater takes together"
    )
    ratings_per_stimulus: Annotated[int, Field(ge=1, le=10_000)] = declare(
        "Ratings per stimulus", "every stimulus ends with exactly this number"
    )
    min_raters: Annotated[int, Field(ge=1, le=SMALL)] = declare(
        "Raters per condition at least",
        "how many raters each condition needs; pages, results and paper files name conditions "
        "with fewer",
        None,
        "none",
    )
    title: Annotated[str, text_of(200)] = declare(
        "Heading", "shown before the first trial", "", kind=WORDING
    )
    instructions: Text = declare(
        "Instructions", "shown before the first trial, below the title", "", kind=ASKED
    )
    options: Annotated[Options, OPTIONS] = declare(
        "Options",
        "a table `[tasks.options]`: what the method lets you choose ([methods](methods.md))",
        {},
        "none",
        kind=MEASURED,
    )
    conditions: Annotated[list[str], texts_of(80)] = declare(
        "Conditions",
        "the conditions that are rated, also those made by [settings](#settings); by default "
        "all of stimuli.csv except traps",
        (),
        "all",
    )
    dimensions: Annotated[list[str], texts_of(80)] = declare(
        "Dimensions", "only items of these dimensions", (), "all"
    )
    draw: Annotated[Draw, NESTED] = declare(
        "Draw",
        "a table `[tasks.draw]`: rate a random part of the material, [below](#a-draw)",
        {},
        "none",
    )
    blocks_per_session: Annotated[int, Field(ge=1, le=1000)] = declare(
        "Blocks in one sitting", "blocks in one sitting", 1
    )
    blocks_per_rater: Annotated[int, Field(ge=1, le=SMALL)] = declare(
        "Blocks of one person at most", "blocks that one rater may take in total", None, "as many"
    )
    repeat_items: bool = declare(
        "Items may repeat",
        "may a rater hear the same item from several conditions? Needed when blocks have more "
        "trials than there are items",
        False,
    )
    allow_missing: bool = declare(
        "Clips may be missing",
        "may an item lack a condition? With `true`, blocks are shorter where a clip is missing; "
        "otherwise it is a mistake",
        False,
    )
    show_text: bool = declare(
        "Show the words of the sentence",
        "show the item's text next to the clip",
        False,
        kind=MEASURED,
    )
    show_caption: bool = declare(
        "Show the caption",
        "show the clip's caption (column `caption`), under the heading “Description of the "
        "voice”; in a pair, that of the rated clip",
        False,
        kind=MEASURED,
    )
    autoplay: bool = declare(
        "Clips play by themselves",
        "from the second clip on, a clip plays by itself; browsers want a press for the first. "
        "Not for methods with all clips on one screen",
        False,
        kind=MEASURED,
    )
    reopen_invalid: bool = declare(
        "Reopen invalid blocks",
        "hand a block out again when its traps failed, so that only sets that passed count "
        "towards the target",
        False,
    )
    repeats: Annotated[int, Field(ge=0, le=1000)] = declare(
        "Repeated trials at the end",
        "so many trials of a session come again at the end of the task. They never count as "
        "ratings; they show how well raters agree with themselves. At most as many as there are"
        " rated clips",
        0,
    )
    examples: Annotated[list[Example], NESTED_LIST] = declare(
        "Examples", "clips on the page of instructions", (), "none", kind=MEASURED
    )
    training: Annotated[list[Training], NESTED_LIST] = declare(
        "Training", "practice trials before the first real one", (), "none", kind=MEASURED
    )
    justification: Annotated[Justification, NESTED] = declare(
        "A reason for each answer",
        "asks for the reason of each answer",
        None,
        "none, except in `att`",
        kind=MEASURED,
    )
    traps: Annotated[Traps, NESTED] = declare(
        "Traps", "mixes in clips with a known answer", None, kind=MEASURED
    )
    criteria: Annotated[list[Criterion], NESTED_LIST] = declare(
        "Question", "the questions of one screen", (), "the method's own", kind=MEASURED
    )
    translations: Annotated[dict[str, TaskWords], NESTED] = declare(
        "Further languages", "by language tag: what the task says in it", {}, "none", kind=WORDING
    )


class Stop(Table, kind=PLAN):
    rule: Annotated[str, one_of(*RULES)] = declare(
        "Stop rule",
        '`"planned_looks"`: the comparisons are tested at planned numbers of raters; '
        '`"half_width"`: the intervals are narrow enough; `"budget"`: the money is spent',
    )
    act: Annotated[str, one_of(*ACTS)] = declare(
        "When it applies",
        '`"close"`: the study closes by itself, and with `planned_looks` a system that is decided '
        'receives no more raters before; `"ask"`: you decide on both on the study\'s page',
        "close",
    )
    looks: Annotated[int | list[float], LOOKS] = declare(
        "Looks",
        "with `planned_looks`: how many, the last with all raters, or a list of shares of the "
        "planned sessions, such as `[0.4, 0.7, 1.0]`; with `half_width`: how often the width is "
        f"checked. 2 to {MOST_LOOKS}",
        None,
        "`5`; with `half_width` `10`",
    )
    difference: Annotated[float, Field(ge=SMALLEST_NUMBER, le=WIDEST_NUMBER), POINT] = declare(
        "Smallest difference that matters",
        "with `planned_looks`, in scores: a comparison is futile when a difference of this size "
        "would hardly be found any more",
        None,
        "the difference that all raters find with a power of 80 %",
    )
    futility: bool = declare(
        "Stop for futility",
        "with `planned_looks`: stop, too, when all comparisons that are not significant are futile",
        True,
    )
    compare: Annotated[str, one_of(*COMPARED)] = declare(
        "Comparisons",
        'with `planned_looks`, of clips rated one by one: `"reference"`, each system with the '
        'reference; `"systems"`, the systems with each other',
        None,
        '`"reference"` where there is one, else `"systems"`',
    )
    criteria: Annotated[list[str], texts_of(80)] = declare(
        "Criteria", "the keys of the criteria that decide", (), "all"
    )
    target: Annotated[float, Field(ge=SMALLEST_NUMBER, le=WIDEST_NUMBER), POINT] = declare(
        "Target half-width",
        "with `half_width`, in scores: the 95% interval of every condition's mean is at most "
        "± this (of comparisons: of every pair's mean)",
        None,
    )
    amount: Annotated[float, Field(ge=SMALLEST_NUMBER, le=WIDEST_NUMBER), POINT] = declare(
        "Budget",
        "with `budget`, in the currency of [study.payment]: what finished sessions and those in "
        "progress cost is at most this",
        None,
    )


class StudyToml(Table):
    """study.toml."""

    study: Annotated[Study, NESTED] = declare("Study")
    conditions: Annotated[list[Condition], NESTED_LIST] = declare("Systems", "", (), kind=PLAN)
    settings: Annotated[list[Setting], NESTED_LIST] = declare("Systems", "", (), kind=MEASURED)
    sources: Annotated[list[Source], NESTED_LIST] = declare("Sources", "", (), kind=RECORD)
    analysis_rules: Annotated[list[AnalysisRule], NESTED_LIST] = declare(
        "Analysis rules", "", (), kind=PLAN
    )
    stop: Annotated[Stop, NESTED] = declare("Stop rule", "", {}, kind=PLAN)
    questionnaires: Annotated[list[Questionnaire], NESTED_LIST] = declare(
        "Questionnaires", "", (), kind=PLAN
    )
    tasks: Annotated[list[Task], SOME_NESTED] = declare("Tasks")


# --- What comes of it -----------------------------------------------------------------------------


def inner_table(field: FieldInfo) -> tuple[type[Table] | None, bool]:
    """The table that a field holds, if any, and whether it holds several: a list, or by keys."""
    kind = get_origin(field.annotation)
    return _table_in(field.annotation), kind in (list, dict)


def _table_in(annotation: Any) -> type[Table] | None:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next(filter(None, map(_table_in, get_args(annotation))), None)


def _walk(table: type[Table], path: str) -> Iterator[tuple[str, type[Table]]]:
    yield path, table
    for key, field in table.model_fields.items():
        inner, _ = inner_table(field)
        if inner:
            keyed = ".*" if get_origin(field.annotation) is dict else ""
            yield from _walk(inner, f"{path}.{key}{keyed}".removeprefix("."))


TABLES = dict(_walk(StudyToml, ""))  # "tasks.criteria" -> Criterion


def field_at(way: Iterable[str]) -> FieldInfo | None:
    """The field of study.toml on this way; after a list or a table by keys comes one of its keys.

    None where the schema declares no such field.
    """
    table: type[Table] | None = StudyToml
    field = None
    steps = iter(way)
    for step in steps:
        field = table.model_fields.get(step) if table else None
        if field is None:
            return None
        table, by_key = inner_table(field)
        if by_key:
            next(steps, None)
    return field


def kinds(table: type[Table], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Kind]]:
    """The kind of each field by its path in a definition, inner ones first.

    A definition has the fields of [study] at its top.
    """
    for key, field in table.model_fields.items():
        inner, several = inner_table(field)
        at = (*path, key) if inner is not Study else ()
        if inner:
            yield from kinds(inner, (*at, "*") if several else at)
        if kind := own(field)["kind"]:
            yield (*at, "**"), kind


def default_of(field: FieldInfo) -> Any:
    """What stands for a field that is missing, or wrong."""
    if field.is_required():
        empty: dict[Any, Any] = {str: "", list: (), Study: {}}
        return empty.get(get_origin(field.annotation) or field.annotation)
    return field.get_default(call_default_factory=True)


def bounds(field: FieldInfo) -> dict[str, Any]:
    """The limits of a number, as `ge` and `le`."""
    limits = ((name, getattr(each, name, None)) for each in field.metadata for name in ("ge", "le"))
    return {name: limit for name, limit in limits if limit is not None}


def label_at(place: str) -> str:
    """The label of the innermost field on the way to a place such as tasks[1].traps.per.

    Inside of translations it is that of all of them: their fields have the same labels again.
    """
    label, table = "", TABLES[""]
    for part in re.sub(r"\[\d+\]", "", place).split("."):
        if (field := table.model_fields.get(part)) is None:
            break
        label = field.title or label
        inner, _ = inner_table(field)
        if inner is None or get_origin(field.annotation) is dict:
            break
        table = inner
    return label


def json_schema() -> dict[str, Any]:
    """The JSON Schema of study.toml, by which editors complete and check it."""
    schema = StudyToml.model_json_schema()
    for table in (schema, *schema["$defs"].values()):
        table.pop("title", None)
        for field in table["properties"].values():
            field.pop("usual", None)
            kind = field.pop("kind", None)
            if kind:
                field["x-kind"] = str(kind)
            if not field.get("default", True) and field["default"] not in (False, 0):
                del field["default"]
    schema["title"] = "study.toml"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
