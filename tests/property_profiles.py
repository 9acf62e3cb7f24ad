"""How Hypothesis looks for cases; read before the first module that asks it for some."""

from hypothesis import HealthCheck, settings

# The same cases each time, however slow the machine; `make soak` looks for new ones.
settings.register_profile(
    "tests",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak", settings.get_profile("tests"), derandomize=False, max_examples=500
)
settings.load_profile("tests")
