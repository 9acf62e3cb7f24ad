"""Which server judges, which model, with which key, at what price; said once per process."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from metrics.core import weights
from metrics.judges.cost import Prices


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible server with audio input, and how it is asked."""

    url: str = ""  # up to and with /v1
    model: str = ""  # the default model of judges
    key: str = ""  # empty for servers that want none
    cache: Path = Path("var/judges")  # answers are kept here
    prices: Prices | None = None  # None: nobody said; cost is then unknown, not 0
    budget: float | None = None  # money per month after which nothing more is asked
    concurrency: int = 4  # questions under way at once, in this process
    timeout_s: float = 180.0  # for one try
    retries: int = 5  # further tries after 408, 409, 429, 5xx, a timeout or a lost connection

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r}, {self.model!r})"  # the key is never printed

    @property
    def shown(self) -> str:
        """The URL without a name and password in it."""
        return re.sub(r"//[^/@]*@", "//", self.url)

    def hidden(self, text: str) -> str:
        """A server's words without the key, which some servers repeat."""
        return text.replace(self.key, "(key)") if self.key else text


class _Current:
    endpoint = Endpoint()


def configure(endpoint: Endpoint) -> None:
    """Say which server judges; judges that were made before keep their model's name."""
    _Current.endpoint = endpoint


def current() -> Endpoint:
    """The server that was configured; `Endpoint()` with empty names when none was."""
    return _Current.endpoint


def required(model: str) -> Endpoint:
    """The configured server; weights.Unavailable when its URL or the model is not named."""
    endpoint = current()
    if not endpoint.url:
        raise weights.Unavailable(
            "no judge: EARNEST_JUDGE_URL is not set; give the address of an OpenAI-compatible "
            "server with audio input, such as http://localhost:8001/v1"
        )
    if not model:
        raise weights.Unavailable(
            "no judge: EARNEST_JUDGE_MODEL is not set and the parameter `model` is empty; "
            "name a model of the server that takes audio"
        )
    return endpoint
