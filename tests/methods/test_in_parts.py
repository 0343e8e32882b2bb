"""Methods in parts: the protected table does not depend on how it was cut, nor on where it was computed."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import sfumato
from scanned import scanned
from sfumato import Engine, FileError, Method, Microdata, NotApplicable, ParameterError, catalogue
from sfumato.data.draws import Draws
from tables import persons

METHODS: list[Method] = [
    sfumato.Noise(0.3),
    sfumato.Rounding(scale=0.5),
    sfumato.Rounding({"income": 100.0}, random=True),
    sfumato.RankSwapping(0.1),
    sfumato.IndividualRanking(3) + sfumato.RankSwapping(0.2, variables=("income",)),
    sfumato.CorrelatedNoise(0.2),
    sfumato.KimNoise(0.5),
    sfumato.TopBottomCoding(0.05),
    sfumato.GlobalRecoding(groups=4, rare=0.1),
    sfumato.GlobalRecoding(bins={"age": 10}) + sfumato.PRAM(0.9, variables=("region",)),
    sfumato.PRAM(0.8),
    sfumato.PRAM(0.7, invariant=True, variables=("region", "health")),
    sfumato.VariableRemoval(variables=("sex",)),
    sfumato.VariableRemoval() + sfumato.PRAM(0.9) + sfumato.Noise(0.1, variables=("income",)),
]


def table(records: int) -> Microdata:
    """Persons with gaps, and without the household, whose members may lie in several parts."""
    from test_contract_parts import with_gaps

    return with_gaps(persons(records).without(["household"]), 0.05, seed=3)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_no_cut_changes_the_table(method: Method, tmp_path: Path) -> None:
    data, found = table(200), []
    for number in (1, 3, 17):
        parts = scanned(data, tmp_path / f"original-{number}", number)
        with Engine("here"):
            after = method.protect(parts, rng=5, folder=tmp_path / f"protected-{number}")
        assert len(after.parts) == number and after.matched
        found.append(after.loaded())
    for other in found[1:]:
        assert other.schema == found[0].schema
        for name in other.names:
            np.testing.assert_array_equal(other.columns[name], found[0].columns[name], err_msg=name)
    for name in found[0].names:  # what was missing stays missing
        assert (data.missing(name) <= found[0].missing(name)).all()


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
def test_variables_masked_whole_are_those_in_memory(method: Method, tmp_path: Path) -> None:
    data = table(200)
    whole = method.protect(data, rng=9)
    after = method.protect(scanned(data, tmp_path / "original", 5), rng=9, folder=tmp_path / "protected").loaded()
    for name in whole.names:
        np.testing.assert_array_equal(after.columns[name], whole.columns[name], err_msg=name)


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
    homes = scanned(persons(60), tmp_path / "homes", 2)
    with pytest.raises(NotApplicable, match="Noise: the members of a household 'household' may lie in several parts"):
        sfumato.Noise(0.1).protect(homes, folder=tmp_path / "b")
    with pytest.raises(NotApplicable, match="TopBottomCoding: the mean beyond a limit"):
        sfumato.TopBottomCoding(0.1, by="mean").protect(parts, folder=tmp_path / "d")
    with pytest.raises(NotApplicable, match="PRAM: strata"):
        sfumato.PRAM(0.8, strata=("sex",)).protect(parts, folder=tmp_path / "c")


def test_the_page_names_all_methods_that_do_it() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "larger-than-memory.md").read_text(encoding="utf-8")
    told = page.partition("## Protect")[2].partition("To mask a table in parts")[0]
    for name, cls in catalogue.methods().items():
        assert (f"`{name}`" in told) == (cls.learn is not Method.learn), name
