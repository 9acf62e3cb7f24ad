"""Result tables of other tools: which of their columns hold what, or why they hold no ratings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
        found = {
            ours: next((there[name] for name in theirs if name in there), "")
            for ours, theirs in self.columns.items()
        }
        return {ours: name for ours, name in found.items() if name}


def _layout(
    tool: str, needs: str, constants: Mapping[str, str] | None = None, **columns: str
) -> KnownLayout:
    by_ours = {ours: tuple(names.split()) for ours, names in columns.items()}
    return KnownLayout(tool, frozenset(needs.split()), by_ours, constants or {})


def _refused(tool: str, needs: str, why: str) -> KnownLayout:
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
    _refused(
        "the P.808 toolkit",
        "file_url n vote_1",
        "votes per clip do not say who voted; analyse its file votes_per_worker.csv or the batch "
        "results",
    ),
    _refused(
        "the P.808 toolkit",
        "condition_name n std 95%ci",
        "these are means of conditions; analyse its file votes_per_worker.csv or the batch results",
    ),
    _refused(
        "webMUSHRA (paired_comparison.csv)",
        "choice_reference choice_non_reference choice_answer",
        "its answers say which clip is the reference; add a column score (1 right, 0 wrong), then "
        "say --set method=abx --column rater=session_uuid --column item=trial_id "
        "--column condition=choice_non_reference --column versus_condition=choice_reference",
    ),
    _refused(
        "webMUSHRA (bs1116.csv)",
        "rating_reference rating_non_reference rating_reference_score rating_non_reference_score",
        "a BS.1116 grade is the difference of two scores; add a column score (non-reference minus "
        "reference), then say --set method=free_choice --column rater=session_uuid "
        "--column item=trial_id --column condition=rating_non_reference",
    ),
)


def known_layout(names: Iterable[str]) -> KnownLayout | None:
    """The tool whose table has these columns, if any is known."""
    there = {name.casefold() for name in names}
    return next((layout for layout in LAYOUTS if layout.needs <= there), None)
