"""The law of parts: a measure that takes tables in parts gives the same figure however the records are cut.

Counts are equal, sums agree to 1e-12 relative; the order of the parts does not matter.
"""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Measure, Measurement, Microdata, Model, NotApplicable, catalogue
from sfumato.pair import Pair
from sfumato.testing.of_measures import agree as same
from sfumato.testing.tables import cut as cut
from sfumato.testing.tables import with_gaps as with_gaps
from tables import persons

IN_PARTS = [cls for _, cls in sorted(catalogue.measures().items()) if cls.about.parts != "memory"]
IN_MEMORY = [cls for _, cls in sorted(catalogue.measures().items()) if cls.about.parts == "memory"]


def tables() -> dict[str, tuple[Microdata, Microdata]]:
    """Originals and protected tables of several kinds."""
    whole = persons(240)
    gaps = with_gaps(whole, 0.05, seed=3)
    numbers = ("age", "income")
    chain = sfumato.GlobalRecoding(groups=4, rare=0.1) + sfumato.LocalSuppression(2)
    return {
        "swapped": (whole, sfumato.RankSwapping(0.1, variables=numbers).protect(whole, rng=1)),
        "noisy, with gaps": (gaps, sfumato.Noise(0.2, variables=("income",)).protect(gaps, rng=1)),
        "recoded and suppressed": (whole, chain.protect(whole, rng=1)),
        "randomised, with gaps": (gaps, sfumato.PRAM(0.8).protect(gaps, rng=2)),
        "synthetic": (whole, sfumato.CARTSynthesis().protect(whole, rng=4)),
    }


TABLES = tables()


def measures(cls: type[Measure]) -> list[Measure]:
    """A measure by its defaults; where it claims parts for some parameters only, with those."""
    if cls.__name__ in ("CDFMaximum", "CDFSquares"):
        return [cls(), cls(variables=("income",))]
    if cls.__name__ == "DCAP":
        return [cls(), cls(unmatched="left out", classes=4)]  # type: ignore[call-arg]
    if cls.__name__ == "TCAP":
        return [cls(), cls(tau=0.6, classes=4)]  # type: ignore[call-arg]
    if cls.__name__ == "DistanceLinkage":
        return [
            sfumato.DistanceLinkage(),
            sfumato.DistanceLinkage(direction="protected to original", standardise="original", second=True),
            sfumato.DistanceLinkage(distance="gower", known=("region", "age", "income")),
            sfumato.DistanceLinkage(distance="gower", known=2, direction="protected to original"),
        ]
    if cls.__name__ == "StructureLoss":
        return [
            sfumato.StructureLoss(of, error)
            for of in ("data", "covariances", "correlations")
            for error in ("mean square error", "mean variation")
        ]
    if cls.__name__ == "LDiversity":
        named = ("region", "sex")
        return [
            sfumato.LDiversity(),
            sfumato.LDiversity(3, "entropy"),
            sfumato.LDiversity(2, "recursive", variables=named),
        ]
    if cls.__name__ == "LogLinearRisk":
        three = ("region", "sex", "education")
        return [
            sfumato.LogLinearRisk("main"),
            sfumato.LogLinearRisk(variables=three),
            sfumato.LogLinearRisk(weighting="Clogg-Eliason", variables=three),
            sfumato.LogLinearRisk("main", "pseudo-likelihood", variables=three),
        ]
    if cls.__name__ in ("IndividualRisk", "SampleUniques", "TCloseness"):
        return [cls(), cls(variables=("region", "sex"))]
    if cls.__name__ == "PropensityUtility":
        # models with a fair number of records per term: what a variable adds to one with hundreds of nearly collinear
        # terms is the solution of an ill-conditioned system, not a sum, and has no twelve digits
        return [cls(model="main effects"), cls(variables=("sex", "age", "income"))]  # type: ignore[call-arg]
    if cls.__name__ in ("EllipsoidOverlap", "ConclusionChanges"):
        return [cls(), cls(model="income ~ age + C(region)")]  # type: ignore[call-arg]
    if cls.__name__ == "IntervalOverlap":
        linear = ("income ~ age + C(region) + sex:age", "np.log(income) ~ 0 + C(health) + center(age)")
        others = (
            Model("I(health == 'poor') ~ age + sex", family="logistic"),
            Model("age ~ C(education)", family="poisson", weight=2),
        )
        return [cls(), cls(model=linear), cls(model=others)]  # type: ignore[call-arg]
    if cls.__name__ == "ValueDistance":
        return [cls(), cls(units="own")]  # type: ignore[call-arg]
    if cls.__name__ == "TableUtility":
        return [cls(), cls(ways=3, statistic="JSD", null="two samples"), cls(ways=1, cuts="original")]  # type: ignore[call-arg]
    if cls.__name__ == "CertaintyPenalty":
        return [cls(), cls(categories="others")]  # type: ignore[call-arg]
    if cls.__name__ == "AverageClassSize":
        return [cls(), cls(k=5)]  # type: ignore[call-arg]
    if cls.__name__ == "GlobalDataUtility":
        models = ("income ~ age + C(region)", Model("I(health == 'poor') ~ age + sex", family="logistic"))
        return [
            sfumato.GlobalDataUtility(),
            sfumato.GlobalDataUtility(deletion="charged"),
            sfumato.GlobalDataUtility(variables=("sex", "age"), models=models, scales=("age", "income")),
        ]
    return [cls()]


@cache
def in_memory(measure: Measure, file: str) -> Measurement | str:
    """Return what a measure says of the whole tables, or its refusal; found once for all cuts and engines."""
    try:
        return measure.evaluate(*TABLES[file], rng=1)
    except NotApplicable as refusal:
        return str(refusal)


def held(measure: Measure, file: str, parts: Pair) -> None:
    """Require the figures in memory of a measure of two tables in parts, or the same refusal."""
    whole = in_memory(measure, file)
    if isinstance(whole, str):
        with pytest.raises(NotApplicable) as in_parts:
            measure.evaluate_pair(parts, rng=1)
        assert str(in_parts.value) == whole
    else:
        same(whole, measure.evaluate_pair(parts, rng=1))


@pytest.mark.parametrize("file", TABLES)
@pytest.mark.parametrize("cls", IN_PARTS, ids=[cls.__name__ for cls in IN_PARTS])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_any_cut_gives_the_figure_of_the_whole(cls: type[Measure], file: str, data: st.DataObject) -> None:
    original, protected = TABLES[file]
    ends = data.draw(st.lists(st.integers(0, len(original)), max_size=6), label="cuts")
    before, after = cut(original, ends), cut(protected, ends)
    order = data.draw(st.permutations(range(len(before))), label="order")
    for measure in measures(cls):
        parts = Pair.of([before[k] for k in order], [after[k] for k in order])
        held(measure, file, parts)


@pytest.mark.parametrize("cls", IN_MEMORY, ids=[cls.__name__ for cls in IN_MEMORY])
def test_what_needs_all_records_says_so(cls: type[Measure]) -> None:
    original, protected = TABLES["swapped"]
    try:
        cls().evaluate(original, protected, rng=1)
    except NotApplicable:
        pytest.skip("the measure does not fit the table")
    pair = Pair.of(cut(original, [100]), cut(protected, [100]))
    with pytest.raises(NotApplicable, match="needs all records at once"):
        cls().evaluate_pair(pair, rng=1)
