"""One clip rated by how much effort it takes to follow, from none to extreme (ACALES)."""

from collections.abc import Mapping
from typing import Any

from listening.methods import Estimand, Method, Scale, Step

PLUGIN_API_VERSION = 1
CATEGORIES = (
    "No effort",
    "Very little effort",
    "Little effort",
    "Moderate effort",
    "Considerable effort",
    "Very much effort",
    "Extreme effort",
)


class Effort(Method):
    """Thirteen steps: seven with a name, one without between each two."""

    key = "listening_effort"  # stored with every rating: never renamed
    title = "Listening effort"
    estimand = Estimand(
        key="listening_effort",
        name="Listening effort",
        phrase="the mean listening effort in effort scale categorical units (ESCU)",
        axis="Listening effort (ESCU): 1 none, 13 extreme",
        ends=(1.0, 13.0),
        lowest_is_best=True,
    )
    standard = "Krueger et al. 2017 (ACALES), without the answer “only noise”"
    default_question = "How much effort does it take to follow the speaker?"
    default_criteria = (("effort", default_question, {}),)
    script = "earnest_effort/effort.js"
    style = "earnest_effort/effort.css"

    def scale(self, options: Mapping[str, Any]) -> Scale:
        named = {2 * place + 1: words for place, words in enumerate(CATEGORIES)}
        steps = tuple(Step(str(n), float(n), named.get(n, "")) for n in range(1, 14))
        return Scale(steps, "earnest_effort")
