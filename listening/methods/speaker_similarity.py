"""Whether a clip is by the same speaker as a recording before it, on four points (VCC)."""

from listening.methods.after_reference import AfterReference
from listening.methods.estimand import BESIDE_REFERENCE, Estimand
from listening.methods.item_groups import PROMPT_ROLES
from listening.methods.method import Options, Scale, gettext_noop, names_in, number_scale

NAMES = {
    "1": gettext_noop("Different, absolutely sure"),
    "2": gettext_noop("Different, not sure"),
    "3": gettext_noop("Same, not sure"),
    "4": gettext_noop("Same, absolutely sure"),
}
SAME = 3.0  # this score or more says that the speaker is the same


class SpeakerSimilarity(AfterReference):
    key = "speaker_similarity"
    title = "Same or different speaker"
    estimand = Estimand(
        key="speaker_similarity",
        name="Speaker similarity",
        phrase="the speaker similarity on the four points of the Voice Conversion Challenges",
        axis="Speaker similarity: 4 where all are sure that it is the same speaker",
        ends=(1.0, 4.0),
        comparison=BESIDE_REFERENCE,
        equivalence=0.1,
    )
    standard = "Voice Conversion Challenges 2016 to 2020: same or different speaker, and how sure"
    default_question = gettext_noop("Are the prompt and the clip by the same speaker?")
    default_criteria = (("similarity", default_question, {}),)
    part_names = (gettext_noop("Prompt"), gettext_noop("Clip"))
    reference_roles = PROMPT_ROLES

    def scale(self, options: Options) -> Scale:
        return number_scale(1, 4, 1, {**NAMES, **names_in(options)})
