"""Experiments and searches over a table in parts: the figures of all records, the records of a sample."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from register import KEYS, register
from scanned import scanned
from sfumato import Engine, Experiment, Microdata, TableInParts
from sfumato.compare import results
from sfumato.errors import DataError, FileError, ParameterError
from sfumato.pair.sample import drawn_records, sampled
from sfumato.report.summarise import summarise
from sfumato.risk import distance_linkage

CERTAIN = (
    sfumato.GlobalRecoding(bins={"age": 20}),
    sfumato.Rounding(100, variables=("earnings", "wealth")),
    sfumato.GlobalRecoding(bins={"age": 10}) + sfumato.TopBottomCoding(0.02, variables=("wealth",)),
)
MEASURES = (sfumato.KAnonymity(3), sfumato.IndividualRisk(), sfumato.InformationLoss())


@pytest.fixture(scope="module")
def survey() -> Microdata:
    return register()


@pytest.fixture(scope="module")
def table(survey: Microdata, tmp_path_factory: pytest.TempPathFactory) -> TableInParts:
    return scanned(survey, tmp_path_factory.mktemp("parts") / "register", 3)


def test_figures_are_those_of_the_same_records_in_memory(survey: Microdata, table: TableInParts) -> None:
    with Engine("here"):
        found = Experiment(table, CERTAIN, MEASURES, seed=1).run(original=True)
    there = Experiment(survey, CERTAIN, MEASURES, seed=1).run(original=True)
    for row, other in zip(found.rows, there.rows, strict=True):
        assert row.candidate == other.candidate and row.reasons == other.reasons == {}
        assert row.means == pytest.approx(other.means, rel=1e-12)
    assert found.unprotected is not None and there.unprotected is not None
    assert found.unprotected.means == pytest.approx(there.unprotected.means, rel=1e-12)
    assert found.table is table and found.sampled == 0


def test_random_methods_do_not_depend_on_the_cut(survey: Microdata, table: TableInParts, tmp_path: Path) -> None:
    methods, other = (sfumato.Noise(0.1, variables=("wealth",)), sfumato.PRAM(0.8)), scanned(survey, tmp_path / "x", 5)
    with Engine("here"):
        runs = [Experiment(cut, methods, MEASURES[2:], seed=7, replicates=2).run() for cut in (table, other)]
    for row, again in zip(runs[0].rows, runs[1].rows, strict=True):
        assert row.values[repr(MEASURES[2])] == pytest.approx(again.values[repr(MEASURES[2])], rel=1e-12)
    assert len(set(runs[0].rows[0].values[repr(MEASURES[2])])) == 2


def test_what_a_sample_leaves_open_is_part_of_the_error(table: TableInParts, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (distance_linkage, results):
        monkeypatch.setattr(module, "SIZE", 200)
    link, loss = sfumato.DistanceLinkage(), sfumato.InformationLoss()
    with Engine("here"):
        found = Experiment(table, CERTAIN[1:2], (link, loss), seed=1, sample=1000).run(original=True)
        row = found.rows[0]
        error = found.measurement(row.candidate, link).parts["standard error"]
        assert row.errors[repr(link)] == error > 0 and row.errors[repr(loss)] == 0
        near = found.choose(utility=loss, at_most={link: row.means[repr(link)] + error})
        assert near.unsure == (row.candidate,) and "is not sure" in near.sentence
        assert not found.choose(utility=loss, at_most={link: min(row.means[repr(link)] + 3 * error, 1)}).unsure
        summary = summarise(found, risk=link, utility=loss, at_most={link: row.means[repr(link)] + error})
    basis = summary.verdict.basis
    assert f"200 of {len(table):,} records, drawn at random, were looked for, standard error" in basis
    assert f"Figures are of all {len(table):,} records, but for what is estimated" in basis
    assert "±" in next(line for line in summary.candidates if line.chosen).figures[repr(link)].text
    assert any("Look for more records" in said for said in summary.verdict.warnings)


def test_what_refuses_parts_is_a_row_with_its_reason(table: TableInParts) -> None:
    with Engine("here"):
        found = Experiment(table, (sfumato.LocalRecoding(3), CERTAIN[0]), MEASURES[:1], seed=1).run()
    assert "all records at once" in str(found.rows[0].reasons[repr(MEASURES[0])])
    assert not found.rows[1].reasons


def test_the_sample_is_of_the_same_records_whatever_the_cut(
    survey: Microdata, table: TableInParts, tmp_path: Path
) -> None:
    rows = drawn_records(len(survey), 500)
    assert len(set(rows.tolist())) == 500 and (np.diff(rows) > 0).all()
    for cut in (table, scanned(survey, tmp_path / "x", 7)):
        drawn = sampled(cut, 500)
        assert len(drawn) == 500
        for name in survey.names:
            np.testing.assert_array_equal(drawn.columns[name], survey.columns[name][rows])


def test_each_record_is_drawn_alike() -> None:
    """Over sizes of table, the middle record is drawn as often as its share: 0.1 of 400, sd 0.015."""
    often = np.mean([records // 2 in drawn_records(records, records // 10) for records in range(1000, 1400)])
    assert abs(often - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 400)


def test_a_candidate_is_looked_at_in_the_sample(survey: Microdata, table: TableInParts) -> None:
    with Engine("here"):
        found = Experiment(table, CERTAIN[1:2], MEASURES[2:], seed=1, sample=400).run()
        made = found.protect(repr(CERTAIN[1]))
        whole = found.protected(repr(CERTAIN[1])).loaded()
    rows = drawn_records(len(survey), 400)
    assert found.sampled == len(found.original) == len(made) == 400 and len(whole) == len(survey)
    for name in survey.names:
        np.testing.assert_array_equal(made.columns[name], whole.columns[name][rows])
        np.testing.assert_array_equal(found.original.columns[name], survey.columns[name][rows])


def test_a_stopped_run_goes_on(table: TableInParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, summaries = tmp_path / "results.sqlite", tmp_path / "summaries.sqlite"
    experiment = Experiment(table, CERTAIN, MEASURES, seed=1)

    def stopping(done: int, total: int) -> None:
        counted.append(done)
        if len(counted) == 20:
            raise KeyboardInterrupt

    counted: list[int] = []
    with (
        Engine("here", store=summaries, progress=stopping),
        pytest.raises(KeyboardInterrupt, match="what was finished"),
    ):
        experiment.run(store=store)
    with Engine("here", store=summaries) as engine:
        found = experiment.run(store=store)
        rest = engine.computed
    with Engine("here") as engine:
        fresh = experiment.run()
        assert rest <= engine.computed - 19  # what was computed before is not computed again
    for row, other in zip(found.rows, fresh.rows, strict=True):
        assert row.means == other.means


def test_a_part_that_changes_ends_the_run(survey: Microdata, tmp_path: Path) -> None:
    """It is nothing about a candidate: no figure of it is kept as failed."""
    import pyarrow.parquet as pq

    table = scanned(survey, tmp_path / "register", 3)
    place = tmp_path / "register" / "part-001.parquet"
    pq.write_table(pq.read_table(place).slice(1), place)
    with Engine("here"), pytest.raises(FileError, match="has changed"):
        Experiment(table, CERTAIN, MEASURES, seed=1).run()


def test_candidates_protected_elsewhere_are_in_parts_too(
    survey: Microdata, table: TableInParts, tmp_path: Path
) -> None:
    masked = CERTAIN[1].protect(survey)
    other = scanned(masked, tmp_path / "other", 4)  # cut otherwise
    with Engine("here"):
        found = Experiment(table, measures=MEASURES, seed=1, candidates={"other": other, "wrong": masked}).run()
    for measure in MEASURES:
        assert found.row("other").means[repr(measure)] == pytest.approx(measure.evaluate(survey, masked).value)
    assert "must be too" in str(found.row("wrong").reasons[repr(MEASURES[0])])


def test_a_sample_needs_a_size(table: TableInParts) -> None:
    for size in (0, True, 2.5):
        with pytest.raises(ParameterError, match="sample must be"):
            Experiment(table, CERTAIN, MEASURES, sample=size)  # type: ignore[arg-type]


def test_a_parameter_is_tuned_over_parts_as_in_memory(survey: Microdata, table: TableInParts) -> None:
    asked: dict[str, Any] = {"over": "groups", "between": (2, 12), "utility": "InformationLoss", "budget": 12}
    wish: dict[str, Any] = {"at_most": {"KAnonymity": 0.4}, "seed": 3}
    method = sfumato.GlobalRecoding(3, variables=("age",))
    with Engine("here"):
        found = sfumato.tune(method, table, **asked, **wish)
    there = sfumato.tune(method, survey, **asked, **wish)
    assert (found.value, found.keeps, found.tables) == (there.value, there.keeps, there.tables)


def test_files_of_a_candidate_go_with_it(table: TableInParts, tmp_path: Path) -> None:
    method = sfumato.RankSwapping(0.1, variables=("wealth",))  # it puts whole variables into files
    with Engine("here", folder=tmp_path / "aside") as engine:
        Experiment(table, (method,), MEASURES[2:], seed=1, replicates=3).run()
        assert not list(engine.folder.rglob("masked-*"))


def test_frames_are_not_taken_for_parts(table: TableInParts) -> None:
    with pytest.raises(DataError):
        Microdata.from_frame(table)
    assert set(KEYS) <= set(table.schema.names)
