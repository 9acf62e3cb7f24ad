"""The loss of Auto-ATT, by hand."""

import math

import pytest

from metrics.auto_att import train
from metrics.core.lazy_torch import torch


def tensor(values, **options):
    return torch.tensor(values, dtype=torch.float64, **options)


def log_sigmoid(x):
    return -math.log(1 + math.exp(-x))


def test_bradley_terry_is_a_sum_over_the_ordered_pairs():
    predicted, true = tensor([0.8, 0.3, 0.6]), tensor([1.0, 0.0, 0.5])
    pairs = log_sigmoid(0.5) + log_sigmoid(0.2) + log_sigmoid(0.3)
    assert float(train.bradley_terry(predicted, true)) == pytest.approx(-pairs, rel=1e-6)
    mean = train.bradley_terry(predicted, true, "mean")
    assert float(mean) == pytest.approx(-pairs / 3, rel=1e-6)


def test_ties_form_no_pair_and_no_pair_costs_nothing():
    predicted, true = tensor([0.9, 0.2, 0.4]), tensor([0.5, 0.5, 1.0])
    pairs = log_sigmoid(0.4 - 0.9) + log_sigmoid(0.4 - 0.2)
    assert float(train.bradley_terry(predicted, true)) == pytest.approx(-pairs, rel=1e-6)
    tied = tensor([0.5, 0.5])
    for reduction in train.REDUCTIONS:
        assert float(train.bradley_terry(predicted[:2], tied, reduction)) == 0


def test_the_squared_part_is_half_a_sum():
    predicted, true = tensor([0.8, 0.3]), tensor([1.0, 0.0])
    assert float(train.half_squared_error(predicted, true)) == pytest.approx((0.04 + 0.09) / 2)
    assert float(train.half_squared_error(predicted, true, "mean")) == pytest.approx(0.13 / 4)


def test_the_total_weighs_both_parts_and_has_a_gradient():
    predicted = tensor([0.8, 0.3], requires_grad=True)
    found = train.training_loss(predicted, tensor([1.0, 0.0]))
    by_hand = 0.4 * -log_sigmoid(0.5) + 0.6 * 0.065
    assert found.total.item() == pytest.approx(by_hand, rel=1e-6)
    found.total.backward()
    push = 0.4 * (1 - 1 / (1 + math.exp(-0.5)))
    assert predicted.grad.tolist() == pytest.approx([-push - 0.6 * 0.2, push + 0.6 * 0.3])


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="sum, mean"):
        train.training_loss(torch.ones(2), torch.ones(2), "median")
