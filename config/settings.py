"""Every setting, read from the environment here only; a wrong value stops the start.

Which variables there are, and how each is read: `config/variables.py`.
"""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config.accounts import APPS, PASSWORD_VALIDATORS, allauth_settings, sign_ons
from config.environment import kept_secret, mail_server, make_folder, media_storage, wrong
from config.installation import find_a_place_for_caches
from config.run.embedded_servers import POSTGRES, VALKEY, Server, socket_folder
from config.run.private_files import (
    FILE,
    FOLDER,
    GROUP_FILE,
    GROUP_FOLDER,
    UMASK,
    close_folder,
    group_of,
)
from config.variables import Variables, check_names
from listening.common import plugins
from listening.common.command_name import FILES
from listening.common.interface_languages import INTERFACE_LANGUAGES

BASE_DIR = FILES  # templates, static files, words, the demo
check_names(os.environ)
_variables = Variables(os.environ)
_env = _variables.env

# Where everything that is not code lives: databases, media, key, logs.
EARNEST_VAR = make_folder("EARNEST_VAR", _variables["EARNEST_VAR"])
PERSONS_UMASK = os.umask(UMASK)  # of who starts a command; what Earnest writes is its own
EARNEST_FILE_GROUP = group_of("EARNEST_FILE_GROUP", _variables["EARNEST_FILE_GROUP"])
DEBUG = _variables["EARNEST_DEBUG"]
SECRET_KEY = kept_secret(EARNEST_VAR / "secret_key")
find_a_place_for_caches(os.environ, EARNEST_VAR / "cache")

# --- The one address ---------------------------------------------------------------------------
EARNEST_HOST = _variables["EARNEST_HOST"]
EARNEST_PORT = _variables["EARNEST_PORT"]
EARNEST_DEMO = _variables["EARNEST_DEMO"]  # import the demo study into an empty database
EARNEST_WEB_WORKERS = _variables["EARNEST_WEB_WORKERS"]
EARNEST_MAX_UPLOAD_BYTES = _variables["EARNEST_MAX_UPLOAD_MB"] * 1024**2


# How many proxies in front add to X-Forwarded-For; 0: the connection's other end is believed.
EARNEST_TRUSTED_PROXIES = _variables["EARNEST_TRUSTED_PROXIES"]
EARNEST_ENTRIES_PER_HOUR = _variables["EARNEST_ENTRIES_PER_HOUR"]


def _public_url() -> str:
    url = _variables["EARNEST_PUBLIC_URL"]
    if url is None:
        if EARNEST_HOST in ("0.0.0.0", "::"):
            raise ImproperlyConfigured(
                f"EARNEST_HOST is {EARNEST_HOST}, which listens on every address; set "
                "EARNEST_PUBLIC_URL to the one that raters open, like http://192.168.1.20:8000."
            )
        host = f"[{EARNEST_HOST}]" if ":" in EARNEST_HOST else EARNEST_HOST
        return f"http://{host}:{EARNEST_PORT}"
    plain = re.fullmatch(r"(/[A-Za-z0-9_.~-]+)*/?", url.path) and "/." not in url.path
    if not url.hostname or not plain or url.query or url.fragment or url.username:
        expected = (
            "it must be scheme, host, and maybe port and path, like https://listen.example.org or "
            "https://uni.example.org/earnest."
        )
        raise wrong("EARNEST_PUBLIC_URL", url.geturl(), expected)
    return f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"


EARNEST_PUBLIC_URL = _public_url()
_public = urlsplit(EARNEST_PUBLIC_URL)
EARNEST_PATH = _public.path  # below which all routes lie, like /earnest; usually none
_public_host = f"[{_public.hostname}]" if ":" in (_public.hostname or "") else _public.hostname
ALLOWED_HOSTS = sorted({str(_public_host), "localhost", "127.0.0.1", "[::1]"})
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
SECURE = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
if SECURE:  # a proxy in front ends TLS and says so; without one the site is plain HTTP
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = _variables["EARNEST_HSTS_SUBDOMAINS"]
# Browsers take cookies of these names over HTTPS from this host alone; below a path, other programs
# of this host may set them, too, but do not get them.
SECURE_COOKIE = "__Secure-" if SECURE else ""
HOST_COOKIE = "__Host-" if SECURE and not EARNEST_PATH else SECURE_COOKIE
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{EARNEST_PATH}/"
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{HOST_COOKIE}sessionid", f"{HOST_COOKIE}csrftoken"
SESSION_COOKIE_AGE = (
    24 * 3600
)  # without a request; `config.login_sessions` ends busy ones after a week
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SECURE_REFERRER_POLICY = "same-origin"
CSRF_FAILURE_VIEW = "listening.web.form_errors.csrf_failed"
X_FRAME_OPTIONS = "DENY"

# --- Applications and pages --------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "channels",
    "csp",
    *APPS,
    "config.operations",
    "listening",
    "metrics",
    "analysis",
    "rest",
]
MIDDLEWARE = [
    "config.operations.logs.RequestIds",
    "config.operations.shared_counters.CountRequests",
    "config.operations.unavailable.Unavailable",
    "config.incoming_requests.PlainRequests",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.responses.PageCompression",
    "csp.middleware.CSPMiddleware",
    "config.framed_pages.OwnWindow",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "listening.common.languages.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.responses.PrivatePages",
    "config.login_sessions.LogIns",
    "config.limits.Limits",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "listening.accounts.required_login.TwoFactors",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
LOGIN_URL = f"{EARNEST_PATH}/login/"
LOGIN_REDIRECT_URL = f"{EARNEST_PATH}/"
LOGOUT_REDIRECT_URL = f"{EARNEST_PATH}/"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", *plugins.folders("templates").values()],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["listening.templatetags.dates"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
# No inline script, no inline style, nothing from elsewhere; sound may come from memory (blob:).
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "media-src": [SELF, "blob:"],
        "worker-src": [SELF, "blob:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
EARNEST_FRAME_ANCESTORS = [
    each for each in _variables["EARNEST_FRAME_ANCESTORS"].split(",") if each
]
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "rest.schema_decorator.PathNamedSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Earnest",
    "DESCRIPTION": "Listening tests for speech synthesis, for scripts.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": f"{EARNEST_PATH}/api/v1",
}
AUTH_PASSWORD_VALIDATORS = PASSWORD_VALIDATORS
EARNEST_REQUIRE_TWO_FACTOR = _variables["EARNEST_REQUIRE_TWO_FACTOR"]
EARNEST_SIGN_ONS = sign_ons(_env)
globals().update(allauth_settings(_public.netloc, _public.scheme, EARNEST_SIGN_ONS))
LANGUAGE_CODE = "en"
LANGUAGES = [(each.code, each.name) for each in INTERFACE_LANGUAGES]
LOCALE_PATHS = [BASE_DIR / "locale", *plugins.folders("locale").values()]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Database, cache, queues: embedded servers under EARNEST_VAR unless a URL names real ones ----
EMBEDDED: list[Server] = []
EARNEST_POOLER = _variables["EARNEST_POOLER"]  # config/run/server_checks.py


# A server whose machine vanished says nothing: without these, who waits for it hears of it after a
# quarter of an hour. Words of libpq; those in DATABASE_URL win.
WATCHED = {
    "connect_timeout": 10,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# What PostgreSQL watches: a host that vanished holds the locks of its transactions no longer.
WATCHING = {
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def _database() -> dict[str, Any]:
    if _variables["DATABASE_URL"]:
        database: dict[str, Any] = {**dj_database_url.parse(_env.text("DATABASE_URL"))}
        watching = " ".join(f"-c {name}={value}" for name, value in WATCHING.items())
        own = {} if EARNEST_POOLER else {"options": watching}  # PgBouncer refuses these
        database["OPTIONS"] = WATCHED | own | database.get("OPTIONS", {})
    else:
        EMBEDDED.append(POSTGRES)
        socket = str(socket_folder(EARNEST_VAR))
        engine = "django.db.backends.postgresql"
        database = {"ENGINE": engine, "NAME": "earnest", "USER": "earnest", "HOST": socket}
    # A cursor of the server lives as long as its connection; a pooler's ends with the transaction.
    return {
        **database,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": EARNEST_POOLER,
    }


def _redis_urls() -> tuple[str, str, str]:
    """Cache, channels and broker, each in a database of its own (clearing a cache empties one)."""
    url = _variables["REDIS_URL"]
    if url is None:
        EMBEDDED.append(VALKEY)
        socket = socket_folder(EARNEST_VAR) / "valkey.sock"
        return f"unix://{socket}?db=1", f"unix://{socket}?db=2", _socket_broker(str(socket), 0)
    if url.scheme == "unix":
        path = unquote(url.path)
        return f"unix://{path}?db=1", f"unix://{path}?db=2", _socket_broker(path, 0)
    first = url.path.strip("/") or "0"
    if not first.isdigit():
        raise wrong("REDIS_URL", f".../{first}", "its path must be a database number like /0.")
    broker, cache, channels = (url._replace(path=f"/{int(first) + n}").geturl() for n in range(3))
    return cache, channels, broker


def _socket_broker(path: str, database: int) -> str:
    return f"redis+socket://{path}?virtual_host={database}"


DATABASES = {"default": _database()}
_cache_url, _channels_url, _broker_url = _redis_urls()
CACHES = {
    "default": {
        "BACKEND": "config.persistent_cache.KeptCache",
        "LOCATION": _cache_url,
        "KEY_PREFIX": "earnest",
        "KEY_FUNCTION": "config.persistent_cache.key_of_database",
        "OPTIONS": {"socket_timeout": 5, "socket_connect_timeout": 5},  # one that hangs is away
    }
}
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {"hosts": [_channels_url], "prefix": "earnest-channels"},
    }
}


def _broker() -> str:
    """Redis as above, unless BROKER_URL names another one or RabbitMQ."""
    url = _variables["BROKER_URL"]
    if url is None:
        return _broker_url
    return _socket_broker(unquote(url.path), 0) if url.scheme == "unix" else url.geturl()


def _every(seconds: float, task: str, **options: Any) -> dict[str, Any]:
    """A job asked for again and again; one that nobody took by then is not done twice."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds, **options}}


CELERY_BROKER_URL = _broker()
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A job that a killed worker held comes back after this long; jobs may therefore run twice.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if not CELERY_BROKER_URL.startswith("amqp"):  # RabbitMQ gives a job back when its worker is gone
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 30 * 60,
        "global_keyprefix": "earnest-jobs:",
    }
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "listening.jobs.*": {"queue": "default"},
    "analysis.jobs.*": {"queue": "analysis"},
    "metrics.jobs.*": {"queue": "gpu"},
}
CELERY_BEAT_SCHEDULE = {
    "send-lost-jobs": _every(20.0, "listening.jobs.send_lost_jobs"),
    "return-expired-leases": _every(30.0, "listening.jobs.return_expired_leases"),
    "count-sessions": _every(60.0, "listening.jobs.count_sessions"),
    "clear-unused-appearances": _every(600.0, "listening.jobs.clear_unused_appearances"),
    "erase-due-studies": _every(3600.0, "listening.jobs.erase_due_studies"),
    "forget-ended-log-ins": _every(3600.0, "listening.jobs.forget_ended_log_ins"),
    "look-at-prolific": _every(300.0, "listening.jobs.look_at_prolific"),
    "ask-for-pair-fits": _every(10.0, "listening.jobs.ask_for_pair_fits"),
    "apply-budgets": _every(30.0, "listening.jobs.apply_budgets"),
    "make-looks": _every(30.0, "analysis.jobs.make_looks"),
    "watch-studies": _every(60.0, "listening.jobs.watch_studies"),
    "watch-rates": _every(600.0, "listening.jobs.watch_rates"),
    "send-messages": _every(30.0, "listening.jobs.send_messages"),
    "forget-old-messages": _every(3600.0, "listening.jobs.forget_old_messages"),
    # in the default queue: those that work off the queue gpu may all be busy
    "continue-dead-shards": _every(20.0, "metrics.jobs.continue_dead_shards", queue="default"),
}

# --- Metrics -----------------------------------------------------------------------------------
EARNEST_MODELS = _variables["EARNEST_MODELS"]  # folder of models
EARNEST_OFFLINE = _variables["EARNEST_OFFLINE"]  # never fetch models from the network
if EARNEST_OFFLINE:
    os.environ["HF_HUB_OFFLINE"] = "1"  # of packages that would fetch on their own
EARNEST_METRIC_MODULES = _variables["EARNEST_METRIC_MODULES"].split(",")  # bring metrics, too
EARNEST_SCORING_SHARDS = _variables["EARNEST_SCORING_SHARDS"]  # parts of a run
EARNEST_METRIC_PRECISION = _variables["EARNEST_METRIC_PRECISION"]
EARNEST_METRIC_COMPILE = _variables["EARNEST_METRIC_COMPILE"]  # networks, once per worker
EARNEST_METRIC_DEVICE = _variables["EARNEST_METRIC_DEVICE"]  # of this worker: cuda:1
EARNEST_METRIC_BY_METRIC = _variables["EARNEST_METRIC_BY_METRIC"]  # one model in memory
EARNEST_JUDGE_URL = _variables["EARNEST_JUDGE_URL"]  # OpenAI-compatible, such as http://host/v1
EARNEST_JUDGE_MODEL = _variables["EARNEST_JUDGE_MODEL"]
EARNEST_JUDGE_KEY = _variables["EARNEST_JUDGE_KEY"]
EARNEST_JUDGE_PRICES = _variables["EARNEST_JUDGE_PRICES"]  # per million tokens: in,out[,audio]
EARNEST_JUDGE_BUDGET = _variables["EARNEST_JUDGE_BUDGET"]  # money per month, then they stop
EARNEST_RUBRICS = _variables["EARNEST_RUBRICS"]  # of judges, one's own
EARNEST_JUDGE_CONCURRENCY = _variables["EARNEST_JUDGE_CONCURRENCY"]
EARNEST_JUDGE_TIMEOUT_S = _variables["EARNEST_JUDGE_TIMEOUT_S"]

# --- Recruitment -------------------------------------------------------------------------------
EARNEST_PROLIFIC_API = _variables["EARNEST_PROLIFIC_API"]
DEFAULT_FROM_EMAIL = _variables["EARNEST_MAIL_FROM"]
EARNEST_MAIL = mail_server(_variables["EARNEST_MAIL"], DEFAULT_FROM_EMAIL)
EARNEST_PROLIFIC_SETTLED_S = _variables["EARNEST_PROLIFIC_SETTLED_S"]

# --- Messages: private networks that webhooks may reach, such as 10.1.0.0/16 --------------------
EARNEST_WEBHOOK_NETWORKS = _variables["EARNEST_WEBHOOK_NETWORKS"]

# --- Files -------------------------------------------------------------------------------------
MEDIA_URL = "/media-is-not-served/"  # clips leave through /c/<token> only
MEDIA_ROOT = EARNEST_VAR / "media"
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = FILE, FOLDER
MEDIA_FILE_MODE, MEDIA_FOLDER_MODE = (
    (FILE, FOLDER) if EARNEST_FILE_GROUP is None else (GROUP_FILE, GROUP_FOLDER)
)
STATIC_URL = f"{EARNEST_PATH}/static/"
STATIC_ROOT = make_folder("EARNEST_VAR", EARNEST_VAR / "static")
# Files of plug-ins have the name of their package before them, so that none hides another.
STATICFILES_DIRS = [BASE_DIR / "static", *plugins.folders("static").items()]
_static_backend = (
    "django.contrib.staticfiles.storage.StaticFilesStorage"
    if DEBUG
    else "config.static.ModuleManifestStorage"
)
STORAGES = {
    "default": media_storage(
        _variables["MEDIA_STORE"] or str(MEDIA_ROOT), MEDIA_FILE_MODE, MEDIA_FOLDER_MODE
    ),
    "staticfiles": {"BACKEND": _static_backend},
}
if "location" in STORAGES["default"]["OPTIONS"] and "s3" not in STORAGES["default"]["BACKEND"]:
    MEDIA_ROOT = Path(STORAGES["default"]["OPTIONS"]["location"])
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
# What a worker keeps of clips of a remote store; 0: everything.
EARNEST_MEDIA_CACHE_GB = _variables["EARNEST_MEDIA_CACHE_GB"]
# Set when nginx serves the clips: the prefix of an `internal` location that aliases MEDIA_STORE.
MEDIA_ACCEL_PREFIX = _variables["MEDIA_ACCEL_PREFIX"]
close_folder(
    EARNEST_VAR, EARNEST_FILE_GROUP, passed_by_servers=bool(EMBEDDED) and os.geteuid() == 0
)

# --- Operations: logs go to standard error, with no bodies, queries, addresses or codes ----------
EARNEST_METRICS_TOKEN = _variables["EARNEST_METRICS_TOKEN"]  # /metrics is not there without one
EARNEST_SENTRY_DSN = _variables["EARNEST_SENTRY_DSN"]  # errors go there, not what people typed
EARNEST_LEAST_FREE_BYTES = _variables["EARNEST_LEAST_FREE_MB"] * 1024**2
EARNEST_LOG_FORMAT = _variables["EARNEST_LOG_FORMAT"]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"route": {"()": "config.operations.logs.RouteFilter"}},
    "formatters": {
        "line": {
            "()": "config.operations.logs.LineFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "config.operations.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": EARNEST_LOG_FORMAT,
            "filters": ["route"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.request": {"level": "ERROR"},  # a line per answer of 4xx: the metrics count them
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
        # Two lines per job and one per tick of the beat say nothing new; failures are errors.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}
