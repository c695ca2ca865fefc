"""The suite's Hypothesis profile, tests/conftest.py."""

import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]


@settings(max_examples=2)
@given(st.integers())
def test_a_slow_property_does_not_fail(number):
    time.sleep(0.25)


def test_the_profile_is_loaded():
    assert settings().deadline is None and HealthCheck.too_slow in settings().suppress_health_check


def test_no_test_has_a_deadline_of_its_own():
    files = [path for path in TESTS.rglob("*.py") if path not in (TESTS / "conftest.py", Path(__file__))]
    assert not [path.name for path in files if "deadline=" in path.read_text(encoding="utf8")]
