"""The whole contract in one call; run it where Earnest is installed."""

from earnest_level import ActiveLevel

from metrics import testing


def test_it_keeps_the_contract():
    testing.check(ActiveLevel)
