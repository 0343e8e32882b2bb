import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from single_attacks import own_is_nearest

from sfumato import DistanceLinkage, IndividualRanking, Microdata, NotApplicable, ParameterError, Schema, Variable
from sfumato.kernels import boxes
from sfumato.kernels.euclidean_distance import compiled, nearer_and_tied
from tables import incomes, numbers

Floats = NDArray[np.float64]


def brute_force(here: Floats, there: Floats, share: bool) -> tuple[Floats, Floats]:
    """Every distance, and the chance that the own record comes first or second when ties are broken at random."""
    apart = np.sqrt(((here[:, None] - there[None]) ** 2).sum(axis=2))
    own = np.diag(apart)[:, None]
    nearer = (apart < own * (1 - 1e-9)).sum(axis=1)
    tied = (np.abs(apart - own) <= 1e-9 * own).sum(axis=1)
    if not share:
        return (nearer == 0).astype(float), (nearer == 1).astype(float)
    return np.where(nearer == 0, 1 / tied, 0), np.where((nearer <= 1) & (nearer + tied >= 2), 1 / tied, 0)


def test_by_hand_first_and_second_nearest() -> None:
    here = np.array([[0.0], [10.0], [20.0], [30.0]])
    there = np.array([[1.0], [13.0], [12.0], [31.0]])
    # 0 -> 1 (own).  10 -> 12, own 13 is second.  20 -> 13, own 12 is second.  30 -> 31 (own).
    first, second = own_is_nearest(here, there, share=True)
    assert first.tolist() == [1, 0, 0, 1] and second.tolist() == [0, 1, 1, 0]


def test_by_hand_ties_share_the_credit_or_count_as_linked() -> None:
    here = np.array([[0.0], [1.0], [5.0], [9.0]])
    there = np.array([[2.0], [2.0], [2.0], [9.0]])
    # 0, 1 -> 2, three records tie; 5 -> 2 at distance 3, three tie (9 is at 4); 9 -> 9
    first, second = own_is_nearest(here, there, share=True)
    np.testing.assert_allclose(first, [1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_allclose(second, [1 / 3, 1 / 3, 1 / 3, 0])
    first, second = own_is_nearest(here, there, share=False)
    assert first.tolist() == [1, 1, 1, 1] and second.tolist() == [0, 0, 0, 0]


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 4), st.booleans(), st.booleans())
def test_by_reference_the_tree_equals_all_distances(seed: int, n: int, p: int, share: bool, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    if grid:  # small whole numbers: ties everywhere
        here, there = rng.integers(0, 4, (n, p)).astype(float), rng.integers(0, 4, (n, p)).astype(float)
    else:
        here = rng.normal(size=(n, p))
        there = here + 0.5 * rng.normal(size=(n, p))
    for found, expected in zip(own_is_nearest(here, there, share=share), brute_force(here, there, share), strict=True):
        np.testing.assert_allclose(found, expected)


def test_by_hand_the_measure_averages_over_what_becomes_known() -> None:
    # b is the same in both files; a is reversed. standardise: a and b have equal spread in both files
    original = numbers(a=[0.0, 1.0, 2.0, 3.0], b=[0.0, 10.0, 20.0, 30.0])
    protected = numbers(a=[3.0, 2.0, 1.0, 0.0], b=[0.0, 10.0, 20.0, 30.0])
    found = DistanceLinkage(known=("b", "a")).evaluate(original, protected)
    # knows b: all linked. knows b and a: squared distance of i to j is (i - (3 - j))^2 + (i - j)^2 in units of the
    # spacing; for i = 0: j = 0: 9, 1: 5, 2: 5, 3: 9; for i = 1: j = 1: 1, 0: 5, 2: 1, 3: 5, a tie of two.
    # So 0, 1/2, 1/2, 0.
    assert found.parts["knows b"] == 1
    assert found.parts["knows b, a"] == pytest.approx(0.25)
    assert found.value == pytest.approx(0.625)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [0.5, 0.75, 0.75, 0.5])


def test_known_may_be_a_number_a_list_or_sets() -> None:
    data = incomes()
    masked = IndividualRanking(20).protect(data)
    number = DistanceLinkage(known=2).evaluate(data, masked)
    assert list(number.parts)[:2] == ["knows earnings", "knows earnings, tax"]
    listed = DistanceLinkage(known=("earnings", "tax")).evaluate(data, masked)
    assert listed.value == number.value
    sets = DistanceLinkage(known=(("earnings",), ("earnings", "tax"))).evaluate(data, masked)
    assert sets.value == number.value
    assert len(DistanceLinkage().evaluate(data, masked).parts) == 4 + 1  # no more than there are


def test_the_keys_of_the_schema_are_what_is_known() -> None:
    data = incomes()
    schema = Schema((Variable("rent", role="key"), Variable("savings", role="key")))
    keyed = Microdata.from_frame(data.to_arrow(), schema)
    found = DistanceLinkage().evaluate(keyed, keyed)
    assert list(found.parts)[:2] == ["knows rent", "knows rent, savings"]


def test_own_standardisation_undoes_a_change_of_scale_and_the_originals_does_not() -> None:
    data = incomes()
    scaled = data.replace({n: 3 * data.columns[n] + 7 for n in data.schema.analysed("numeric")})
    assert DistanceLinkage(standardise="own").evaluate(data, scaled).value == 1
    assert DistanceLinkage(standardise="original").evaluate(data, scaled).value < 0.2


def test_the_two_directions_differ_and_are_each_other_turned_round() -> None:
    data = incomes()
    masked = IndividualRanking(20).protect(data)
    there = DistanceLinkage(direction="original to protected", known=1).evaluate(data, masked).value
    back = DistanceLinkage(direction="protected to original", known=1).evaluate(data, masked).value
    turned = DistanceLinkage(direction="original to protected", known=1).evaluate(masked, data).value
    assert back == pytest.approx(turned) and back != pytest.approx(there)


def test_second_counts_the_second_nearest_too() -> None:
    data = incomes()
    masked = IndividualRanking(20).protect(data)
    one, two = (DistanceLinkage(known=1, second=second).evaluate(data, masked) for second in (False, True))
    assert two.value == pytest.approx(one.value + one.parts["linked to the second nearest"])


def test_two_missing_values_are_equal_and_one_missing_is_farthest() -> None:
    nan = float("nan")
    original = numbers(a=[nan, 1.0, 2.0, 3.0])
    found = DistanceLinkage(known=1).evaluate(original, original)
    assert found.value == 1  # the record with the missing value is told apart by it
    gone = DistanceLinkage(known=1).evaluate(numbers(a=[0.0, 1.0, 2.0, 9.0]), numbers(a=[0.0, 1.0, 2.0, nan]))
    assert gone.by_record is not None and gone.by_record[3] == 0  # every present value is nearer than a missing one


def test_by_theory_an_unrelated_table_links_one_record_in_n() -> None:
    found = np.mean([DistanceLinkage().evaluate(incomes(300, 1), incomes(300, s)).value for s in range(10, 30)])
    assert found == pytest.approx(1 / 300, abs=5 * np.sqrt(1 / 300 / 6000))


@pytest.mark.parametrize("known", [0, -1, 2.5, "a", (), ("a", "a"), (("a",), ()), True])
def test_knowledge_that_cannot_be_right_is_refused(known: object) -> None:
    with pytest.raises(ParameterError, match="DistanceLinkage: known must be"):
        DistanceLinkage(known=known)  # type: ignore[arg-type]


def test_an_unknown_variable_is_named() -> None:
    with pytest.raises(NotApplicable, match=r"DistanceLinkage: known names income, not among .*earnings"):
        DistanceLinkage(known=("income",)).evaluate(incomes(), incomes())


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 4), st.booleans())
def test_the_kernel_equals_the_plain_version_with_one_thread_and_with_several(
    seed: int, n: int, p: int, grid: bool
) -> None:
    rng = np.random.default_rng(seed)
    here = rng.integers(0, 4, (n, p)).astype(float) if grid else rng.normal(size=(n, p))
    there = rng.integers(0, 4, (n, p)).astype(float) if grid else here + 0.5 * rng.normal(size=(n, p))
    points, _, copies = boxes.distinct(there)
    own = np.sqrt(((here - there) ** 2).sum(axis=1))
    arguments = copies, here, own * (1 - 1e-9), own * (1 + 1e-9)
    nearer, tied = nearer_and_tied(points, *arguments)
    for threads in (1, 3):
        kernel_nearer, kernel_tied = compiled.nearer_and_tied(points, *arguments, threads=threads)
        np.testing.assert_array_equal(kernel_nearer, nearer)
        settled = nearer < 2  # who has two nearer ones is not linked, however many tie
        np.testing.assert_array_equal(kernel_tied[settled], tied[settled])


def test_large_tables_take_the_kernel_in_chunks_and_agree_with_all_distances() -> None:
    rng = np.random.default_rng(1)
    here = rng.normal(size=(6_000, 3)).round(1)
    there = (here + 0.2 * rng.normal(size=here.shape)).round(1)
    for share in (True, False):
        first, second = own_is_nearest(here, there, share=share)
        rows = rng.choice(6_000, 300, replace=False)
        apart = np.sqrt(((here[rows, None] - there[None]) ** 2).sum(axis=2))
        own = np.sqrt(((here - there) ** 2).sum(axis=1))[rows, None]
        nearer = (apart < own * (1 - 1e-9)).sum(axis=1)
        tied = (np.abs(apart - own) <= 1e-9 * own).sum(axis=1)
        part = 1 / tied if share else np.ones(300)
        np.testing.assert_allclose(first[rows], np.where(nearer == 0, part, 0))
        also = (nearer == 1) | ((nearer == 0) & (tied > 1) & share)
        np.testing.assert_allclose(second[rows], np.where(also, part, 0))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_distinct_rows_equal_numpys(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, dtype=float)
    points, place, copies = boxes.distinct(table)
    expected, inverse, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(points, expected)
    np.testing.assert_array_equal(place, inverse.reshape(-1))
    np.testing.assert_array_equal(copies, counts)


def test_by_hand_missing_and_present_are_apart_even_in_a_constant() -> None:
    table = numbers(x=[1.0] * 4 + [float("nan")] * 4)
    assert DistanceLinkage(known=1).evaluate(table, table).value == pytest.approx(1 / 4)


def test_ties_survive_the_rounding_of_large_coordinates() -> None:
    # every whole number lies as near to the one below as to the one above; a far outlier makes the scale coarse
    x = np.append(np.arange(3000.0), 1e12)
    found = DistanceLinkage(known=1).evaluate(numbers(x=x[:-1]), numbers(x=x[:-1] + 0.5))
    far = DistanceLinkage(known=1, standardise="original").evaluate(numbers(x=x), numbers(x=x + 0.5))
    assert found.value > 0.99  # standardised by its own mean the shift is gone
    assert far.value == pytest.approx(0.5, abs=1e-3)


def test_values_too_large_for_a_standard_deviation_are_refused() -> None:
    with pytest.raises(NotApplicable, match="'x' has values too large"):
        DistanceLinkage(known=1).evaluate(numbers(x=[1e200, -1e200, 3.0]), numbers(x=[1e200, -1e200, 3.0]))
