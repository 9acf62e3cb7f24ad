"""What researchers should know before raters come, by its design and address alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from listening.checks import check_named
from listening.common.counted import counted
from listening.common.languages import has_interface, name_of
from listening.design.blocks import amount_of, material_of, trials_of
from listening.design.draft_toml import FAILED
from listening.design.duration import UNFILLED, SessionLength, contradicts, stated_minutes
from listening.design.odds import through_traps
from listening.design.pair_drawing import candidates_of, drawing_rule
from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.studyfile.problems import quoted
from listening.design.studyfile.study_toml import ALIKE, AS_IS, OPTION, asks_for_faint_sounds
from listening.methods import StimulusRef, method_named
from listening.methods.estimand import BESIDE_REFERENCE, ONE_CLIP
from listening.methods.paired import ADAPTIVE, ALL
from listening.methods.rubrics import KIND, RubricError, shared_rubric
from listening.methods.vocalisation_types import types_marked
from listening.studies.findings import CLIPS, TEXTS, Finding, warning

FEW_SENTENCES = 10
MOST_NAMED = 5
FEWEST_OF_PAIR = 2  # comparisons of two systems, on average
FEWEST_ADAPTIVE = 8  # systems from which adaptive pairs save answers
FEW_RATINGS = 3  # of a clip: one inattentive rater then moves its mean
EASY = 0.1  # a guess that gets past a check or a trap more often is warned of
LONG_MINUTES = 40
MORE_TRAPS = (
    "Traps for this method cannot be added in the browser. Download the study folder under "
    "Review and open, add "
    "them, and upload it as a new study. Checks before the trials also find careless raters."
)
HEADPHONES = ("huggins", "antiphase", "stereo")


def design_findings(study: StudyFile, length: SessionLength) -> list[Finding]:
    """`study` holds what its settings make."""
    return [
        *_check_texts(study, length),
        *_check_time(study, length),
        *_check_headphones(study),
        *_check_ends(study),
        *_check_languages(study),
        *task_findings(study),
    ]


def task_findings(study: StudyFile) -> list[Finding]:
    """What the tasks lack to be worth as much as they could be."""
    return [
        finding
        for n, task in enumerate(study.tasks, start=1)
        for finding in (
            *_check_task(study, task, f"tasks[{n}]"),
            *_check_known_sentences(study, task, f"tasks[{n}]"),
        )
    ]


def _check_known_sentences(study: StudyFile, task: TaskEntry, place: str) -> Iterator[Finding]:
    """Sentences that raters of a transcription may know before they type them."""
    if not method_named(task.method).compares_text:
        return
    if task.repeat_items:
        yield warning(
            f"In the task “{task.key}” a rater may hear the same sentence twice, and knows it the "
            "second time.",
            "Remove repeat_items = true, and plan blocks of at most as many clips as sentences.",
            f"{place}.repeat_items",
            "Untick it.",
        )
    if shown := [other.key for other in study.tasks if other.show_text]:
        yield warning(
            f"{quoted(shown)} shows texts, which raters may then type in the task “{task.key}”.",
            "Take other sentences there, or remove show_text.",
            f"{place}.method",
            "Untick “Show the words of the sentence” there.",
        )


def _check_texts(study: StudyFile, length: SessionLength) -> Iterator[Finding]:
    if not study.texts.get("consent"):
        yield warning(
            "There is no consent text.",
            "Write one in [study.texts] of study.toml.",
            "study.texts.consent",
            "Write one, or compose it above the field.",
        )
    if not study.texts.get("contact"):
        yield warning(
            "There is no contact for raters.",
            "Add contact to [study.texts].",
            "study.texts.contact",
            "Write an address.",
        )
    yield from _check_translated_consent(study)
    parts = ", ".join(f"{name} {minutes:.1f}" for name, minutes in length.parts)
    for name, place, text in _texts_of(study):
        for minutes in stated_minutes(text):
            if contradicts(minutes, length.minutes):
                yield warning(
                    f"{name} says {_range(minutes)} minutes, but a session takes about "
                    f"{length.minutes} ({parts}).",
                    f"Write {UNFILLED} in the place of the number, and the right one stands there.",
                    place,
                )


def _check_languages(study: StudyFile) -> Iterator[Finding]:
    """Earnest's own texts fall back to English, which raters may not read."""
    offered = [study.language, *study.translations]
    missing = [tag for tag in offered if not has_interface(tag)]
    if missing:
        languages = ", ".join(map(name_of, missing))
        yield warning(
            f"Earnest has no texts in {languages}: raters read buttons, checks and errors in "
            "English.",
            "Choose one of the languages in docs/languages.md, or add a translation.",
            "study.language",
            "Choose a language that the list offers.",
        )


def _check_translated_consent(study: StudyFile) -> Iterator[Finding]:
    """Who chooses another language must be able to read what they agree to."""
    if not study.texts.get("consent"):
        return
    untold = [
        name_of(tag)
        for tag, words in study.translations.items()
        if not words.get("texts", {}).get("consent")
    ]
    if untold:
        languages = ", ".join(untold)
        yield warning(
            f"The consent is not translated: who reads the pages in {languages} reads it in "
            f"{name_of(study.language)}.",
            "Add consent to the texts of the translation.",
            "study.translations",
            "Translate the field Consent under the language, or remove the language.",
        )


def _texts_of(study: StudyFile) -> Iterator[tuple[str, str, str]]:
    """What raters read first, in each language: its name, its place, and its words."""
    languages = {"": study.texts} | {k: w.get("texts", {}) for k, w in study.translations.items()}
    for language, texts in languages.items():
        for key in ("welcome", "consent"):
            name = f"The {key} text" + (f" in {language}" if language else "")
            place = "study.translations" if language else f"study.texts.{key}"
            yield name, place, str(texts.get(key, ""))


def _range(minutes: tuple[int, int]) -> str:
    low, high = minutes
    return str(low) if low == high else f"{low} to {high}"


def _check_time(study: StudyFile, length: SessionLength) -> Iterator[Finding]:
    if length.minutes > LONG_MINUTES and not study.break_every:
        yield warning(
            f"A session takes about {length.minutes} minutes without a break.",
            "Set break_every, or give raters fewer clips.",
            "study.break_every",
            "Offer a break, or give raters fewer clips.",
        )


def _check_headphones(study: StudyFile) -> Iterator[Finding]:
    """Texts that ask for headphones, and nothing that tests for them."""
    asks_for_headphones = "headphones" in " ".join(study.texts.values()).casefold()
    if asks_for_headphones and not any(check["key"] in HEADPHONES for check in study.checks):
        names = ", ".join(check_named(key).title for key in HEADPHONES)
        yield warning(
            "The texts ask for headphones, but no check tests for them.",
            f"Add one ({names}), or ignore this if loudspeakers are acceptable.",
            "study.checks",
        )


def _check_ends(study: StudyFile) -> Iterator[Finding]:
    why = asks_for_faint_sounds(study.tasks, study.conditions)
    if why and study.ends == ALIKE:
        yield warning(
            f"Clips are trimmed where their ends are more than 40 dB below the peak, and {why}: "
            "raters may not get what they are asked about.",
            f'Set ends = "{AS_IS}" in [study].',
            "study.ends",
            "Choose “not changed”.",
        )


# --- Tasks ----------------------------------------------------------------------------------------


def _check_task(study: StudyFile, task: TaskEntry, place: str) -> Iterator[Finding]:
    material = material_of(study, task)
    yield from _check_anchors(study, task, {ref.condition for ref in material})
    systems = {ref.condition for ref in material}
    if (
        len(systems) == 1
        and method_named(task.method).estimand_for(task.options).comparison == ONE_CLIP
    ):
        yield warning(
            f"The task “{task.key}” rates one system only, “{min(systems)}”, so raters have "
            "nothing to compare it with.",
            "Add another system or human recordings.",
            CLIPS,
        )
    sentences = len({ref.item for ref in material})
    if 0 < sentences < FEW_SENTENCES:
        yield warning(
            f"The task “{task.key}” has {counted(sentences, 'sentence')}. Results hardly "
            "generalize to other sentences, and intervals are wide.",
            f"Take {2 * FEW_SENTENCES} or more, with fewer ratings of each.",
            CLIPS,
        )
    if drawing_rule(task) != ALL:
        yield from _check_drawn_pairs(task, material, place)
    elif task.ratings_per_stimulus < FEW_RATINGS:
        yield warning(
            f"In the task “{task.key}” a clip gets {task.ratings_per_stimulus} of "
            f"{FEW_RATINGS} ratings that tell one careless rater from the others.",
            "Raise ratings_per_stimulus, unless you have very many clips.",
            f"{place}.ratings_per_stimulus",
            "Raise it, unless you have very many clips.",
        )
    yield from _check_min_raters(study, task, place)
    yield from _check_guessing(study, task, place)
    yield from _check_rubric(task, place)
    yield from _check_trap_kinds(study, task, {ref.item for ref in material})


def _check_drawn_pairs(
    task: TaskEntry, material: Sequence[StimulusRef], place: str
) -> Iterator[Finding]:
    """Too few comparisons for the pairs, and adaptive pairs where they save nothing."""
    candidates = candidates_of(task, material)
    pairs = {pair for there in candidates.values() for pair in there}
    each = len(candidates) * task.ratings_per_stimulus / max(len(pairs), 1)
    if each < FEWEST_OF_PAIR:
        yield warning(
            f"In the task “{task.key}” a pair of systems gets {each:.1f} comparisons on average. "
            "Strengths are then rough.",
            "Raise ratings_per_stimulus: it is the number of comparisons of each item.",
            f"{place}.ratings_per_stimulus",
            "Raise it: it is the number of comparisons of each item.",
        )
    systems = {name for pair in pairs for name in pair}
    if drawing_rule(task) == ADAPTIVE and len(systems) < FEWEST_ADAPTIVE:
        yield warning(
            f"The task “{task.key}” draws pairs by the answers so far, which saves nothing with "
            f"{len(systems)} systems.",
            'Write pairs = "random" or pairs = "all".',
            f"{place}.options",
            "Compare random pairs, or all.",
        )


def _check_min_raters(study: StudyFile, task: TaskEntry, place: str) -> Iterator[Finding]:
    """A plan with too few blocks for the raters that each condition needs.

    Every rater takes one sitting at least, and a block holds a condition once at best.
    """
    if task.min_raters is None:
        return
    amount = amount_of(trials_of(study, task), task)
    of_condition = amount.trials * task.ratings_per_stimulus // max(amount.columns, 1)
    most = min(amount.sessions, of_condition)
    if most < task.min_raters:
        yield warning(
            f"The task “{task.key}” asks for at least {task.min_raters:,} raters per condition, "
            f"but its plan has room for {most:,} at most.",
            "Raise ratings_per_stimulus, make blocks smaller, or lower min_raters.",
            f"{place}.ratings_per_stimulus",
            "Raise it, or make blocks smaller.",
        )


def _check_rubric(task: TaskEntry, place: str) -> Iterator[Finding]:
    """A rubric of one's own that is not here any more, as it was when the study was made."""
    if OPTION not in task.options:
        return
    try:
        shared_rubric(str(task.options[OPTION]))
    except RubricError as error:
        yield warning(
            f"The task “{task.key}” has the words of a rubric that is not here: {error}. Judges "
            "may read other words than its raters.",
            f"Put its file back, or take the option {OPTION} away.",
            f"{place}.options.{OPTION}",
            "Your administrator can put its file back.",
        )


def _check_trap_kinds(study: StudyFile, task: TaskEntry, rated: set[int]) -> Iterator[Finding]:
    """Questions that name the kind of their clip, of sentences that have none."""
    if not any(KIND in each.question + each.help_text for each in task.criteria):
        return
    items = [item for place, item in enumerate(study.items) if place in rated]
    bare = [item for item in items if not (item.dimension or types_marked(item.text))]
    if bare:
        named = ", ".join(item.key for item in bare[:MOST_NAMED])
        more = f" and {len(bare) - MOST_NAMED} more" if len(bare) > MOST_NAMED else ""
        yield warning(
            f"Questions of the task “{task.key}” name the kind of each clip ({KIND}). Raters read "
            f"“the sound that was asked for” in its place for {named}{more}.",
            "Fill the column dimension of stimuli.csv, such as with laugh.",
            TEXTS,
            "Write the sounds into the texts, such as [laugh].",
        )


def _check_anchors(study: StudyFile, task: TaskEntry, rated: set[str]) -> Iterator[Finding]:
    """Scores on a scale without a fixed point are not those of another study."""
    method = method_named(task.method)
    roles = {c.role for c in study.conditions if c.key in rated}
    comparison = method.estimand_for(task.options).comparison
    if method.screen == "parallel":
        if comparison == BESIDE_REFERENCE and task.options.get("open_reference") is False:
            yield from _check_words_of_reference(task)
        elif "BS.1534" in method.standard and "anchor" not in roles:
            yield warning(
                f"The task “{task.key}” has no anchor. BS.1534-3 wants one that is known to be "
                "poor (filtered at 3.5 kHz) and one at 7 kHz: without anchors, raters spread "
                "the systems over the whole scale.",
                "Set systems as anchors, or create anchors from the reference.",
                CLIPS,
            )
    elif comparison == ONE_CLIP and not roles & {"anchor", "reference"}:
        yield warning(
            f"The task “{task.key}” rates neither a reference nor an anchor; traps do not count. "
            "Scores depend on the other clips, and cannot be compared with those of other studies.",
            "Add human recordings as reference, or a poor system as anchor.",
            CLIPS,
        )


def _check_words_of_reference(task: TaskEntry) -> Iterator[Finding]:
    """Words that speak of a reference where raters hear none that is called so."""
    words = [task.title, task.instructions]
    words += [text for each in task.criteria for text in (each.question, each.help_text)]
    if any("reference" in text.casefold() for text in words):
        yield warning(
            f"The task “{task.key}” plays no open reference, but its words mention a reference.",
            "Take it out of the title, the instructions and the questions.",
            TEXTS,
        )


def _check_guessing(study: StudyFile, task: TaskEntry, place: str) -> Iterator[Finding]:
    if method_named(task.method).screen == "parallel":
        return
    if method_named(task.method).compares_text:
        return  # who does not listen has few words right
    try:
        odds = through_traps(study, task)
    except (ValueError, KeyError):
        return  # answers in words, which nobody guesses
    if odds is None:
        yield warning(
            f"The task “{task.key}” has no traps, so inattentive raters cannot be detected.",
            "Set a defective system as trap.",
            CLIPS,
            "" if task.method in FAILED else MORE_TRAPS,
        )
    elif odds.guessing > EASY or odds.same == 1:
        same = " Giving the same answer every time always passes." * (odds.same == 1)
        yield warning(
            f"Random guessing passes the traps of “{task.key}” in {100 * odds.guessing:.0f} of 100 "
            f"blocks.{same}",
            "Put more traps into a set, ask for more of them, or add traps with the opposite "
            "answer.",
            f"{place}.traps",
        )


def address_findings() -> Iterator[Finding]:
    """A warning where the link of a study opens on this machine or in its network alone."""
    url = str(settings.EARNEST_PUBLIC_URL)
    reach = _reach(urlsplit(url).hostname or "")
    if reach:
        yield warning(
            f"Raters are sent to {url}, which {reach}.",
            "Your administrator sets the public address (EARNEST_PUBLIC_URL). For a lab session at "
            "this computer, leave it.",
        )


def _reach(host: str) -> str:
    """Who alone can open the address; empty where the internet can, as far as a name shows."""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return "opens on this machine or in its network only"
    try:
        address = ip_address(host)
    except ValueError:
        return "" if "." in host else "opens in its own network only"
    if address.is_loopback:
        return "opens on this machine only"
    return "opens in its own network only" if address.is_private else ""
