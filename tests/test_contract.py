"""What every method and every measure of the catalogue must do, whoever wrote it."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import Measure, Method, Microdata, NotApplicable, SfumatoError, catalogue
from tables import incomes, numbers

METHODS = sorted(catalogue.methods().items())
MEASURES = sorted(catalogue.measures().items())
# methods that mask anything but numbers, and measures over keys, are held to their own contract beside this one
NUMERIC = [(n, cls) for n, cls in METHODS if {*cls.about.kinds} - {"date"} == {"numeric"} and cls.about.keeps_records]
UNKEYED = [(name, cls) for name, cls in MEASURES if not cls.about.keys]
# what goes by the spread, the ranks or the groups of a variable leaves a constant as it is; other methods need not
KEEP_CONSTANTS = (
    *(sfumato.Noise, sfumato.CorrelatedNoise, sfumato.KimNoise, sfumato.ResidualNoise, sfumato.NormalSynthesis),
    *(sfumato.DistributionDistortion, sfumato.JPEG, sfumato.Resampling, sfumato.Rounding, sfumato.Shuffling),
    *(sfumato.RankSwapping, sfumato.GroupedSwapping, sfumato.GroupedMicroaggregation, sfumato.IndividualRanking),
    *(sfumato.MDAV, sfumato.MaximumDistance, sfumato.ProjectionMicroaggregation),
)
every_method = pytest.mark.parametrize("cls", [cls for _, cls in NUMERIC], ids=[name for name, _ in NUMERIC])
every_measure = pytest.mark.parametrize("cls", [cls for _, cls in UNKEYED], ids=[name for name, _ in UNKEYED])


def example(cls: type[Method]) -> Method:
    return catalogue.default_grid(cls)[-1]


def same(a: Microdata, b: Microdata) -> bool:
    return a.names == b.names and all(np.array_equal(a.columns[n], b.columns[n], equal_nan=True) for n in a.names)


def shuffled_columns(data: Microdata, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    return data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed("numeric")})


# every class


@pytest.mark.parametrize("cls", [c for _, c in METHODS + MEASURES], ids=[n for n, _ in METHODS + MEASURES])
def test_the_class_is_public_documented_and_described(cls: type[Method] | type[Measure]) -> None:
    assert getattr(sfumato, cls.__name__) is cls
    assert cls.__doc__ is not None and len(cls.__doc__) > 60
    assert cls.about.title and cls.about.source and cls.about.missing


def test_every_class_is_in_the_catalogue() -> None:
    def leaves(cls: type) -> set[str]:
        every: list[type] = cls.__subclasses__()
        below = [sub for sub in every if sub.__module__.startswith("sfumato.")]  # none of another test
        mine = {cls.__name__} if not below else set()
        return mine.union(*(leaves(sub) for sub in below))

    assert leaves(Method) | leaves(Measure) == {name for name, _ in METHODS + MEASURES} | {"Chain", "Within"}


@pytest.mark.parametrize("cls", [c for _, c in METHODS + MEASURES], ids=[n for n, _ in METHODS + MEASURES])
def test_repr_evaluates_back_and_pickles(cls: type[Method] | type[Measure]) -> None:
    made = [*catalogue.default_grid(cls)] if issubclass(cls, Method) else [cls()]
    for thing in (*made, *(replace(m, variables=("earnings",)) for m in made)):
        assert eval(repr(thing), {name: getattr(sfumato, name) for name in sfumato.__all__}) == thing
        assert pickle.loads(pickle.dumps(thing)) == thing
        assert hash(thing) == hash(replace(thing))
        assert catalogue.parse(repr(thing)) == [thing]


# methods


@every_method
def test_column_order_is_irrelevant_unless_declared(cls: type[Method]) -> None:
    data = incomes()
    table = data.to_arrow()
    turned = Microdata.from_frame(table.select([*table.column_names[1::2], *table.column_names[::2]]))
    # told in blocks or as an image, order matters: what is declared must be true
    in_blocks = cls.__name__ in ("MDAV", "MaximumDistance")
    made = replace(example(cls), at_a_time=2) if in_blocks else example(cls)  # type: ignore[call-arg]
    one, other = made.protect(data, rng=2), made.protect(turned, rng=2)
    alike = [np.allclose(one.columns[n], other.columns[n], rtol=1e-9) for n in data.schema.analysed("numeric")]
    assert all(alike) is not cls.about.column_order


@every_method
@pytest.mark.parametrize(
    "data",
    [
        numbers(a=[1.0], b=[2.0]),
        numbers(a=[1.0, 2.0], b=[5.0, 3.0]),
        numbers(a=[4.0] * 30, b=[2.0] * 30),
        numbers(a=[4.0] * 30, b=list(np.arange(30.0))),
        numbers(a=[float("nan")] * 30, b=list(np.arange(30.0))),
        numbers(a=[float("nan")] * 29 + [1.0], b=list(np.arange(30.0))),
    ],
    ids=["one record", "two records", "all duplicates", "a constant", "all missing", "one value present"],
)
def test_a_result_or_a_clear_error_never_a_wrong_table(cls: type[Method], data: Microdata) -> None:
    try:
        masked = example(cls).protect(data, rng=1)
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal)
        return
    for name in data.names:
        before, after = data.columns[name], masked.columns[name]
        assert after.shape == before.shape
        assert np.array_equal(np.isnan(before), np.isnan(after))
        if np.unique(before).size == 1 and cls in KEEP_CONSTANTS:
            np.testing.assert_allclose(after, before, rtol=1e-12, equal_nan=True)


# measures

# they see whether a value is there and how broad, or how many records look alike, not what they are
BLANKS = (
    sfumato.Suppressed,
    sfumato.CertaintyPenalty,
    sfumato.NonUniformEntropy,
    sfumato.Discernibility,
    sfumato.AverageClassSize,
    sfumato.Precision,
)


@every_measure
def test_best_on_identical_tables_and_inside_its_range(cls: type[Measure]) -> None:
    data = incomes()
    measure, about = cls(), cls.about
    copy = measure.evaluate(data, data, rng=0)
    worst_risk = 1.0
    if about.purpose == "utility":
        assert copy.value == pytest.approx(about.range[0 if about.better == "lower" else 1])
    else:
        assert copy.value > 0.4 * worst_risk  # what is unique in the keys is found
    for seed in range(3):
        other = measure.evaluate(data, incomes(seed=seed + 50), rng=seed)
        for found in (copy, other):
            assert about.range[0] <= found.value <= about.range[1]
        if cls in BLANKS:
            continue
        # unrelated draws are safer than a copy, and less useful
        lower_is_expected = about.purpose == "risk" or about.better == "higher"
        assert other.value < copy.value if lower_is_expected else other.value > copy.value


@every_measure
def test_unrelated_draws_have_low_risk_and_poor_utility(cls: type[Measure]) -> None:
    if cls in BLANKS:
        return
    data = incomes()
    copy = cls().evaluate(data, data, rng=0).value
    unrelated = cls().evaluate(data, incomes(seed=99), rng=0).value
    shuffled = cls().evaluate(data, shuffled_columns(data, 1), rng=0).value
    if cls.about.purpose == "risk":
        assert unrelated < 0.3 * copy
    else:
        worse = 1 if cls.about.better == "lower" else -1
        assert worse * unrelated > worse * copy
        if cls.about.joint:
            assert worse * shuffled > worse * copy + 1e-3


@every_measure
def test_permuting_one_table_changes_something_if_and_only_if_paired(cls: type[Measure]) -> None:
    data = incomes()
    masked = sfumato.Noise(0.1).protect(data, rng=1)
    order = np.random.default_rng(4).permutation(len(data))
    straight = cls().evaluate(data, masked, rng=0).value
    turned = cls().evaluate(data, masked.take(order), rng=0).value
    assert (turned == pytest.approx(straight, rel=1e-9)) is not cls.about.paired


@every_measure
def test_records_are_matched_by_id_where_both_tables_have_one(cls: type[Measure]) -> None:
    data = incomes()
    table = data.to_arrow().append_column("id", pa.array([f"p{i}" for i in range(len(data))]))
    schema = sfumato.Schema((sfumato.Variable("id", kind="nominal"),), id="id")
    original = Microdata.from_frame(table, schema)
    masked = sfumato.Noise(0.1).protect(original, rng=1)
    order = np.random.default_rng(4).permutation(len(data))
    straight = cls().evaluate(original, masked, rng=0)
    again = cls().evaluate(original, masked.take(order), rng=0)
    assert again.value == pytest.approx(straight.value, rel=1e-12)
    stranger = Microdata.from_frame(table.set_column(5, "id", pa.array([f"q{i}" for i in range(len(data))])), schema)
    if cls.about.paired:
        with pytest.raises(NotApplicable, match="ids in 'id' are not the same"):
            cls().evaluate(original, stranger)


@every_measure
def test_refusals_name_the_class_and_what_is_lacking(cls: type[Measure]) -> None:
    data = incomes()
    only_text = Microdata.from_frame(pa.table({"town": ["Aix", "Bad Ems"] * 100}))
    if "nominal" not in cls.about.kinds:
        needed = " or ".join(cls.about.kinds)
        with pytest.raises(NotApplicable, match=rf"{cls.__name__}: the table has no {needed} variable"):
            cls().evaluate(only_text, only_text)
    with pytest.raises(NotApplicable, match=rf"{cls.__name__}: the protected table has no comparable"):
        cls().evaluate(data, only_text)
    if cls.about.paired:
        with pytest.raises(NotApplicable, match=rf"{cls.__name__}: record i .* 199 and 200 records"):
            cls().evaluate(data, data.take(np.arange(199)))


@every_measure
def test_a_variable_gone_from_the_protected_table_is_left_out_and_said(cls: type[Measure]) -> None:
    data = incomes()
    table = data.to_arrow().drop_columns(["savings"])
    found = cls().evaluate(data, Microdata.from_frame(table), rng=0)
    assert any("savings" in note for note in found.notes)
    if cls in (sfumato.GlobalDataUtility, *BLANKS):  # what was removed counts as lost there, named or not
        return
    with pytest.raises(NotApplicable, match="savings"):
        cls(variables=("earnings", "savings")).evaluate(data, Microdata.from_frame(table))


@every_measure
def test_a_recoded_variable_of_a_protected_frame_does_not_stand_in_the_way(cls: type[Measure]) -> None:
    original = incomes().to_arrow().to_pandas()
    recoded = original.assign(
        region="elsewhere", savings=np.where(original["savings"] > 20, "more", "less"), rent=original["rent"] + 0.1
    )
    found = cls().evaluate(original, recoded, rng=0)
    assert np.isfinite(found.value)
    if cls.about.kinds == ("numeric",):
        assert any("savings" in note for note in found.notes)


@every_measure
def test_a_constant_that_no_binary_fraction_holds_makes_no_figure_explode(cls: type[Measure]) -> None:
    data = incomes()
    with_constant = Microdata.from_frame(data.to_arrow().append_column("constant", pa.array(np.full(200, 0.1))))
    plain = cls().evaluate(data, sfumato.MDAV(3).protect(data), rng=0).value
    found = cls().evaluate(with_constant, sfumato.MDAV(3).protect(with_constant), rng=0).value
    assert found <= 3 * plain + 0.1


@every_measure
def test_missing_values_are_measured_or_noted_never_a_silent_nan(cls: type[Measure]) -> None:
    data = incomes()
    rng = np.random.default_rng(8)
    holes = {n: np.where(rng.random(200) < 0.1, np.nan, data.columns[n]) for n in data.schema.analysed("numeric")}
    original = data.replace(holes)
    found = cls().evaluate(original, sfumato.Noise(0.1).protect(original, rng=1), rng=0)
    assert np.isfinite(found.value)


@every_measure
@pytest.mark.parametrize(
    "data",
    [
        numbers(a=[1.0], b=[2.0]),
        numbers(a=[1.0, 2.0], b=[5.0, 3.0]),
        numbers(a=[4.0] * 30, b=[2.0] * 30),
        numbers(a=[0.0] * 30, b=list(np.arange(30.0))),
        numbers(a=[float("nan")] * 30, b=list(np.arange(30.0))),
    ],
    ids=["one record", "two records", "all duplicates", "constant zero", "all missing"],
)
def test_a_figure_in_range_or_a_clear_error(cls: type[Measure], data: Microdata) -> None:
    try:
        found = cls().evaluate(data, data, rng=0)
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal)
        return
    assert cls.about.range[0] <= found.value <= cls.about.range[1]
    assert repr(found) and found._repr_html_()
