import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from compare_toys import (
    Broken,
    Closeness,
    Deadly,
    Guess,
    Jitter,
    Loss,
    NotANumber,
    Rows,
    Shift,
    Unfit,
)

from sfumato.compare.experiment import Experiment, grid
from sfumato.compare.results import Results
from sfumato.compare.score import Recipe
from sfumato.compare.seeds import generator
from sfumato.core import Measure
from sfumato.errors import NotApplicable, ParameterError
from sfumato.outcome import Reason, Status
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0], "region": ["n", "s", "n", "s"]}))


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "counts.txt"
    path.touch()
    monkeypatch.setenv("TOY_COUNTS", str(path))
    return path


def counted(path: Path) -> Counter[str]:
    found = Counter(path.read_text().split("\n"))
    del found[""]
    path.write_text("")
    return found


def figures(results: Results) -> dict[str, object]:
    return {row.candidate: (row.means, row.errors, row.values, row.reasons, row.parts) for row in results.rows}


def test_grid_builds_every_combination() -> None:
    assert grid(Shift, by=[1.0, 2.0]) == [Shift(by=1.0), Shift(by=2.0)]
    assert grid(Shift, by=np.array([1.0, 2.0]), variables=("x",)) == [
        Shift(by=1.0, variables=("x",)),
        Shift(by=2.0, variables=("x",)),
    ]
    assert grid(Jitter) == [Jitter()]
    with pytest.raises(ParameterError, match="by lists no value"):
        grid(Shift, by=[])
    with pytest.raises(ParameterError, match="unexpected keyword argument 'to'"):
        grid(Shift, to=[1])


def test_means_and_standard_errors_by_hand() -> None:
    results = Experiment(DATA, grid(Jitter, scale=[1.0, 2.0]), [Loss()], replicates=3, seed=4).run()
    # Jitter adds scale * z, z the first normal of its generator in that replicate: the loss is scale * |z|
    draws = [abs(generator(4, Jitter(), replicate).standard_normal()) for replicate in range(3)]
    mean = sum(draws) / 3
    sd = math.sqrt(sum((draw - mean) ** 2 for draw in draws) / 2)
    row = results.row("Jitter(scale=2.0)")
    assert row.values["Loss()"] == pytest.approx([2 * draw for draw in draws])
    assert row.means["Loss()"] == pytest.approx(2 * mean)
    assert row.errors["Loss()"] == pytest.approx(2 * sd / math.sqrt(3))
    assert row.replicates == 3
    # every parameter value of a method shares the draws
    assert results.row("Jitter()").values["Loss()"] == pytest.approx(draws)
    # the breakdowns are means over the replicates
    assert row.by_variable["Loss()"] == pytest.approx({"x": 2 * mean})
    assert row.parts["Loss()"] == pytest.approx({"half": mean})
    assert row.by_pair["Loss()"] == pytest.approx({("x", "x"): 2 * mean})


def test_adding_a_method_or_a_replicate_changes_no_other_number() -> None:
    alone = Experiment(DATA, [Jitter()], [Loss(), Guess()], replicates=2).run().rows[0]
    among = Experiment(DATA, [Shift(), Jitter(scale=3.0), Jitter()], [Guess(), Closeness(), Loss()], replicates=4).run()
    row = among.row("Jitter()")
    for key in ("Loss()", "Guess()"):
        assert row.values[key][:2] == alone.values[key]
    # every candidate faces the same attack, whatever its parameters
    assert row.values["Guess()"] == among.row("Shift()").values["Guess()"]


def test_what_is_not_random_is_computed_once(counts: Path) -> None:
    results = Experiment(DATA, [Shift(), Jitter()], [Loss(), Guess()], replicates=5).run()
    # Shift once, its loss once; Jitter 5 times and its loss 5 times; the attack 5 times on each
    assert counted(counts) == {"Shift": 1, "Jitter": 5, "Loss": 1 + 5, "Guess": 5 + 5}
    row = results.row("Shift()")
    assert row.values["Loss()"] == (1.0,)
    assert row.errors["Loss()"] == 0.0
    assert len(row.values["Guess()"]) == 5
    assert row.errors["Guess()"] > 0


def test_one_replicate_leaves_the_spread_of_what_is_random_unknown() -> None:
    results = Experiment(DATA, [Shift(), Jitter()], [Loss(), Guess()]).run()
    assert results.row("Shift()").errors["Loss()"] == 0.0
    assert math.isnan(results.row("Shift()").errors["Guess()"])
    assert math.isnan(results.row("Jitter()").errors["Loss()"])
    assert "± ?" in repr(results)


def test_a_candidate_that_fails_becomes_a_row_with_its_reason() -> None:
    results = Experiment(DATA, [Broken(), Unfit(), Shift()], [Loss(), NotANumber()]).run()
    assert str(results.row("Broken()").reasons["Loss()"]) == "failed: ZeroDivisionError: no luck"
    assert str(results.row("Unfit()").reasons["Loss()"]) == "not applicable: Unfit: the table has no moustache"
    assert results.row("Unfit()").means == {}
    assert results.row("Shift()").means == {"Loss()": 1.0}
    assert results.row("Shift()").reasons == {"NotANumber()": Reason(Status.FAILED, "the measure gave no number")}
    assert "no luck" in repr(results)
    assert "no luck" in results._repr_html_()


def test_results_do_not_depend_on_the_workers() -> None:
    experiment = Experiment(
        DATA,
        [*grid(Jitter, scale=[1.0, 2.0]), Shift(), Broken(), Unfit()],
        [Loss(), Guess(), Closeness()],
        replicates=3,
        candidates={"as it is": DATA},
    )
    assert figures(experiment.run(workers=1)) == figures(experiment.run(workers=2))


def test_long_columns_reach_the_workers_whole() -> None:
    data = Microdata.from_frame(pa.table({"x": np.arange(50_000.0)}))  # 400,000 bytes: shared through a memory map
    experiment = Experiment(data, grid(Shift, by=[1.0, 2.5]), [Loss()])
    assert [row.means["Loss()"] for row in experiment.run(workers=2).rows] == [1.0, 2.5]


def test_a_process_that_dies_is_told_and_not_stored(tmp_path: Path) -> None:
    experiment = Experiment(DATA, [Shift(), Deadly()], [Loss()])
    results = experiment.run(workers=2, store=tmp_path / "run.db")
    assert "ended abruptly" in results.row("Deadly()").reasons["Loss()"].text


def test_tables_protected_elsewhere_are_candidates() -> None:
    frame = pd.DataFrame({"x": [2.0, 3.0, 4.0, 5.0], "region": ["n", "s", "n", "s"]})
    results = Experiment(
        DATA,
        measures=[Loss(), Rows()],
        candidates={
            "pandas": frame,
            "polars": pl.from_pandas(frame),
            "ours": Shift().protect(DATA),
            "short": frame[:3],
            "text": frame.assign(x=["1", "2", "3", "four"]),
        },
    ).run()
    assert [results.row(name).means["Loss()"] for name in ("pandas", "polars", "ours")] == [1.0, 1.0, 1.0]
    assert results.row("ours").errors["Loss()"] == 0.0
    assert "3 and 4 records" in results.row("short").reasons["Loss()"].text
    assert results.row("short").means == {"Rows()": 3.0}
    assert "row 4 holds the text 'four'" in results.row("text").reasons["Loss()"].text
    assert results.row("pandas").method is None
    with pytest.raises(NotApplicable, match="text has no table"):
        results.protect("text")


def test_the_schema_of_the_original_holds_for_tables_protected_elsewhere() -> None:
    schema = Schema((Variable("region", kind="nominal", categories=("n", "s", "w")),))
    data = Microdata.from_frame(DATA.to_frame(), schema)
    results = Experiment(data, measures=[Loss()], candidates={"mine": DATA.to_frame()}).run()
    assert results.protect("mine").schema["region"].categories == ("n", "s", "w")


def test_a_candidate_is_made_again_and_its_measurements_are_kept(counts: Path) -> None:
    results = Experiment(DATA, [Jitter(), Shift()], [Loss(), Guess()], replicates=2, seed=9).run()
    change = abs(results.protect("Jitter()").columns["x"] - DATA.columns["x"]).mean()
    assert change == pytest.approx(results.row("Jitter()").values["Loss()"][0])
    counted(counts)
    kept = results.measurement("Shift()", Loss)
    assert kept.by_record is not None
    assert kept.by_record.tolist() == [1.0] * 4
    assert (kept.measure, kept.about, kept.by_pair) == ("Loss()", Loss.about, {("x", "x"): 1.0})
    assert results.measurement("Jitter()", "Guess").value == results.row("Jitter()").values["Guess()"][0]
    assert not counted(counts)
    with pytest.raises(ParameterError, match=r"Closeness\(\) was not measured in this experiment; there are Loss\(\)"):
        results.measurement("Shift()", Closeness())
    with pytest.raises(NotApplicable, match=r"Unfit\(\) has no Loss\(\): not applicable: Unfit: the table has no mou"):
        Experiment(DATA, [Unfit()], [Loss()]).run().measurement("Unfit()", Loss)


def test_keys_are_found_by_instance_class_name_and_repr() -> None:
    results = Experiment(DATA, [Shift()], [Loss(), Guess(known=1), Guess(known=2)]).run()
    assert {results.key(which) for which in (Loss(), Loss, "Loss", "Loss()")} == {"Loss()"}
    assert results.key(Guess(known=2)) == "Guess(known=2)"
    assert results.key("Guess()") == "Guess()"  # known=1 is the default
    assert results.key(Guess) == "Guess()"  # of several the name alone is that by defaults
    others = Experiment(DATA, [Shift()], [Loss(), Guess(known=2), Guess(known=3)]).run()
    with pytest.raises(
        ParameterError, match=r"several measures are called Guess; there are Loss\(\), Guess\(known=2\)"
    ):
        others.key(Guess)
    with pytest.raises(ParameterError, match=r"there is no figure Closeness; there are Loss\(\)"):
        results.key(Closeness)
    with pytest.raises(ParameterError, match=r"no figure Guess\(known=3\)"):
        results.key(Guess(known=3))
    with pytest.raises(ParameterError, match=r"no candidate Slow\(\); there are Shift\(\)"):
        results.row("Slow()")


def test_results_become_frames_and_records() -> None:
    results = Experiment(DATA, [Shift(), Jitter(), Unfit()], [Loss(), Closeness()]).run()
    pandas = results.to_frame("pandas")
    assert list(pandas.columns) == [
        "candidate",
        "replicates",
        "Loss()",
        "Loss() error",
        "Closeness()",
        "Closeness() error",
        "seconds",
        "reasons",
    ]
    assert pandas["Loss()"][0] == 1.0
    assert pandas["Loss() error"].isna().tolist() == [False, True, True]
    assert results.to_frame("polars")["candidate"].to_list() == ["Shift()", "Jitter()", "Unfit()"]
    assert isinstance(results.to_frame(), pa.Table)  # the kind the original came as
    records = json.loads(json.dumps(results.to_records(), allow_nan=False))
    assert records[0]["figures"]["Loss()"]["mean"] == 1.0
    assert records[1]["figures"]["Loss()"]["error"] is None
    assert records[0]["figures"]["Loss()"]["by_pair"] == [["x", "x", 1.0]]
    assert "moustache" in records[2]["reasons"]["Loss()"]
    assert records[0]["notes"] == ["shifted x", "Loss(): measured x"]


def test_results_print_as_a_ranked_table() -> None:
    results = Experiment(DATA, [Shift(by=4.0), Shift(by=2.0)], [Loss(), Closeness()]).run()
    lines = repr(results).splitlines()
    assert lines[0] == "2 candidates, 1 replicate; best Loss first"
    assert lines[1].split() == ["candidate", "Loss", "Closeness"]
    assert lines[2].split() == ["Shift(by=2.0)", "2", "33.33", "%"]
    assert "<td>Shift(by=4.0)</td>" in results._repr_html_()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": [Shift], "measures": [Loss()]}, r"methods must be instances; write Shift\(...\)"),
        ({"methods": [Loss()], "measures": [Loss()]}, "methods must each be a Method"),
        ({"methods": [Shift(), Shift(by=1.0)], "measures": [Loss()]}, r"names Shift\(\) more than once"),
        ({"methods": [Shift()], "measures": []}, "there is no measure"),
        ({"methods": [], "measures": [Loss()]}, "nothing to compare"),
        ({"methods": [Shift()], "measures": [Loss()], "replicates": 0}, "replicates must be a whole number"),
        ({"methods": [Shift()], "measures": [Loss()], "seed": -1}, "seed must be a whole number"),
        ({"methods": [Shift()], "measures": [Loss()], "candidates": {"Shift()": DATA}}, "a name of its own"),
        ({"methods": [Shift()], "measures": [Recipe("mine", ((Loss(), 1.0),))]}, r"results.with_score"),
    ],
)
def test_experiments_that_cannot_be_right_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Experiment(DATA, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_workers_must_be_a_positive_number(workers: int) -> None:
    with pytest.raises(ParameterError, match="workers must be a whole number of at least 1"):
        Experiment(DATA, [Shift()], [Loss()]).run(workers=workers)


def test_a_class_that_cannot_travel_is_refused_with_the_remedy() -> None:
    class Trapped(Shift):
        def __reduce__(self) -> tuple[object, ...]:
            raise TypeError("cannot pickle me")

    with pytest.raises(ParameterError, match=r"cannot pickle me.*run with workers=1"):
        Experiment(DATA, [Trapped(), Shift()], [Loss()]).run(workers=2)


def test_measures_differ_from_each_other_in_their_draws() -> None:
    class Other(Guess):
        pass

    measures: list[Measure] = [Guess(), Other()]
    row = Experiment(DATA, [Shift()], measures, seed=1).run().rows[0]
    assert row.values["Guess()"] != row.values["Other()"]


def test_progress_is_silent_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    Experiment(DATA, [Shift()], [Loss()]).run(progress=True)
    assert capfd.readouterr() == ("", "")


def test_progress_shows_what_runs_and_what_is_left(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.delenv("NO_COLOR", raising=False)
    Experiment(DATA, [Shift()], [Loss()]).run(store=tmp_path / "run.db")
    Experiment(DATA, [Shift(), Jitter()], [Loss()]).run(progress=True, store=tmp_path / "run.db")
    shown = capfd.readouterr().err
    assert "1 figure is in the store already" in shown
    assert "Jitter()" in shown
    assert "1/1" in shown
