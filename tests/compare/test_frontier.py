import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from compare_toys import Closeness, Guess, Loss, Rows, Shift, Unfit
from hypothesis import given
from hypothesis import strategies as st

from sfumato.compare.experiment import Experiment
from sfumato.compare.frontier import Frontier, frontier, joint_frontiers, undominated
from sfumato.compare.results import Results
from sfumato.compare.rows import Row
from sfumato.core import Measure
from sfumato.errors import ParameterError
from sfumato.table.microdata import Microdata

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0]}))


def results_of(figures: Mapping[str, tuple[tuple[float, float], ...]], measures: tuple[Measure, ...]) -> Results:
    """Results with these (mean, standard error) pairs, one per measure."""
    rows = []
    for name, pairs in figures.items():
        keyed = dict(zip(map(repr, measures), pairs, strict=True))
        rows.append(
            Row(
                candidate=name,
                method=None,
                means={key: mean for key, (mean, _) in keyed.items()},
                errors={key: error for key, (_, error) in keyed.items()},
                values={key: (mean,) * 5000 for key, (mean, _) in keyed.items()},  # so that Student's t is the normal
                replicates=5000,
            )
        )
    return Results(original=DATA, measures=measures, rows=tuple(rows), seed=0, replicates=2, seconds=0.0, versions={})


def drawn(**figures: tuple[float, float, float, float]) -> Frontier:
    """The frontier of candidates given as risk, its error, loss, its error."""
    pairs = {name: ((risk, e), (loss, f)) for name, (risk, e, loss, f) in figures.items()}
    return frontier(results_of(pairs, (Closeness(), Loss())), risk=Closeness, utility=Loss)


def test_the_frontier_by_hand() -> None:
    # b is beaten by a (same risk, less loss); d by a and c; the twins equal each other and stay
    found = drawn(a=(0.1, 0, 5, 0), b=(0.1, 0, 6, 0), c=(0.2, 0, 3, 0), d=(0.3, 0, 5, 0), twin=(0.2, 0, 3, 0))
    assert found.on == ("a", "c", "twin")
    assert found.dominated_by == {"b": ("a",), "d": ("a", "c", "twin")}
    assert found.doubtful == ()
    assert [(axis.key, axis.better, axis.purpose) for axis in found.axes] == [
        ("Closeness()", "lower", "risk"),
        ("Loss()", "lower", "utility"),
    ]
    assert "3 of 5 candidates" in repr(found)


def test_a_measure_that_is_better_when_higher_is_taken_as_such() -> None:
    pairs = {"a": ((0.1, 0.0), (5.0, 0.0)), "b": ((0.1, 0.0), (6.0, 0.0))}
    found = frontier(results_of(pairs, (Closeness(), Rows())), risk=Closeness, utility=Rows)
    assert found.on == ("b",)


def test_candidates_off_the_frontier_by_chance_only_are_doubtful() -> None:
    # of many draws: b has 0.1 more loss, less than 1.96 * sqrt(0.1² + 0.1²) = 0.277; c has 0.5 more
    found = drawn(a=(0.1, 0, 5.0, 0.1), b=(0.1, 0, 5.1, 0.1), c=(0.1, 0, 5.5, 0.1))
    assert found.on == ("a",)
    assert found.doubtful == ("b",)
    assert "doubtful, off it by less than chance may do: b" in repr(found)


def test_candidates_on_the_frontier_by_chance_only_are_doubtful() -> None:
    # b is on it for its loss of 0.1 less, which may be chance, and its risk is clearly higher than a's
    found = drawn(a=(0.1, 0.001, 5.1, 0.1), b=(0.3, 0.001, 5.0, 0.1))
    assert found.on == ("a", "b")
    assert found.doubtful == ("b",)


def test_candidates_without_a_figure_are_left_out_with_the_reason() -> None:
    results = Experiment(DATA, [Shift(), Unfit()], [Closeness(), Loss()]).run()
    found = results.frontier(risk=Closeness, utility=Loss)
    assert found.on == ("Shift()",)
    assert "moustache" in found.left_out["Unfit()"].text
    nobody = Experiment(DATA, [Unfit()], [Closeness(), Loss()]).run().frontier(risk=Closeness, utility=Loss)
    assert nobody.on == ()


def test_an_unknown_spread_is_told() -> None:
    results = Experiment(DATA, [Shift()], [Guess(), Loss()]).run()
    assert results.frontier(risk=Guess, utility=Loss).unknown == ("Shift()",)


def test_axes_that_cannot_be_right_are_refused() -> None:
    results = Experiment(DATA, [Shift()], [Closeness(), Loss()]).run()
    with pytest.raises(ParameterError, match=r"Loss\(\) is a measure of utility; it cannot stand for risk"):
        results.frontier(risk=Loss, utility=Loss)
    with pytest.raises(ParameterError, match="risk names no measure"):
        results.frontier(risk=[], utility=Loss)


small = st.integers(0, 4).map(float)  # few values, so that ties and duplicates are common


@st.composite
def clouds(draw: st.DrawFn) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    axes = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(small, min_size=axes, max_size=axes), min_size=1, max_size=25))
    return np.array(rows)


@given(clouds())
def test_the_frontier_is_what_its_definition_says(costs: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    def dominates(a: list[float], b: list[float]) -> bool:
        return all(x <= y for x, y in zip(a, b, strict=True)) and any(x < y for x, y in zip(a, b, strict=True))

    points = costs.tolist()
    expected = [not any(dominates(other, point) for other in points) for point in points]
    assert undominated(costs).tolist() == expected
    # without standard errors nothing is doubtful
    assert undominated(costs, np.zeros_like(costs)).tolist() == expected


@given(clouds(), st.floats(0, 2))
def test_the_frontier_within_chance_is_what_its_definition_says(
    costs: np.ndarray[tuple[int, int], np.dtype[np.float64]], error: float
) -> None:
    def compared(a: float, b: float) -> int:
        return 0 if abs(a - b) <= math.hypot(error, error) else (-1 if a < b else 1)

    def dominates(a: list[float], b: list[float]) -> bool:
        signs = [compared(x, y) for x, y in zip(a, b, strict=True)]
        return max(signs) <= 0 and min(signs) < 0

    points = costs.tolist()
    expected = [not any(dominates(other, point) for other in points) for point in points]
    assert undominated(costs, np.full_like(costs, error)).tolist() == expected


@given(clouds())
def test_everyone_off_the_frontier_is_beaten_by_someone_on_it(
    costs: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    measures: tuple[Measure, ...] = (Closeness(), *(Numbered(number=j) for j in range(costs.shape[1] - 1)), Loss())
    pairs = {f"c{i}": tuple((float(v), 0.0) for v in (*row, 0.0)) for i, row in enumerate(costs)}
    found = frontier(results_of(pairs, measures), risk=list(measures[:-1]), utility=Loss)
    assert set(found.on) | set(found.dominated_by) == set(pairs)
    assert all(winners and set(winners) <= set(found.on) for winners in found.dominated_by.values())


@dataclass(frozen=True, repr=False)
class Numbered(Closeness):
    """One more risk, to have several axes."""

    about: ClassVar = Closeness.about
    number: int = 0


def test_the_knee_by_hand() -> None:
    # divided by their ranges (0.4 and 8): a (0, 1), b (0.25, 0.25), c (0.75, 0.125), d (1, 0); x + y is least at b
    found = drawn(a=(0.1, 0, 9, 0), b=(0.2, 0, 3, 0), c=(0.4, 0, 2, 0), d=(0.5, 0, 1, 0), beaten=(0.5, 0, 9, 0))
    assert found.knee == "b"
    assert "b (knee)" in repr(found)
    # on the chord, or bulging above it, there is no bend; two candidates have none
    assert drawn(a=(0.1, 0, 3, 0), b=(0.2, 0, 2, 0), c=(0.3, 0, 1, 0)).knee is None
    assert drawn(a=(0.1, 0, 3.0, 0), b=(0.2, 0, 2.9, 0), c=(0.3, 0, 1, 0)).knee is None
    assert drawn(a=(0.1, 0, 3, 0), b=(0.2, 0, 2, 0)).knee is None


@given(st.lists(st.tuples(small, small), min_size=1, max_size=20), st.floats(0.1, 50), st.floats(0.1, 50))
def test_the_knee_is_on_the_frontier_and_no_unit_changes_it(
    points: list[tuple[float, float]], one: float, other: float
) -> None:
    found = drawn(**{f"c{i}": (x, 0, y, 0) for i, (x, y) in enumerate(points)})
    assert found.knee is None or found.knee in found.on
    scaled = drawn(**{f"c{i}": (x * one, 0, y * other, 0) for i, (x, y) in enumerate(points)})
    if found.knee is not None and scaled.knee != found.knee:  # a tie that rounding decided
        both = [points[int(str(name)[1:])] for name in (found.knee, scaled.knee)]
        spans = [np.ptp([points[int(n[1:])][axis] for n in found.on]) for axis in (0, 1)]
        assert np.isclose(*(x / spans[0] + y / spans[1] for x, y in both))


def test_joint_frontiers_by_hand() -> None:
    # risk, loss, records (more is better). By loss: a and c (b has more risk and loss than a, d than c).
    # By records: a and b. Together a, b and c: b beats d in all three.
    pairs = {
        "a": ((0.1, 0.0), (5.0, 0.0), (10.0, 0.0)),
        "b": ((0.2, 0.0), (6.0, 0.0), (20.0, 0.0)),
        "c": ((0.2, 0.0), (3.0, 0.0), (5.0, 0.0)),
        "d": ((0.3, 0.0), (7.0, 0.0), (15.0, 0.0)),
    }
    found = joint_frontiers(results_of(pairs, (Closeness(), Loss(), Rows())), risk=Closeness, utilities=[Loss, Rows])
    assert {key: set(one.on) for key, one in found.single.items()} == {"Loss()": {"a", "c"}, "Rows()": {"a", "b"}}
    assert set(found.joint.on) == {"a", "b", "c"}
    assert found.counts == {"a": 2, "b": 1, "c": 1, "d": 0}
    assert "  a  2  joint" in repr(found) and "  d  0  -" in repr(found)
    with pytest.raises(ParameterError, match="a list of two measures of utility or more"):
        joint_frontiers(results_of(pairs, (Closeness(), Loss(), Rows())), risk=Closeness, utilities=[Loss])


@given(st.lists(st.tuples(*[st.integers(0, 10**6).map(float)] * 3), min_size=1, max_size=20, unique_by=lambda t: t[0]))
def test_who_is_on_a_single_frontier_is_on_the_joint_one_where_nobody_ties(points: list[tuple[float, ...]]) -> None:
    pairs = {f"c{i}": tuple((value, 0.0) for value in point) for i, point in enumerate(points)}
    found = joint_frontiers(results_of(pairs, (Closeness(), Loss(), Rows())), risk=Closeness, utilities=[Loss, Rows])
    assert all(set(one.on) <= set(found.joint.on) for one in found.single.values())
