"""The losses that a search makes least are the figures that the measures of utility give to its result."""

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sfumato.utility.class_sizes")

from sfumato import Hierarchy, Measure, Microdata, NotApplicable, OptimalRecoding, Schema, Variable, catalogue

BY_NAME = {
    "loss": 'CertaintyPenalty(categories="others")',
    "ncp": "CertaintyPenalty()",
    "entropy": "NonUniformEntropy()",
    "precision": "Precision()",
    "discernibility": "Discernibility()",
    "class size": "AverageClassSize()",
}


def people(seed: int, gaps: float) -> Microdata:
    rng = np.random.default_rng(seed)
    towns = {"A": ["AB", "*"], "B": ["AB", "*"], "C": ["CD", "*"], "D": ["CD", "*"]}
    table = {
        "town": pa.array(rng.choice(list(towns), 80, p=[0.5, 0.3, 0.15, 0.05]).tolist(), mask=rng.random(80) < gaps),
        "age": pa.array(np.round(rng.normal(50, 18, 80)).clip(0, 99), mask=rng.random(80) < gaps),
    }
    variables = (
        Variable("town", "nominal", "key", hierarchy=Hierarchy.of(towns)),
        Variable("age", "numeric", "key", hierarchy=Hierarchy.of([5, 10, 20, float("inf")])),
    )
    return Microdata.from_frame(pa.table(table), Schema(variables))


@pytest.mark.parametrize("utility", BY_NAME)
@pytest.mark.parametrize("suppression", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_loss_of_the_result_is_the_figure_of_the_measure(utility: str, suppression: float, gaps: float) -> None:
    if gaps and utility in ("discernibility", "class size"):
        pytest.skip("a missing key agrees with every value there, and is a value of its own here")
    (measure,) = catalogue.parse(BY_NAME[utility])
    assert isinstance(measure, Measure)
    for seed in range(4):
        data = people(seed, gaps)
        method = OptimalRecoding(3, suppression, utility)  # type: ignore[arg-type]
        try:
            found = method.search(data)
        except NotApplicable:
            continue
        value = measure.evaluate(data, method.protect(data)).value
        assert found.loss == pytest.approx(1 - value if utility == "precision" else value, abs=1e-9)
