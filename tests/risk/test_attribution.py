from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import TCAP, DiSCO, Measure, Microdata, NotApplicable, ParameterError, RepU, Schema, Variable
from sfumato.table.treatment import Treatment
from tables import persons

Row = tuple[str | None, str | None, str | None]  # two keys and a target


def table(rows: list[Row]) -> Microdata:
    columns = {name: pa.array([row[j] for row in rows], pa.string()) for j, name in enumerate(("town", "sex", "ill"))}
    schema = Schema(
        (
            Variable("town", kind="nominal", role="key", categories=("a", "b", "c")),
            Variable("sex", kind="nominal", role="key", categories=("f", "m")),
            Variable("ill", kind="nominal", role="confidential", categories=("yes", "no", "some")),
        )
    )
    return Microdata.from_frame(pa.table(columns), schema)


def unrelated(original: Microdata, protected: Microdata) -> Microdata:
    """Records that are nobody's, with nothing recoded."""
    changed = (v.treated(Treatment(perturbed=True)) for v in protected.schema)
    return replace(protected, matched=False, schema=protected.schema.replace(*changed))


ORIGINAL: list[Row] = [
    ("a", "f", "yes"),
    ("a", "m", "no"),
    ("a", "m", "no"),
    ("b", "f", "some"),
    ("b", "m", "yes"),
    ("c", "f", "no"),
]
PROTECTED: list[Row] = [
    ("a", "f", "yes"),
    ("a", "m", "no"),
    ("a", "m", "yes"),
    ("a", "m", "no"),
    ("b", "f", "no"),
    ("c", "m", "no"),
    ("b", "m", "yes"),
    ("b", "m", "yes"),
]


def test_by_hand_replicated_uniques() -> None:
    found = RepU().evaluate(table(ORIGINAL), unrelated(table(ORIGINAL), table(PROTECTED)))
    # alone in the original: af, bf, bm, cf; in the protected table: af, bf, cm; in both: af, bf
    assert found.value == pytest.approx(2 / 6)
    assert found.by_record is not None and found.by_record.tolist() == [1, 0, 0, 1, 0, 0]
    assert found.parts == {
        "unique in the original": pytest.approx(4 / 6),
        "unique in the protected table": pytest.approx(3 / 8),
        "unique in the original, keys found": pytest.approx(3 / 6),  # all of these but cf
        "keys found": pytest.approx(5 / 6),
    }


def test_by_hand_disclosive_and_correct() -> None:
    found = DiSCO().evaluate(table(ORIGINAL), unrelated(table(ORIGINAL), table(PROTECTED)))
    # af: yes alone, right. am: yes and no. bf: no alone, wrong. bm: yes twice, right. cf: not there.
    assert found.value == pytest.approx(2 / 6)
    assert found.by_record is not None and found.by_record.tolist() == [1, 0, 0, 0, 1, 0]
    # certain in the protected table: af, bf, bm; in the original all: am is no twice
    assert found.parts["disclosive in the protected table"] == pytest.approx(3 / 6)
    assert found.parts["disclosive in the original"] == 1
    assert found.parts["keys found"] == pytest.approx(5 / 6)
    assert found.parts["most frequent value"] == pytest.approx(3 / 6)
    # at random: yes and no are 4 of 8 each; af yes .5; am no .5^3 twice; bf some 0; bm yes .5^2; cf not there
    assert found.parts["by chance"] == pytest.approx((0.5 + 2 * 0.125 + 0 + 0.25) / 6)


def test_by_hand_claims_and_their_truth() -> None:
    original, protected = table(ORIGINAL), table(PROTECTED)
    protected = unrelated(original, protected)
    certain = TCAP().evaluate(original, protected)
    # claims of af (right), bf (wrong), bm (right)
    assert certain.value == pytest.approx(2 / 3)
    assert certain.parts["claims"] == pytest.approx(3 / 6)
    # claimed: yes, no, yes, which are 2/6, 3/6 and 2/6 of the original
    assert certain.parts["by chance"] == pytest.approx((2 + 3 + 2) / 18)
    # shares of the truth: af 1, am 2/3 twice, bf 0, bm 1, cf none
    assert certain.parts["DCAP"] == pytest.approx((1 + 4 / 3 + 1) / 6)
    assert certain.parts["DCAP of the original"] == 1
    likely = TCAP(0.6).evaluate(original, protected)
    # am says no in two of three: two claims more, both right
    assert likely.value == pytest.approx(4 / 5)
    assert likely.by_record is not None and likely.by_record.tolist() == [1, 1, 1, 0, 1, 0]


def test_by_hand_a_tie_of_claims_is_shared_and_no_claim_is_said() -> None:
    original = table([("a", "f", "yes"), ("a", "f", "no")])
    protected = unrelated(original, original)
    shared = TCAP(0.5).evaluate(original, protected)
    assert shared.value == 0.5
    assert shared.by_record is not None and shared.by_record.tolist() == [0.5, 0.5]
    nothing = TCAP().evaluate(original, protected)
    assert nothing.value == 0 and nothing.parts["claims"] == 0
    assert any("no claim can be made" in note for note in nothing.notes)


def test_by_hand_of_who_has_no_target_nothing_is_disclosed() -> None:
    """Of two alike one says yes, the other nothing: a yes is right for one of the two."""
    original = table([("a", "f", "yes"), ("a", "f", None)])
    found = TCAP(0.5).evaluate(original, unrelated(original, original))
    assert found.parts["DCAP"] == found.parts["DCAP of the original"] == pytest.approx((1 / 2 + 0) / 2)


def plainly(original: list[Row], protected: list[Row], tau: float) -> dict[str, float]:
    ours, theirs = Counter(row[:2] for row in original), Counter(row[:2] for row in protected)
    targets = {key: Counter(row[2] for row in protected if row[:2] == key) for key in theirs}
    n = len(original)
    claims = right = disco = dcap = 0.0
    for row in original:
        seen = targets.get(row[:2], Counter())
        total = sum(seen.values())
        if total == 0:
            continue
        dcap += seen[row[2]] / total if row[2] is not None else 0
        disco += len(seen) == 1 and row[2] is not None and seen[row[2]] == total
        top = max(seen.values())
        if top / total >= tau:
            claims += 1
            modes = [value for value, count in seen.items() if count == top]
            right += (row[2] in modes) / len(modes) if row[2] is not None else 0
    return {
        "RepU": sum(ours[row[:2]] == 1 and theirs[row[:2]] == 1 for row in original) / n,
        "DiSCO": disco / n,
        "TCAP": right / claims if claims else 0.0,
        "DCAP": dcap / n,
    }


rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from(["f", "m"]),
        st.sampled_from(["yes", "no", "some", None]),
    ),
    min_size=1,
    max_size=15,
)


@settings(deadline=None, max_examples=80)
@given(rows, rows, st.sampled_from([0.5, 0.75, 1.0]))
def test_by_reference_plain_counting(original: list[Row], protected: list[Row], tau: float) -> None:
    before, after = table(original), table(protected)
    after = unrelated(before, after)
    expected = plainly(original, protected, tau)
    assert RepU().evaluate(before, after).value == pytest.approx(expected["RepU"])
    if all(row[2] is None for row in original):
        with pytest.raises(NotApplicable, match="DiSCO: no target can be compared"):
            DiSCO().evaluate(before, after)
        return
    assert DiSCO().evaluate(before, after).value == pytest.approx(expected["DiSCO"])
    found = TCAP(tau).evaluate(before, after)
    assert found.value == pytest.approx(expected["TCAP"])
    assert found.parts["DCAP"] == pytest.approx(expected["DCAP"])
    if tau == 1:
        certain = DiSCO().evaluate(before, after).parts["disclosive in the protected table"]
        assert expected["DiSCO"] == pytest.approx(found.value * certain)


def test_the_worst_target_counts_and_numbers_are_compared_in_classes() -> None:
    data = persons()
    found = DiSCO().evaluate(data, data)
    assert set(found.by_variable) == {"income", "health"}
    assert found.value == max(found.by_variable.values())
    assert found.by_record is not None and found.by_record.mean() == pytest.approx(found.value)
    assert [row["target"] for row in found.tables["targets"]] == ["income", "health"]
    assert any("income is compared in 10 classes" in note for note in found.notes)
    worst = max(found.by_variable, key=lambda name: found.by_variable[name])
    assert f"the value, its parts and the records are those of {worst}, the target most at risk" in found.notes
    only = DiSCO(targets=("income",), classes=2).evaluate(data, data)
    assert not any("most at risk" in note for note in only.notes)  # there is no other
    # in halves: whoever is above or below the median with everyone of the same keys
    half = (data.columns["income"] >= np.median(data.columns["income"])).astype(int)
    keys = list(zip(*(data.columns[n].tolist() for n in ("region", "sex", "education", "age")), strict=True))
    pure = [len({half[j] for j in range(240) if keys[j] == keys[i]}) == 1 for i in range(240)]
    assert only.value == pytest.approx(np.mean(pure))


def test_by_theory_targets_dealt_at_random_are_disclosed_by_chance() -> None:
    rng = np.random.default_rng(0)
    n = 4_000
    original = table([("abc"[i % 3], "fm"[i % 2], str(rng.choice(["yes", "no"], p=[0.2, 0.8]))) for i in range(n)])
    more = pa.array(rng.integers(0, 1_500, n))
    keyed = Microdata.from_frame(original.to_arrow().append_column("cell", more), original.schema)
    dealt = keyed.replace({"ill": rng.permutation(keyed.columns["ill"])})
    measure = DiSCO(variables=("cell",), targets=("ill",))
    found = measure.evaluate(keyed, unrelated(keyed, dealt))
    # each record's success has its own chance; 4 standard errors, at most .5 / sqrt(n) each, twice for cells in common
    assert found.value == pytest.approx(found.parts["by chance"], abs=4 * 2 * 0.5 / np.sqrt(n))


def test_keys_that_were_recoded_are_matched_in_the_protected_tables_terms() -> None:
    original = table(ORIGINAL)
    merged = table([("c" if row[0] == "b" else row[0], row[1], row[2]) for row in ORIGINAL])
    stated = Treatment(groups=(("a", "a"), ("b", "c"), ("c", "c")))
    told = replace(merged, matched=False, schema=merged.schema.replace(merged.schema["town"].treated(stated)))
    found = RepU().evaluate(original, told)
    # a and c: af alone, am twice, cf twice (b and c), cm alone, in both tables
    assert found.value == pytest.approx(2 / 6)
    banded = persons().to_arrow().to_pandas()
    banded["age"] = (banded["age"] // 10 * 10).astype(str) + "s"
    found = RepU().evaluate(persons(), Microdata.beside(persons(), banded))
    assert 0 < found.value < 1
    shuffled = banded.sample(frac=1, random_state=0)
    again = RepU().evaluate(persons(), Microdata.beside(persons(), shuffled))  # the id tells which record is which
    assert (again.value, again.parts, again.notes) == (found.value, found.parts, found.notes)
    lost = shuffled.drop(columns=[persons().schema.id])
    with pytest.raises(NotApplicable, match=r"RepU: key 'age' cannot be matched: .* state the cuts"):
        RepU().evaluate(persons(), Microdata.beside(persons(), lost))


@pytest.mark.parametrize("cls", [RepU, DiSCO, TCAP])
def test_keys_made_missing_are_said(cls: type[Measure]) -> None:
    data = persons()
    holes = np.where(np.arange(len(data)) < 20, -1, data.columns["region"]).astype(np.int32)
    suppressed, sampled = data.replace({"region": holes}), replace(data.replace({"region": holes}), matched=False)
    for protected in (suppressed, sampled, Microdata.from_frame(suppressed.to_arrow())):
        notes = cls().evaluate(data, protected).notes
        assert any(note.startswith("values of region were made missing") for note in notes)
    # what was missing before is no suppression, nor is one more of them in other records
    for protected in (suppressed, replace(suppressed.take(np.arange(100)), matched=False), data):
        assert not any("made missing" in note for note in cls().evaluate(suppressed, protected).notes)


def test_bad_input_is_refused_by_name() -> None:
    data = persons()
    with pytest.raises(ParameterError, match=r"TCAP: tau must be in \(0, 1\]; got 90 \(did you mean 0.9\?\)"):
        TCAP(90)
    with pytest.raises(ParameterError, match="DiSCO: 'income' is named as a key and as a target"):
        DiSCO(variables=("income",), targets=("income",))
    with pytest.raises(NotApplicable, match="DiSCO: there is no variable 'helth'"):
        DiSCO(targets=("helth",)).evaluate(data, data)
    with pytest.raises(NotApplicable, match="DiSCO: the protected table has no target health"):
        DiSCO(targets=("health",)).evaluate(data, data.without(["health"]))
    assert any("health" in note for note in DiSCO().evaluate(data, data.without(["health"])).notes)
    with pytest.raises(NotApplicable, match="RepU: the protected table has none of the keys age"):
        RepU(variables=("age",)).evaluate(data, data.without(["age"]))
    open_ = data.schema.replace(*(replace(data.schema[n], role="other") for n in ("income", "health")))
    with pytest.raises(NotApplicable, match="DiSCO: no variable but the keys has the role confidential"):
        DiSCO().evaluate(replace(data, schema=open_), data)
