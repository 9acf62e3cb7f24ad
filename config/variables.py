"""The one table of settings: every environment variable that Earnest reads, and how.

`config/settings.py` reads values by `Variables`, and the table in docs/running.md is made from
this one (python -m tools.doc_tables). A variable that begins with EARNEST_ and is not in the
table stops the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment, wrong
from config.installation import default_var

Read = Callable[[Environment, str], Any]
SERVER, CLIENT, CONTAINERS, DEVELOPERS = "server", "client", "containers", "developers"
PREFIX, FILE = "EARNEST_", "_FILE"
OIDC = re.compile(r"EARNEST_OIDC_[A-Z0-9]+_\w+")  # names of providers are free: config/accounts.py
# Kubernetes adds the addresses of all services to each container, also of one called earnest-….
OF_KUBERNETES = re.compile(r"EARNEST_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP))(_\w+)?")


@dataclass(frozen=True)
class Variable:
    """One environment variable: its reader, its default as the docs show it, and its meaning."""

    name: str
    read: Read
    default: str
    meaning: str
    of: str = SERVER  # who reads it


def _text(default: str = "") -> Read:
    return lambda env, name: env.text(name, default)


def _switch(default: bool) -> Read:
    return lambda env, name: env.switch(name, default)


def _number(default: int, low: int, high: int) -> Read:
    return lambda env, name: env.number(name, default, low, high)


def _choice(*words: str) -> Read:
    return lambda env, name: env.choice(name, words)


def _url(schemes: tuple[str, ...], example: str) -> Read:
    """The parsed URL, or None; the value itself is read by `text`."""
    return lambda env, name: env.url(name, schemes, example)


def _matching(pattern: str, default: str, expected: str) -> Read:
    def read(env: Environment, name: str) -> str:
        value = env.text(name, default)
        if value and not re.fullmatch(pattern, value):
            raise wrong(name, value, f"it must be {expected}.")
        return value

    return read


def _web_address(default: str = "") -> Read:
    """An address as text, without the slash at its end."""
    example = default or "http://localhost:8001/v1"

    def read(env: Environment, name: str) -> str:
        parts = env.url(name, ("http", "https"), example)
        if parts is not None and not parts.hostname:
            raise ImproperlyConfigured(f"{name} is not understood; it must look like {example}.")
        return env.text(name, default).rstrip("/")

    return read


def _folder(default: Callable[[Environment], Path]) -> Read:
    return lambda env, name: env.folder(name, default(env))


def _in_var(folder: str) -> Read:
    return _folder(lambda env: env.folder("EARNEST_VAR", default_var()) / folder)


def _prices(env: Environment, name: str) -> str:
    value = env.text(name)
    try:
        numbers = [float(each) for each in value.split(",")] if value else [0.0, 0.0]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(0 <= number < 1e9 for number in numbers):
        raise wrong(name, value, "it must be IN,OUT or IN,OUT,AUDIO_IN, like 2.5,10,40.")
    return value


def _budget(env: Environment, name: str) -> str:
    value = env.text(name)
    try:
        fits = not value or 0 < float(value) < 1e9
    except ValueError:
        fits = False
    if not fits:
        raise wrong(name, value, "it must be an amount of money per month, like 20.")
    if value and not env.text("EARNEST_JUDGE_PRICES"):
        raise wrong(name, value, "a budget needs prices: set EARNEST_JUDGE_PRICES, too.")
    return value


def _dsn(env: Environment, name: str) -> str:
    example = "https://KEY@sentry.example.org/1"
    parts = env.url(name, ("http", "https"), example)
    if parts and not (parts.username and parts.hostname and parts.path.strip("/")):
        raise ImproperlyConfigured(f"{name} is not understood; it must look like {example}.")
    return env.text(name)


def _prefix_of_clips(env: Environment, name: str) -> str:
    value = env.text(name)
    if value and not (value.startswith("/") and value.endswith("/")):
        raise wrong(name, value, "it must start and end with a slash.")
    if value and not env.text("EARNEST_FILE_GROUP"):
        expected = "then EARNEST_FILE_GROUP must name the group that the proxy reads clips with."
        raise wrong(name, value, expected)
    return value


_HOST = _matching(r"[A-Za-z0-9.:_-]+", "127.0.0.1", "a host name or an address, like 0.0.0.0")
_DEVICE = _matching(r"[a-z]+(:\d+)?", "auto", "auto, or a device of PyTorch, like cpu or cuda:1")
_MODULES = _matching(
    r"[A-Za-z_][\w.]*(\s*,\s*[A-Za-z_][\w.]*)*[\s,]*",
    "",
    "names of Python modules between commas, like lab.mos",
)
_SITES = _matching(
    r"https://[\w.:-]+(,https://[\w.:-]+)*",
    "",
    "sites between commas, like https://huggingface.co",
)
_DATABASE = _url(("postgres", "postgresql"), "postgresql://user:pw@host:5432/name")
_REDIS = _url(("redis", "rediss", "unix"), "redis://host:6379/0")
_BROKER = _url(("redis", "rediss", "unix", "amqp", "amqps"), "amqp://user:password@host:5672/vhost")
_PUBLIC = _url(("http", "https"), "https://listen.example.org")
_MAIL = _url(("smtp", "smtps"), "smtp://user:password@mail.example.org:587")

TABLE: tuple[Variable, ...] = (
    Variable(
        "EARNEST_VAR",
        _folder(lambda env: default_var()),
        "`var/`",
        "the folder of databases, audio, secret key and logs; for an account without a home also "
        "of caches",
    ),
    Variable("EARNEST_HOST", _HOST, "127.0.0.1", "the address on which the pages listen"),
    Variable("EARNEST_PORT", _number(8000, 1, 65535), "8000", "the port on which they listen"),
    Variable(
        "EARNEST_PUBLIC_URL",
        _PUBLIC,
        "from host and port",
        "the address that raters open, like `https://listen.example.org` or "
        "`https://uni.example.org/earnest` ([under a path](#under-a-path)); `https` makes cookies "
        "secure",
    ),
    Variable(
        "EARNEST_HSTS_SUBDOMAINS",
        _switch(False),
        "0",
        "1: browsers use only HTTPS for subdomains, too, for a year",
    ),
    Variable(
        "EARNEST_WEB_WORKERS",
        _number(1, 1, 64),
        "1",
        "web processes; one serves 2,000 raters at once ([benchmarks](../benchmarks/README.md))",
    ),
    Variable(
        "EARNEST_MAX_UPLOAD_MB", _number(16, 1, 100_000), "16", "the largest request body, in MB"
    ),
    Variable("EARNEST_DEMO", _switch(True), "1", "0: an empty database stays empty"),
    Variable(
        "EARNEST_MODELS",
        _in_var("models"),
        "`EARNEST_VAR/models`",
        "the folder of models that metrics read ([models](models.md))",
    ),
    Variable(
        "EARNEST_OFFLINE",
        _switch(False),
        "0",
        "1: models are never fetched from the network",
    ),
    Variable(
        "EARNEST_MEDIA_CACHE_GB",
        _number(0, 0, 100_000),
        "0",
        "with a bucket: size of the cache of a machine that scores; 0: no limit",
    ),
    Variable(
        "EARNEST_METRIC_MODULES",
        _MODULES,
        "none",
        "Python modules with metrics of your own, separated by commas; not needed for [installed "
        "packages](metrics.md#in-a-package-of-your-own)",
    ),
    Variable(
        "EARNEST_JUDGE_URL",
        _web_address(),
        "none",
        "an OpenAI-compatible server for judges, such as `http://localhost:8001/v1` of "
        "vLLM or `transformers serve`",
    ),
    Variable(
        "EARNEST_JUDGE_MODEL", _text(), "none", "the model that judges, as the server names it"
    ),
    Variable("EARNEST_JUDGE_KEY", _text(), "none", "the API key of this server"),
    Variable(
        "EARNEST_JUDGE_PRICES",
        _prices,
        "none",
        "money per million tokens, `IN,OUT` or `IN,OUT,AUDIO_IN`, for the cost that judges report "
        "([metrics](metrics.md#judges))",
    ),
    Variable(
        "EARNEST_JUDGE_BUDGET",
        _budget,
        "none",
        "money per month after which judges stop; needs prices",
    ),
    Variable(
        "EARNEST_RUBRICS",
        _in_var("rubrics"),
        "`EARNEST_VAR/rubrics`",
        "rubrics of your own for judges",
    ),
    Variable(
        "EARNEST_JUDGE_CONCURRENCY",
        _number(4, 1, 256),
        "4",
        "questions to the judge at once in one process",
    ),
    Variable(
        "EARNEST_JUDGE_TIMEOUT_S",
        _number(180, 1, 3600),
        "180",
        "seconds for one answer of the judge",
    ),
    Variable(
        "DATABASE_URL",
        _DATABASE,
        "embedded",
        "`postgresql://user:password@host:5432/name`; PostgreSQL 15 or newer, encoding UTF8",
    ),
    Variable(
        "EARNEST_POOLER",
        _switch(False),
        "0",
        "1: `DATABASE_URL` of this web process leads to PgBouncer with `pool_mode = transaction` "
        "([growing](scaling.md#pgbouncer))",
    ),
    Variable("REDIS_URL", _REDIS, "embedded", "`redis://host:6379/0`; Redis or Valkey"),
    Variable(
        "BROKER_URL",
        _BROKER,
        "`REDIS_URL`",
        "another broker for jobs, such as RabbitMQ: `amqp://user:password@host:5672/vhost`",
    ),
    Variable(
        "EARNEST_TRUSTED_PROXIES",
        _number(0, 0, 10),
        "0",
        "how many proxies in front add to `X-Forwarded-For`; with 0, [limits](operations.md#limits)"
        " count the address of the connection",
    ),
    Variable(
        "EARNEST_ENTRIES_PER_HOUR",
        _number(600, 1, 1_000_000),
        "600",
        "how often an address may enter studies in an hour ([limits](operations.md#limits))",
    ),
    Variable(
        "EARNEST_PROLIFIC_API",
        _web_address("https://api.prolific.com"),
        "`https://api.prolific.com`",
        "Prolific's API and public keys. With another address, pages say that no real money moves",
    ),
    Variable(
        "EARNEST_MAIL",
        _MAIL,
        "none",
        "the server that mails invitations, links for lost passwords and "
        "[messages](operations.md#messages): `smtp://user:password@host:587` (with STARTTLS) or "
        "`smtps://…:465`. Needs `EARNEST_MAIL_FROM`. *Invitations* shows addresses that the server "
        "rejects, but not mails that bounce later",
    ),
    Variable("EARNEST_MAIL_FROM", _text(), "none", "the address that mails come from"),
    Variable(
        "EARNEST_FRAME_ANCESTORS",
        _SITES,
        "none",
        "sites, separated by commas, like `https://huggingface.co`, that may show Earnest in a "
        "frame, with a link that opens a new window",
    ),
    Variable(
        "EARNEST_WEBHOOK_NETWORKS",
        Environment.networks,
        "none",
        "private networks that webhooks and `fetch_audio` may reach, separated by commas, like "
        "`10.1.0.0/16` ([messages](operations.md#messages))",
    ),
    Variable(
        "EARNEST_REQUIRE_TWO_FACTOR",
        _choice("nobody", "superusers", "all"),
        "nobody",
        "`superusers` or `all`: they must add a [second factor](operations.md#second-factors) on "
        "*Account* before they reach other pages",
    ),
    Variable(
        "EARNEST_OIDC",
        _text(),
        "none",
        "providers of single sign-on by OpenID Connect: your short names for them, like "
        "`uni,lab`. For each, here `UNI`:",
    ),
    Variable(
        "EARNEST_OIDC_UNI_ISSUER",
        _url(("https", "http"), "https://login.example.edu/realms/uni"),
        "needed",
        "its address, from which `/.well-known/openid-configuration` is read; `https`",
    ),
    Variable(
        "EARNEST_OIDC_UNI_CLIENT_ID",
        _text(),
        "needed",
        "client ID from the provider. The redirect URI is `EARNEST_PUBLIC_URL/sign-on/uni/back/`",
    ),
    Variable("EARNEST_OIDC_UNI_CLIENT_SECRET", _text(), "needed", "its client secret"),
    Variable("EARNEST_OIDC_UNI_NAME", _text(), "the short name", "label of the button"),
    Variable(
        "EARNEST_OIDC_UNI_DOMAINS",
        _text(),
        "none",
        "domains, like `uni.edu,cs.uni.edu`: people with a verified address there get an account "
        "at the first login; all others need an invitation ([sign-on](operations.md#sign-on))",
    ),
    Variable(
        "EARNEST_OIDC_UNI_SECOND_FACTOR",
        _choice("no", "amr", "always"),
        "no",
        "whether its logins count as logins with a second factor: `amr` (if the ID token says so) "
        "or `always`",
    ),
    Variable(
        "EARNEST_PROLIFIC_SETTLED_S",
        _number(3600, 0, 604_800),
        "3600",
        "seconds after which a payment that Prolific does not show is in doubt",
    ),
    Variable(
        "EARNEST_METRIC_PRECISION",
        _choice("float32", "tf32", "bf16"),
        "`float32`",
        "default [precision](metrics.md#precision) of networks of metrics, also `tf32` or `bf16`; "
        "set it where runs are started",
    ),
    Variable(
        "EARNEST_METRIC_COMPILE",
        _switch(False),
        "0",
        "1: networks of metrics are compiled, once per worker ([precision](metrics.md#precision))",
    ),
    Variable(
        "EARNEST_METRIC_DEVICE",
        _DEVICE,
        "`auto`",
        "the device of this scoring worker: `cpu`, `cuda`, `cuda:1`; one worker per GPU "
        "([several GPUs](metrics.md#run-them))",
    ),
    Variable(
        "EARNEST_METRIC_BY_METRIC",
        _switch(False),
        "0",
        "1: this worker has one model in memory at a time",
    ),
    Variable(
        "EARNEST_SCORING_SHARDS",
        _number(8, 1, 1024),
        "8",
        "number of jobs into which a run of metrics is split, at most "
        "([several machines](metrics.md#run-them))",
    ),
    Variable(
        "MEDIA_STORE",
        _text(),
        "`EARNEST_VAR/media`",
        "a folder, or `s3://bucket/prefix` (credentials, region and endpoint by the usual `AWS_…` "
        "variables)",
    ),
    Variable(
        "MEDIA_ACCEL_PREFIX",
        _prefix_of_clips,
        "none",
        "an nginx `internal` location; clips are then sent by nginx (`X-Accel-Redirect`)",
    ),
    Variable(
        "EARNEST_FILE_GROUP",
        _text(),
        "none",
        "a group that may read the clips, for nginx ([files](#who-may-read-the-files)); needed "
        "with `MEDIA_ACCEL_PREFIX`",
    ),
    Variable(
        "EARNEST_METRICS_TOKEN",
        _text(),
        "none",
        "token that opens `/metrics` ([operations](operations.md#metrics))",
    ),
    Variable("EARNEST_LOG_FORMAT", _choice("line", "json"), "line", "`json`: one object per line"),
    Variable(
        "EARNEST_SENTRY_DSN",
        _dsn,
        "none",
        "errors are sent there, without texts of users ([operations](operations.md#logs))",
    ),
    Variable(
        "EARNEST_LEAST_FREE_MB",
        _number(500, 10, 10**7),
        "500",
        "less free space is reported; under a tenth of it, Earnest is not ready",
    ),
    Variable("EARNEST_DEBUG", _switch(False), "0", "for developers only"),
    Variable(
        "EARNEST_URL", _web_address(), "none", "the address of the server ([API](api.md))", CLIENT
    ),
    Variable("EARNEST_TOKEN", _text(), "none", "your API token", CLIENT),
    Variable(
        "EARNEST_IMAGE",
        _text(),
        "`earnest:web`",
        "the image of all containers except those that score",
        CONTAINERS,
    ),
    Variable(
        "EARNEST_METRICS_IMAGE", _text(), "`earnest:metrics`", "the image that scores", CONTAINERS
    ),
    Variable(
        "EARNEST_CUDA_IMAGE",
        _text(),
        "`earnest:cuda`",
        "the image that scores on a GPU",
        CONTAINERS,
    ),
    Variable(
        "EARNEST_PULL",
        _text(),
        "never",
        "`missing`: fetch images from a registry",
        CONTAINERS,
    ),
    Variable(
        "EARNEST_DEPLOY_FOLDER",
        _text(),
        "`deploy/`",
        "where `deploy/secrets.sh` writes secrets",
        CONTAINERS,
    ),
    Variable(
        "EARNEST_CASES",
        _number(1, 1, 10**6),
        "1",
        "requests per operation in the test of the API's schema",
        DEVELOPERS,
    ),
    Variable(
        "EARNEST_GPU_SITE", _text(), "`site/`", "packages of the benchmark kit for GPUs", DEVELOPERS
    ),
    Variable(
        "EARNEST_FLOOR_DATABASE",
        _text(),
        "set by itself",
        "the database of the benchmark of bare servers",
        DEVELOPERS,
    ),
)
BY_NAME = {variable.name: variable for variable in TABLE}


class Variables:
    """The values of the table's variables in one environment, read when they are asked for."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.env = Environment(variables)

    def __getitem__(self, name: str) -> Any:
        return BY_NAME[name].read(self.env, name)


def check_names(variables: Mapping[str, str]) -> None:
    """Raises for the first EARNEST_… that nothing reads: it was misspelt, or is of another version.

    Parts of providers of sign-on are checked where the providers are read.
    """
    for name in sorted(variables):
        known = name in BY_NAME or name.removesuffix(FILE) in BY_NAME or OIDC.fullmatch(name)
        of_a_cluster = OF_KUBERNETES.fullmatch(name) or variables[name].startswith("tcp://")
        if not name.startswith(PREFIX) or known or of_a_cluster:
            continue
        meant = get_close_matches(name, BY_NAME, n=1, cutoff=0.8)
        hint = f"did you mean {meant[0]}?" if meant else "docs/running.md lists all settings."
        raise ImproperlyConfigured(
            f"{name} is not a setting of Earnest: correct or unset it ({hint.rstrip('.')})."
        )
