from __future__ import annotations

import numpy as np
import pytest

from scutc.core.sampling import draw_in_proportion, draw_in_turn, evenly_spread, turns


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_turns_count_within_each_group():
    np.testing.assert_array_equal(turns(np.array([2, 0, 2, 2, 0, 5])), [0, 0, 1, 2, 1, 0])


def test_every_group_has_its_turn_before_one_has_a_second():
    groups = np.repeat(np.arange(4), [1, 2, 50, 50])
    assert np.bincount(groups[draw_in_turn(groups, 4, rng())]).tolist() == [1, 1, 1, 1]
    assert np.bincount(groups[draw_in_turn(groups, 7, rng())]).tolist() == [1, 2, 2, 2]
    assert len(np.unique(draw_in_turn(groups, 103, rng()))) == 103


def test_groups_are_drawn_in_proportion_but_none_is_left_out():
    groups = np.repeat([0, 1, 2, -1], [600, 390, 10, 100])
    drawn = draw_in_proportion(groups, 100, 3, rng())
    assert (np.diff(drawn) > 0).all()
    assert np.bincount(groups[drawn]).tolist() == [60, 39, 3]


def test_all_are_drawn_if_they_are_not_more():
    groups = np.array([0, -1, 1, 0])
    np.testing.assert_array_equal(draw_in_proportion(groups, 3, 1, rng()), [0, 2, 3])


@pytest.mark.parametrize("draw", [draw_in_turn, lambda *a: draw_in_proportion(*a[:2], 1, a[2])])
def test_the_generator_decides_which(draw):
    groups = np.repeat([0, 1], 50)
    first, again, other = (draw(groups, 20, np.random.default_rng(seed)).tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_items_are_spread_evenly_from_first_to_last():
    np.testing.assert_array_equal(evenly_spread(9, 3), [0, 4, 8])
    np.testing.assert_array_equal(evenly_spread(3, 9), [0, 1, 2])
