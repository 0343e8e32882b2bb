"""What was merged into what, and which sums no longer hold: counted by hand, and told in one line."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import GlobalRecoding, Microdata, RankSwapping, Rounding, Schema, Variable
from sfumato.compare.examine.facts import caution_facts, release_facts
from sfumato.compare.examine.findings import BrokenSum, CautionFacts, Examination, Merged
from sfumato.report.price import merged_in_words, price_of
from sfumato.report.release import release_of
from sfumato.report.verdict import _broken_sums

TOWNS = {"Aix": 50, "Bonn": 20, "Cork": 16, "Delft": 8, "Essen": 4, "Faro": 2}  # of 100


def towns() -> Microdata:
    names = [name for name, number in TOWNS.items() for _ in range(number)]
    return Microdata.from_frame(pa.table({"town": names}), Schema((Variable("town", "nominal", "key"),)))


def firms(records: int = 400) -> Microdata:
    rng = np.random.default_rng(3)
    home, abroad = rng.lognormal(6, 1, records).round(), rng.lognormal(5, 1, records).round()
    return Microdata.from_frame(pa.table({"home": home, "abroad": abroad, "turnover": home + abroad}))


def test_what_was_merged_is_named_the_largest_first_with_its_share() -> None:
    data = towns()
    protected = GlobalRecoding(rare=0.18, variables=("town",)).protect(data)
    # 2 + 4 + 8 = 14 of 100 are fewer than 18, so that Cork joins them: 30, though it is not rare beside them
    (variable,) = release_facts(data, protected).variables
    assert variable.merged == (Merged("other", 4, 0.3, (("Cork", 0.16), ("Delft", 0.08), ("Essen", 0.04))),)
    said = merged_in_words("town", variable.merged)
    assert said == "merged in town: Cork 16.0 %, Delft 8.0 %, Essen 4.0 % and 1 more are now other (30.0 %)"
    facts = release_facts(data, protected)
    assert said in price_of(Examination("it", release=facts))
    assert not any(told.startswith("coarser") for told in price_of(Examination("it", release=facts)))  # said once


def test_nothing_is_said_of_categories_that_stand_alone() -> None:
    data = towns()
    renamed = GlobalRecoding(map={"town": {"Aix": "A"}}).protect(data)
    assert release_facts(data, renamed).variables[0].merged == ()
    assert release_facts(data, data).variables[0].merged == ()


def test_groups_beyond_three_are_counted() -> None:
    groups = tuple(Merged(name, 2, 0.2, (("a", 0.1), ("b", 0.1))) for name in "vwxyz")
    assert merged_in_words("q", groups).endswith(", and 2 groups more")


def test_a_sum_that_swapping_breaks_is_found_with_the_share_of_records() -> None:
    data = firms()
    swapped = RankSwapping(0.1, variables=("home", "abroad", "turnover")).protect(data, rng=1)
    (broken,) = caution_facts(data, swapped).broken_sums
    columns = swapped.columns
    held = float(np.mean(np.abs(columns["home"] + columns["abroad"] - columns["turnover"]) <= 1))
    assert (broken.name, set(broken.parts), broken.before) == ("turnover", {"home", "abroad"}, 1.0)
    assert broken.after == pytest.approx(held) and held < 0.2


def test_nothing_is_said_where_the_sum_holds_or_cannot_be_made() -> None:
    data = firms()
    assert caution_facts(data, data).broken_sums == ()
    linked = Schema((Variable("turnover", linked=("home", "abroad")),))
    follows = Microdata.from_frame(pa.table({name: data.columns[name] for name in data.names}), linked)
    rounded = Rounding(10, variables=("home", "abroad")).protect(follows)  # the total is computed anew
    assert caution_facts(follows, rounded).broken_sums == ()
    assert caution_facts(data, data.without(["abroad"])).broken_sums == ()
    banded = GlobalRecoding(bins={"home": 500}).protect(data)
    assert caution_facts(data, banded).broken_sums == ()


def test_it_is_told_in_one_line_inside_and_to_the_public() -> None:
    sums = [BrokenSum(f"t{i}", f"a{i} + b{i}", (f"a{i}", f"b{i}"), 1.0, 0.1 * i) for i in range(5)]
    told = list(_broken_sums(Examination("it", cautions=CautionFacts(broken_sums=tuple(sums)))))
    assert told == [
        "No longer adds up after protection: t0 = a0 + b0 (0 % of the records, before 100 %), t1 = a1 + b1 (10.0 % of "
        "the records, before 100 %), t2 = a2 + b2 (20.0 % of the records, before 100 %) and 2 other sums."
    ]
    data = firms()
    public = release_of(None, release_facts(data, data), None, broken=sums[:1])
    assert public.besides == ("In many records t0 is no longer the sum of the parts: they were protected apart.",)
