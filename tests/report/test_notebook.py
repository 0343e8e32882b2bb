"""Pictures and tables for a notebook."""

from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato import DistanceLinkage, Experiment, InformationLoss, Measurement, ParameterError, RankSwapping, Results
from tables import incomes


@pytest.fixture(scope="module")
def results() -> Results:
    methods = sfumato.grid(RankSwapping, p=[0.05, 0.2])
    return Experiment(incomes(), methods, [InformationLoss(), DistanceLinkage(known=2)]).run()


def marks(spec: object) -> set[str]:
    """Every kind of mark in a chart."""
    if isinstance(spec, dict):
        mark = spec.get("mark")
        own = {mark if isinstance(mark, str) else mark["type"]} if isinstance(mark, str | dict) else set()
        return own.union(*(marks(value) for value in spec.values()))
    return set().union(*(marks(value) for value in spec)) if isinstance(spec, list) else set()


def test_the_map_takes_the_first_risk_and_utility_unless_told(results: Results) -> None:
    spec = sfumato.plot(results).to_dict()
    assert "DistanceLinkage" in str(spec) or "linkage" in str(spec)
    assert "point" in marks(spec)
    bounded = sfumato.plot(
        results, risk="DistanceLinkage", utility="InformationLoss", at_most={"DistanceLinkage": 0.9}
    ).to_dict()
    assert "rule" in marks(bounded)


def test_a_map_without_risk_is_refused() -> None:
    alone = Experiment(incomes(), [RankSwapping(0.1)], [InformationLoss()]).run()
    with pytest.raises(ParameterError, match="needs a measure of risk"):
        sfumato.plot(alone)


def test_a_measurement_draws_what_it_has(results: Results) -> None:
    data, masked = incomes(), RankSwapping(0.1).protect(incomes(), rng=1)
    assert marks(sfumato.plot(InformationLoss().evaluate(data, masked)).to_dict()) == {"bar"}
    assert marks(sfumato.plot(DistanceLinkage(known=2).evaluate(data, masked)).to_dict()) & {"rect", "bar"}
    bare = Measurement(measure="M()", about=InformationLoss.about, value=1.0)
    with pytest.raises(ParameterError, match="nothing to draw"):
        sfumato.plot(bare)
    with pytest.raises(ParameterError, match="a measurement or results are needed"):
        sfumato.plot("results")  # type: ignore[arg-type]


def test_every_result_shows_itself_as_html_and_no_name_breaks_it(results: Results) -> None:
    hostile = Measurement(
        measure="<b>M</b>", about=InformationLoss.about, value=np.pi, parts={"</td><script>": 1.0}, statement="a & b"
    )
    assert "<script>" not in hostile._repr_html_() and "&lt;b&gt;" in hostile._repr_html_()
    shown: list[Any] = [
        results,
        results.frontier(risk="DistanceLinkage", utility="InformationLoss"),
        results.choose(utility="InformationLoss", at_most={"DistanceLinkage": 0.9}),
        results.bootstrap("RankSwapping(p=0.05)", "InformationLoss", repetitions=20, rng=0),
    ]
    assert all(thing._repr_html_().startswith("<") for thing in shown)
