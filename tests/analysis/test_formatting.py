"""One function writes numbers, one writes lists."""

import pytest

from analysis.formatting import enumerated, interval_text, listed, number, percent, quote_name


def test_a_name_that_could_be_two_is_quoted_in_a_list_and_a_phrase_is_not():
    assert listed(["A", "B and C", "D, E"]) == "A, “B and C” and “D, E”"
    assert listed(["B and C"]) == "B and C"
    assert enumerated(["5 % between lenient and harsh raters", "1 % between texts"]) == (
        "5 % between lenient and harsh raters and 1 % between texts"
    )
    assert quote_name("A (0.258 [0.216, 0.299])") == "A (0.258 [0.216, 0.299])"


def test_many_names_are_counted():
    assert listed([f"S{i}" for i in range(9)], 3) == "S0, S1, S2 and 6 more"
    assert listed([]) == ""


@pytest.mark.parametrize(
    ("value", "told"), [(None, "–"), (-0.0004, "0.000"), (-1.5, "−1.500"), (2.0, "+2.000")]
)
def test_numbers_have_a_true_minus_and_no_sign_before_nothing(value, told):
    assert number(value, True) == told


def test_shares_are_never_rounded_to_all_or_nothing():
    assert percent(0.9996) == "over 99 %"
    assert percent(0.0004) == "under 1 %"
    assert (percent(1.0), percent(0.0)) == ("100 %", "0 %")


def test_an_end_past_the_scale_is_marked():
    assert interval_text(0.4, 5.3, (1, 5), 2) == "[◂1.00, 5.00▸]"
