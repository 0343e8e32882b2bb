"""Methods in parts: the protected table does not depend on how it was cut, nor on where it was computed."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import stats

import sfumato
from methods_in_parts import METHODS, table
from scanned import scanned
from sfumato import Engine, FileError, Method, Microdata, NotApplicable, ParameterError, catalogue
from sfumato.methods.pram import PRAMInParts
from sfumato.pair import Half, masking
from sfumato.pair.sorting import BYTES, SHARE
from sfumato.table.draws import Draws
from sfumato.table.formats.parquet import write_parquet


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_no_cut_changes_the_table(method: Method, tmp_path: Path) -> None:
    data, found = table(200), []
    for number in (1, 3, 17):
        parts = scanned(data, tmp_path / f"original-{number}", number)
        with Engine("here"):
            after = method.protect(parts, rng=5, folder=tmp_path / f"protected-{number}")
        assert after.matched == (method.about.keeps_records) and len(after.parts) == number
        found.append(after.loaded())
    for other in found[1:]:
        assert other.schema == found[0].schema
        for name in other.names:
            np.testing.assert_array_equal(other.columns[name], found[0].columns[name], err_msg=name)
    for name in found[0].names if found[0].matched else ():  # what was missing stays missing
        assert (data.missing(name) <= found[0].missing(name)).all()


@pytest.mark.parametrize(
    "method",
    [
        sfumato.Noise(0.3),
        sfumato.IndividualRanking(3) + sfumato.CorrelatedNoise(0.2),
        sfumato.Sampling(0.6) + sfumato.Noise(0.1),
        sfumato.Rounding({"income": 100.0}, random=True),
        sfumato.MDAV(3).within("region"),
        sfumato.PRAM(0.8),
    ],
    ids=repr,
)
def test_no_cut_changes_a_table_at_the_decimals_of_the_original(method: Method, tmp_path: Path) -> None:
    # the one value with three decimals lies in one part alone, whatever the cut
    data, found = table(200), []
    income = np.round(data.columns["income"], 2)
    income[150] = 1234.567
    data = data.replace({"income": income}, treatment=sfumato.Treatment())
    for number in (1, 3, 17):
        parts = scanned(data, tmp_path / f"original-{number}", number)
        with Engine("here"):
            after = method.protect(parts, rng=5, folder=tmp_path / f"protected-{number}", rounded=True)
            if number == 3:
                exact = method.protect(parts, rng=5, folder=tmp_path / "exact").loaded()
        found.append(after.loaded())
    for other in found[1:]:
        assert other.schema == found[0].schema and other.notes == found[0].notes
        for name in other.names:
            np.testing.assert_array_equal(other.columns[name], found[0].columns[name], err_msg=name)
    for name, decimals in (("income", 3), ("age", 0)):
        made = exact.columns[name]
        wanted = np.round(made, decimals) if exact.schema[name].quantitative else made
        np.testing.assert_array_equal(found[0].columns[name], wanted, err_msg=name)


def test_what_draws_nothing_is_rounded_alike_in_memory_and_in_parts(tmp_path: Path) -> None:
    data = Microdata.from_arrow(table(200).to_arrow().select(["age", "income"]), sfumato.table.frames.Origin())
    method = sfumato.IndividualRanking(3)
    whole = method.protect(data, rounded=True)
    with Engine("here"):
        parts = method.protect(scanned(data, tmp_path / "original", 4), folder=tmp_path / "made", rounded=True)
    np.testing.assert_array_equal(whole.columns["age"], parts.loaded().columns["age"])
    assert (np.nan_to_num(whole.columns["age"]) % 1 == 0).all()


def test_a_variable_masked_before_and_not_now_comes_back_digit_by_digit(tmp_path: Path) -> None:
    pay = pa.array([Decimal("1234567890123456.789"), Decimal("2.5")] * 20, pa.decimal128(38, 3))
    (tmp_path / "original").mkdir()
    parquet.write_table(pa.table({"pay": pay, "age": list(range(40))}), tmp_path / "original" / "a.parquet")
    parquet.write_table(pa.table({"pay": pay, "age": list(range(40))}), tmp_path / "original" / "b.parquet")
    noised = sfumato.Treatment(perturbed=True)
    schema = sfumato.Schema((sfumato.Variable("pay", treatment=noised), sfumato.Variable("age")))
    parts = sfumato.scan(tmp_path / "original", schema)
    with Engine("here"):
        sfumato.Noise(0.5, variables=("age",)).protect(parts, rng=1, folder=tmp_path / "made", rounded=True)
    made = parquet.read_table(tmp_path / "made")
    assert made["pay"].to_pylist() == pay.to_pylist() * 2 and made["age"].type == pa.int64()


def test_processes_write_the_same(tmp_path: Path) -> None:
    parts = scanned(table(200), tmp_path / "original", 4)
    method = sfumato.Noise(0.3)
    with Engine("here"):
        one = method.protect(parts, rng=5, folder=tmp_path / "here").loaded()
    with Engine("local", processes=2):
        two = method.protect(parts, rng=5, folder=tmp_path / "local").loaded()
    np.testing.assert_array_equal(one.columns["income"], two.columns["income"])
    assert (tmp_path / "local").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "method",
    [
        sfumato.Rounding(scale=0.5),
        sfumato.Rounding(10),
        sfumato.VariableRemoval(),
        sfumato.GlobalRecoding(groups=4, rare=0.1),
        sfumato.GlobalRecoding(groups=3, by="width", variables=("income", "education")),
        sfumato.GlobalRecoding(bins={"age": [18, 65]}, map={"education": {"primary": "school", "secondary": "school"}}),
        sfumato.TopBottomCoding(0.05),
        sfumato.TopBottomCoding(top={"income": 2000.0, "education": "secondary"}),
        sfumato.TopBottomCoding({"education": 0.2, "age": 0.1}, ends="top"),
    ],
    ids=repr,
)
def test_without_chance_it_is_the_table_in_memory(method: Method, tmp_path: Path) -> None:
    data = table(200)
    whole = method.protect(data)
    after = method.protect(scanned(data, tmp_path / "original", 5), folder=tmp_path / "protected").loaded()
    assert after.schema == whole.schema
    for name in whole.names:
        np.testing.assert_array_equal(after.columns[name], whole.columns[name], err_msg=name)


@pytest.mark.parametrize(
    "method",
    [
        sfumato.RankSwapping(0.1),
        sfumato.GroupedSwapping(0.05),
        sfumato.IndividualRanking(3),
        sfumato.GroupedMicroaggregation(0.05),
        sfumato.Resampling(3),
        sfumato.DistributionDistortion(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("held", [7, 100_000])
def test_variables_masked_by_rank_are_those_in_memory(method: Method, held: int, tmp_path: Path) -> None:
    data = table(200)
    whole = method.protect(data, rng=9)
    with Engine("here") as engine:
        engine.memory = SHARE * BYTES * held  # so many values are held at a time
        after = method.protect(scanned(data, tmp_path / "original", 5), rng=9, folder=tmp_path / "protected").loaded()
    for name in whole.names:
        np.testing.assert_array_equal(after.columns[name], whole.columns[name], err_msg=name)


def test_what_cannot_be_masked_by_rank_is_refused_by_its_name(tmp_path: Path) -> None:
    data = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0], "y": pa.array([None] * 3, pa.float64())}))
    parts = scanned(data, tmp_path / "original", 3)
    with pytest.raises(NotApplicable, match="RankSwapping: variable 'y': every value is missing"):
        sfumato.RankSwapping(0.5, variables=("y",)).protect(parts, folder=tmp_path / "a")
    with pytest.raises(NotApplicable, match=r"RankSwapping: variable 'x': p=0\.2 of 3 values is less than one rank"):
        sfumato.RankSwapping(0.2, variables=("x",)).protect(parts, folder=tmp_path / "a")
    with pytest.raises(NotApplicable, match="IndividualRanking: variable 'x': 3 values present; groups of k=4"):
        sfumato.IndividualRanking(4, variables=("x",)).protect(parts, folder=tmp_path / "a")


def test_noise_is_as_large_as_it_says(tmp_path: Path) -> None:
    data = table(20_000)
    noisy = sfumato.Noise(0.3, variables=("income",)).protect(
        scanned(data, tmp_path / "original", 3), rng=2, folder=tmp_path / "protected"
    )
    income = data.columns["income"]
    moved = (noisy.loaded().columns["income"] - income)[~np.isnan(income)] / np.nanstd(income, ddof=1) / 0.3
    assert stats.kstest(moved, "norm").pvalue > 0.001
    assert noisy.schema["income"].treatment.perturbed


@pytest.mark.parametrize(("method", "grows"), [(sfumato.KimNoise(0.5), 1.0), (sfumato.CorrelatedNoise(0.5), 1.5)])
def test_correlated_noise_keeps_what_it_says(method: Method, grows: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(size=20_000)
    values = np.column_stack([base, 10 * base + 5 * rng.normal(size=20_000), rng.normal(size=20_000)]) + 3
    data = Microdata.from_frame(pa.table(dict(zip("abc", values.T, strict=True))))
    after = method.protect(scanned(data, tmp_path / "original", 4), rng=1, folder=tmp_path / "protected").loaded()
    masked = after.numeric()
    before, found = np.cov(values, rowvar=False), np.cov(masked, rowvar=False)
    spread = np.sqrt(np.diag(before))
    np.testing.assert_allclose(found / np.outer(spread, spread), grows * before / np.outer(spread, spread), atol=0.05)
    np.testing.assert_allclose(masked.mean(axis=0), values.mean(axis=0), atol=0.04 * spread.max())
    assert np.abs(masked - values).min(axis=0).max() < 1 < np.abs(masked - values).max()


def test_pram_keeps_what_it_says(tmp_path: Path) -> None:
    data = table(20_000)
    after = sfumato.PRAM(0.8, variables=("region",)).protect(
        scanned(data, tmp_path / "original", 3), rng=2, folder=tmp_path / "protected"
    )
    column, published = data.columns["region"], after.loaded().columns["region"]
    stayed = (column == published)[column >= 0]
    assert abs(stayed.mean() - 0.8) < 4 * np.sqrt(0.16 / len(stayed))


@pytest.mark.parametrize("invariant", [False, True])
def test_pram_in_strata_has_the_matrices_of_memory(invariant: bool, tmp_path: Path) -> None:
    data = table(300)
    method = sfumato.PRAM(0.7, strata=("sex",), variables=("region", "health"), invariant=invariant)
    half = Half.of(scanned(data, tmp_path / "original", 3))
    learned = method.learn(half, Draws(1, "0 PRAM"))
    assert isinstance(learned, PRAMInParts)
    for name, transitions in method.transitions(data).items():
        known = {one.stratum: one for one in transitions}
        for place, made in enumerate(learned.matrices[name]):
            assert made is not None
            whole = known[learned.strata.named.spelled(place)]
            assert tuple(half.schema[name].categories[code] for code in made[0]) == whole.categories
            np.testing.assert_allclose(made[1], whole.matrix, rtol=1e-10, atol=1e-15)


def test_synthesis_has_the_moments_of_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(size=500)
    columns = {"a": base + 3, "b": 1e6 * base + 1e5 * rng.gamma(2.0, size=500), "c": rng.gamma(2.0, size=500)}
    data = Microdata.from_frame(pa.table({**columns, "same": np.full(500, 0.1)}))
    after = sfumato.NormalSynthesis().protect(scanned(data, tmp_path / "o", 4), rng=1, folder=tmp_path / "p").loaded()
    before, found = (one.numeric(("a", "b", "c")) for one in (data, after))
    np.testing.assert_allclose(found.mean(axis=0), before.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(np.cov(found.T), np.cov(before.T), rtol=1e-9)
    assert (after.columns["same"] == 0.1).all()
    assert stats.kstest((found[:, 2] - found[:, 2].mean()) / found[:, 2].std(), "norm").pvalue > 0.001
    assert abs(np.corrcoef(before[:, 0], found[:, 0])[0, 1]) < 0.2  # row i has nothing to do with row i


def test_a_sample_is_as_large_as_it_says_and_stands_for_all(tmp_path: Path) -> None:
    data = table(1000)
    fractions = {"north": 0.5, "south": 0.1, "east": 1.0, "west": 0.01, None: 0.5}
    strata = data.columns["region"]
    named = {data.schema["region"].categories[code] if code >= 0 else None for code in strata}
    method = sfumato.Sampling({name: fractions.get(name, 0.25) for name in named}, strata=("region",))
    made = method.protect(scanned(data, tmp_path / "original", 3), rng=2, folder=tmp_path / "protected")
    drawn = made.loaded()
    assert drawn.drawn is not None and not made.matched
    same = [name for name in data.names if name != "weight"]
    whole = data.take(drawn.drawn)
    assert drawn.to_arrow().select(same).equals(whole.to_arrow().select(same))  # the records as they are
    assert (np.diff(drawn.drawn) > 0).all()
    for code in np.unique(strata):
        fraction = fractions.get(data.schema["region"].categories[code] if code >= 0 else None, 0.25)
        size, there = int((strata == code).sum()), drawn.columns["region"] == code
        count = max(1, int(fraction * size + 0.5 + 1e-9))
        assert there.sum() == count
        np.testing.assert_allclose(drawn.weights()[there], whole.weights()[there] * size / count, rtol=1e-15)


def test_every_record_has_the_same_chance_to_be_drawn(tmp_path: Path) -> None:
    parts = scanned(table(40), tmp_path / "original", 4)
    half, times = Half.of(parts), np.zeros(40)
    for seed in range(100):
        draws = Draws(seed, "0 Sampling")
        masking = sfumato.Sampling(0.25).learn(half, draws)
        for made in masking.applied(parts, draws, "").parts:
            assert made.drawn is not None
            times[made.drawn] += 1
    assert times.sum() == 100 * 10
    # each of 40 records is in with chance 1/4 in each of 100 samples: chi-square with 39 degrees of freedom
    assert stats.chi2.sf(((times - 25) ** 2 / (100 * 0.25 * 0.75)).sum() * 39 / 40, 39) > 0.001


def test_draws_are_uniform_and_of_their_own() -> None:
    draws = Draws(11, "0 Noise")
    whole = draws.uniform("income", 0, 50_000)
    for first, count in ((1, 7), (4, 4), (4099, 1000)):
        np.testing.assert_array_equal(draws.uniform("income", first, count), whole[first : first + count])
    assert stats.kstest(whole, "uniform").pvalue > 0.001
    others = (draws.uniform("age", 0, 50_000), Draws(12, "0 Noise").uniform("income", 0, 50_000))
    for other in others:
        assert abs(np.corrcoef(whole, other)[0, 1]) < 0.03
    assert np.isfinite(draws.normal("income", 0, 50_000)).all()


def test_normal_draws_are_finite_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.array([0.0, 1 - 2.0**-53])
    monkeypatch.setattr(Draws, "uniform", lambda *_: ends)
    low, high = Draws(11, "0 Noise").normal("income", 0, 2)
    assert low == pytest.approx(stats.norm.ppf(2.0**-54)) and high == pytest.approx(stats.norm.isf(2.0**-53))


def test_a_table_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []

    def full(table: Any, out: Any) -> None:
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(out)
        write_parquet(table, out)

    monkeypatch.setattr(masking, "write_parquet", full)
    parts = scanned(table(60), tmp_path / "original", 5)
    with Engine("here"), pytest.raises(FileError, match="the disk is full"):
        sfumato.Noise(0.1).protect(parts, folder=tmp_path / "made")
    assert len(written) == 2 and [path.name for path in tmp_path.iterdir()] == ["original"]
    monkeypatch.undo()
    assert len(sfumato.Noise(0.1).protect(parts, folder=tmp_path / "made")) == 60


def test_refusals(tmp_path: Path) -> None:
    data = table(60)
    parts = scanned(data, tmp_path / "original", 2)
    with pytest.raises(NotApplicable, match="MDAV: it needs all records at once"):
        sfumato.MDAV(3).protect(parts, folder=tmp_path / "a")
    with pytest.raises(ParameterError, match="name an empty folder"):
        sfumato.Noise(0.1).protect(parts)
    with pytest.raises(ParameterError, match="a folder is for tables in parts"):
        sfumato.Noise(0.1).protect(data, folder=tmp_path / "a")  # type: ignore[call-overload]
    with pytest.raises(FileError, match="is not empty"):
        sfumato.Noise(0.1).protect(parts, folder=tmp_path / "original")
    with pytest.raises(NotApplicable, match="TopBottomCoding: the mean beyond a limit"):
        sfumato.TopBottomCoding(0.1, by="mean").protect(parts, folder=tmp_path / "d")


def test_the_page_names_all_methods_that_do_it() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "larger-than-memory.md").read_text(encoding="utf-8")
    told = page.partition("## Protect")[2].partition("To mask a table in parts")[0]
    for name, cls in catalogue.methods().items():
        assert (f"`{name}`" in told) == (cls.learn is not Method.learn), name
