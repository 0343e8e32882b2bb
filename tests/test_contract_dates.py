"""A date must crash no class of the catalogue: it is masked, compared, left out, or refused in words that say so."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato import (
    AverageClassSize,
    DateShift,
    GlobalRecoding,
    LocalSuppression,
    Measure,
    Method,
    Microdata,
    NotApplicable,
    Sampling,
    Schema,
    SfumatoError,
    TopBottomCoding,
    Variable,
    VariableRemoval,
    WeightMasking,
    catalogue,
)
from sfumato.testing.of_methods import METHOD_CHECKS
from sfumato.testing.tables import with_gaps

METHODS = sorted(catalogue.methods().items())
MEASURES = sorted(catalogue.measures().items())
DATED = ("born", "came", "left")


def stays(n: int = 90, seed: int = 2) -> Microdata:
    """Persons with a date for a key, a moment that is neither, and a confidential date with gaps."""
    rng = np.random.default_rng(seed)
    born = [dt.date(1940, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 25_000, n)]
    came = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, n)]
    left = [
        None if row % 11 == 4 else day.date() + dt.timedelta(days=int(d))
        for row, (day, d) in enumerate(zip(came, rng.integers(0, 40, n), strict=True))
    ]
    table = pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south", "east"], n),
            "born": pa.array(born, pa.date32()),
            "came": pa.array(came, pa.timestamp("us")),
            "left": pa.array(left, pa.date32()),
            "grade": rng.integers(1, 4, n),
            "age": rng.integers(18, 60, n),
            "cost": np.exp(rng.normal(6, 1, n)),
        }
    )
    schema = Schema(
        (
            Variable("sex", "nominal", "key"),
            Variable("region", "nominal", "key"),
            Variable("born", "date", "key"),
            Variable("left", "date", "confidential"),
            Variable("grade", "ordinal"),
            Variable("age", role="key"),
            Variable("cost", role="confidential"),
        )
    )
    return Microdata.from_frame(table, schema)


DATA = stays()
PROTECTED = {
    method: method.protect(DATA, rng=1)
    for method in (
        DateShift(30),
        GlobalRecoding(bins={"born": "year", "came": "month", "left": "quarter"}),
        GlobalRecoding(bins={"born": "20 years"}) + LocalSuppression(2),
        TopBottomCoding(0.1, variables=DATED),
        VariableRemoval(variables=("born",)),
        Sampling(0.5),
    )
}
every_method = pytest.mark.parametrize("cls", [cls for _, cls in METHODS], ids=[name for name, _ in METHODS])
every_measure = pytest.mark.parametrize("cls", [cls for _, cls in MEASURES], ids=[name for name, _ in MEASURES])


@every_method
def test_every_method_masks_dates_or_leaves_them(cls: type[Method]) -> None:
    for method in catalogue.default_grid(cls)[:2]:
        for data in (DATA, with_gaps(DATA), DATA.take(np.arange(1))):
            try:
                masked = method.protect(data, rng=1)
            except SfumatoError as refusal:
                assert cls.__name__ in str(refusal)
                continue
            masked.to_frame()
            if "date" not in cls.about.kinds and cls.about.keeps_records:
                for name in (name for name in DATED if name in masked.schema):
                    assert np.array_equal(masked.columns[name], data.columns[name], equal_nan=True)


@every_method
@pytest.mark.parametrize("check", METHOD_CHECKS, ids=[check.__name__ for check in METHOD_CHECKS])
def test_methods_keep_their_contract_on_dates(cls: type[Method], check: object) -> None:
    if "date" in cls.about.kinds and cls.about.keeps_records:
        check(catalogue.default_grid(cls)[0], stays(200))  # type: ignore[operator]


@every_method
def test_a_date_that_is_asked_for_is_masked_or_refused_as_such(cls: type[Method]) -> None:
    if cls in (Sampling, WeightMasking):  # draws whole records; masks the weight
        return
    method = replace(catalogue.default_grid(cls)[0], variables=("born",))
    try:
        masked = method.protect(DATA, rng=1)
    except NotApplicable as refusal:
        assert "'born' is a date" in str(refusal)
        assert "date" not in cls.about.kinds
        return
    assert "date" in cls.about.kinds
    if "born" in masked.schema:  # at several levels (1970-05, 1970, *) no list puts it in order
        born = masked.schema["born"]
        assert born.kind in (("nominal",) if born.treatment.local else ("date", "ordinal"))


@every_measure
def test_every_measure_reads_dates_or_leaves_them(cls: type[Measure]) -> None:
    for protected in (DATA, *PROTECTED.values()):
        try:
            found = cls().evaluate(DATA, protected, rng=1)
        except SfumatoError as refusal:
            assert cls.__name__ in str(refusal)
            continue
        if "date" not in cls.about.kinds:
            assert not set(DATED) & set(found.by_variable), "dates are not what it compares"


@every_measure
def test_a_table_equal_to_its_original_is_as_good_as_one_without_dates(cls: type[Measure]) -> None:
    """What a measure says of equal tables does not depend on dates being there, if it is a measure of utility."""
    if cls.about.purpose != "utility" or cls.about.random or cls is AverageClassSize:  # which counts all keys there are
        return
    bare = DATA.without(DATED)
    try:
        with_dates, without = (cls().evaluate(data, data, rng=1).value for data in (DATA, bare))
    except SfumatoError:
        return
    assert with_dates == pytest.approx(without, abs=1e-9)


@every_measure
def test_a_measure_that_is_told_a_date_takes_or_refuses_it(cls: type[Measure]) -> None:
    for protected in (DATA, PROTECTED[DateShift(30)]):
        try:
            found = cls(variables=("born",)).evaluate(DATA, protected, rng=1)
        except NotApplicable as refusal:
            assert "date" not in cls.about.kinds or refusal.text
            continue
        except SfumatoError:
            continue
        assert "date" in cls.about.kinds
        assert found.value == found.value
