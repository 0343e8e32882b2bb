"""What a file is still good for, and what is told of it to everyone: from measurements of global data utility."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import GlobalDataUtility, Measurement, Microdata, Treatment
from sfumato.auditing.findings import Checked
from sfumato.compare.examine.facts import deeds, release_facts
from sfumato.compare.examine.findings import ReleasedVariable
from sfumato.compare.examine.variables import utility_found
from sfumato.report.grades import DRAWN, WORST, arranged
from sfumato.report.release import deeds_in_words, release_of
from sfumato.report.summary import Usefulness


def related(variables: int, records: int = 600) -> Microdata:
    rng = np.random.default_rng(0)
    base = rng.normal(size=records)
    return Microdata.from_frame(pa.table({f"v{j}": np.exp(base + rng.normal(size=records)) for j in range(variables)}))


def broken(data: Microdata, names: list[str]) -> Microdata:
    rng = np.random.default_rng(1)
    return data.replace({name: rng.permutation(data.columns[name]) for name in names})


def judged(data: Microdata, protected: Microdata) -> Measurement:
    return GlobalDataUtility().evaluate(data, protected)


def usefulness_of(found: Measurement) -> Usefulness | None:
    told = utility_found(found)
    return arranged(told) if told is not None else None


def test_only_a_measurement_with_variables_and_pairs_tells_what_a_file_is_good_for() -> None:
    data = related(3)
    assert usefulness_of(sfumato.InformationLoss().evaluate(data, data)) is None
    found = judged(data, broken(data, ["v1"]))
    useful = usefulness_of(found)
    assert useful is not None and (useful.value, useful.statement) == (found.value, found.statement)
    assert useful.variables[0].name == "v1"  # the least useful first
    assert {(p.first, p.second) for p in useful.worst} == {("v0", "v1"), ("v1", "v2")}
    assert useful.counts == (("no longer there", "2 pairs"), ("as before", "1 pair"))


def test_pictures_have_the_worst_variables_and_tables_all() -> None:
    data = related(DRAWN + 2, 80)
    useful = usefulness_of(judged(data, broken(data, ["v5"])))
    assert useful is not None
    assert len(useful.variables) == DRAWN + 2 and len(useful.pairs) == (DRAWN + 2) * (DRAWN + 1) // 2
    assert len(useful.drawn) == DRAWN * (DRAWN - 1) // 2 and len(useful.worst) <= WORST
    assert any(f"the {DRAWN} variables of {DRAWN + 2} that lost most" in note for note in useful.notes)


def test_what_to_avoid_is_drawn_from_all_pairs_and_not_from_trivial_ones() -> None:
    data = related(9)
    useful = usefulness_of(judged(data, broken(data, [f"v{j}" for j in range(8)])))
    assert useful is not None and len(useful.pairs) == 36 > WORST
    lost = [p for p in useful.pairs if p.outcome == "association lost"]
    release = release_of(None, release_facts(data, data), useful)
    assert sum(changed.what == "no longer there" for changed in release.changed) == len(lost)
    (point,) = release.avoid  # the eight that were broken account for all of them, v8 for none
    assert point.text == "Associations of v0, v1, v2, v3, v4, v5, v6 and v7 with any other variable."
    # r of 0.06 in 2,000 records is significant, in 500 it is not: nothing to avoid
    rng = np.random.default_rng(3)
    x = rng.normal(size=2000)
    weak = Microdata.from_frame(pa.table({"x": x, "y": 0.06 * x + rng.normal(size=2000)}))
    sample = weak.take(np.arange(0, 2000, 4))
    trivial = usefulness_of(judged(weak, sample))
    assert trivial is not None and trivial.pairs[0].outcome == "association lost"
    assert release_of(None, release_facts(weak, sample), trivial).avoid == ()


def test_a_release_tells_no_parameter() -> None:
    data = related(3)
    method = sfumato.Rounding({"v0": 7}) + sfumato.Noise(0.123, variables=("v1",))
    protected = method.protect(data, rng=0)
    release = release_of(method, release_facts(data, protected), usefulness_of(judged(data, protected)))
    assert release.records == 600 and len(release.done) == 2
    said = [
        *release.done,
        *(v.done for v in release.variables),
        *(a.text for a in release.avoid),
        *(a.text for a in release.advice),
    ]
    for told in (*said, release.statement):
        assert "7" not in told and "0.123" not in told
    assert [v.done == "as collected" for v in release.variables] == [False, False, True]
    assert release_of(None, release_facts(data, protected.without(["v2"])), None).removed == ("v2",)


def test_what_was_numbered_or_computed_anew_is_not_as_collected() -> None:
    data = related(3)
    checked = Checked(missing=dict.fromkeys(data.names, 0.0), renewed=("v0", "v1"), renumbered=("v0",))
    release = release_of(sfumato.Noise(0.1, variables=("v2",)), release_facts(data, data), None, checked)
    home, weight, other = release.variables
    assert (home.done, weight.done, other.done) == ("numbered anew", "computed anew", "as collected")
    assert home.use == "use with care: its numbers tell who belongs together and nothing else"
    assert weight.use == "use with care: estimates differ from those with the original weights"
    assert other.use == "use as before"


def test_a_sample_with_more_gaps_than_the_table_in_parts_tells_of_no_suppression() -> None:
    data = related(3)
    checked = Checked(missing=dict.fromkeys(data.names, 0.1))  # of the sample that repairs were tried on
    facts = release_facts(data, data)
    variables = tuple(replace(one, missing=0.09) for one in facts.variables)  # of all records
    facts = replace(facts, variables=variables, whole=60_000)
    release = release_of(sfumato.Noise(0.1, variables=("v2",)), facts, None, checked)
    assert [(one.missing, one.done) for one in release.variables] == [(0.09, "as collected")] * 3


@pytest.mark.parametrize(
    ("treatment", "words"),
    [
        (Treatment(), ""),
        (Treatment(cuts=(3.0,)), "grouped into broader classes"),
        (Treatment(base=5.0, perturbed=True), "rounded; values were changed"),
    ],
)
def test_treatments_in_words(treatment: Treatment, words: str) -> None:
    assert deeds_in_words(ReleasedVariable("x", "", "numeric", deeds(treatment), 0.0)) == words
