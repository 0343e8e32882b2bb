"""What a sweep is to do: candidates named, composed, and begun with what the steward does first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato import ExposedAmounts, GlobalRecoding, KAnonymity, LocalSuppression, Method, Noise, VariableRemoval
from sfumato.compare.seeds import generator
from sfumato.errors import ParameterError
from sfumato.project.plan import Plan, planned

BANDS = GlobalRecoding(bins={"age": 10})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("files")
    survey = sfumato.household_survey(150)
    sfumato.write(survey, folder / "survey.csv")
    sfumato.write_schema(survey.schema, folder / "schema.toml")
    return folder / "survey.csv", folder / "schema.toml"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_named_methods_stand_behind_the_first_which_alone_is_one_too(files: tuple[Path, Path], out: Path) -> None:
    plan = planned(*files, methods=["LocalSuppression(k=[3, 5])", Noise(0.1)], first=repr(BANDS), seed=1, out=out)
    assert list(plan.methods) == [BANDS, BANDS + LocalSuppression(3), BANDS + LocalSuppression(5), BANDS + Noise(0.1)]
    assert plan.first == BANDS and plan.whys == {}


def test_without_a_first_the_methods_are_as_they_were_named(files: tuple[Path, Path], out: Path) -> None:
    plan = planned(*files, methods=[LocalSuppression(3), "LocalSuppression(k=3)"], seed=1, out=out)
    assert plan.methods == (LocalSuppression(3),) and plan.first is None


def test_composed_candidates_apply_to_what_the_first_leaves(files: tuple[Path, Path], out: Path) -> None:
    plan = planned(*files, first=BANDS, at_most={"KAnonymity": 0.0, "ExposedAmounts": 0.0}, seed=1, out=out)
    assert plan.methods[0] == BANDS and len(plan.methods) > 3
    for method in plan.methods[1:]:
        assert repr(method).startswith(repr(BANDS) + " + ")
        protected = method.protect(plan.data, rng=generator(1, method, 0))
        assert protected.schema["age"].kind == "ordinal"
    best = plan.methods[1].protect(plan.data, rng=generator(1, plan.methods[1], 0))
    assert KAnonymity().evaluate(plan.data, best).value == 0  # by the original's keys
    assert set(plan.whys) == {repr(method) for method in plan.methods[1:]}
    assert all(why.startswith("Age is given in bands") and "Then: " in why for why in plan.whys.values())


def test_where_the_first_does_enough_for_the_keys_amounts_are_still_masked(files: tuple[Path, Path], out: Path) -> None:
    keys = sfumato.read(*files).schema.analysed(role="key")
    plan = planned(
        *files,
        first=VariableRemoval(variables=keys[1:]),
        at_most={KAnonymity(2): 0.0, ExposedAmounts(): 0.0},
        seed=1,
        out=out,
    )
    kept = keys[0]  # nothing is left to do to the one key that stays

    def exposed(method: Method) -> float:
        return ExposedAmounts().evaluate(plan.data, method.protect(plan.data, rng=generator(1, method, 0))).value

    behind = {method: repr(method).removeprefix(repr(plan.first)) for method in plan.methods[1:]}
    amounts = [method for method, told in behind.items() if kept not in told and "PRAM" not in told]
    assert amounts and min(map(exposed, amounts)) < exposed(plan.methods[0])


def test_named_and_composed_ones_together(files: tuple[Path, Path], out: Path) -> None:
    bounds = {"KAnonymity": 0.0}
    composed = planned(*files, at_most=bounds, seed=1, out=out)
    both = planned(*files, methods=[Noise(0.1)], also_composed=True, at_most=bounds, seed=1, out=out)
    assert both.methods == (Noise(0.1), *composed.methods)
    assert both.whys == composed.whys


def test_a_first_that_is_random_is_pointed_out(files: tuple[Path, Path], out: Path) -> None:
    heard: list[str] = []
    planned(*files, first=Noise(0.1), at_most={"KAnonymity": 0.0}, seed=2**50, out=out, tell=heard.append)
    assert any("Noise(scale=0.1) is random" in line and "draws it anew" in line for line in heard)


def test_a_first_that_stands_for_several_or_does_not_apply_is_refused(files: tuple[Path, Path], out: Path) -> None:
    with pytest.raises(ParameterError, match="--first takes one method"):
        planned(*files, first="Noise([0.1, 0.2])", out=out)
    with pytest.raises(sfumato.SfumatoError, match="nosuch"):
        planned(*files, first="Noise(0.1, variables=['nosuch'])", out=out)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("MDAV(3, variables=['incom'])", "there is no variable 'incom' (did you mean 'income'?)"),
        ("Rounding(10) + MDAV(3, variables=['incom'])", "there is no variable 'incom'"),
        ("GlobalRecoding(bins={'agee': 5})", "there is no variable 'agee'"),
        ("MDAV(3).within('regio')", "there is no variable 'regio'"),
        ("GlobalRecoding(groups=3, variables=['occupation'])", "variable 'occupation' is nominal"),
        ("Sampling(0.5, strata=['regio'])", "there is no variable 'regio'"),
    ],
)
def test_a_method_that_can_never_work_is_refused_before_anything_is_measured(
    files: tuple[Path, Path], out: Path, method: str, said: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        planned(*files, methods=["Rounding(10)", method], out=out)
    assert said in str(refused.value)
    assert not out.exists()


def test_what_a_first_step_makes_of_a_variable_is_not_judged_before(files: tuple[Path, Path], out: Path) -> None:
    told = planned(*files, first=BANDS, methods=["LocalSuppression(3, variables=['age', 'region'])"], out=out)
    assert len(told.methods) == 2


@pytest.mark.parametrize(
    "said", ["GlobalRecoding(bins={'age': 10}) + LocalSuppression(k=3)", "LocalSuppression(3)", "coarse 1 · k=3"]
)
def test_a_candidate_is_chosen_by_label_method_or_short_name(files: tuple[Path, Path], out: Path, said: str) -> None:
    from sfumato.compare.naming import short_names

    label = repr(BANDS + LocalSuppression(3))
    common: dict[str, Any] = {
        "first": BANDS,
        "methods": ["LocalSuppression(k=[3, 5])"],
        "at_most": {"KAnonymity": 0.5},
        "seed": 1,
    }
    plan = planned(*files, **common, out=out)
    name = short_names({repr(method): method for method in plan.methods})[label]
    plan = planned(*files, **common, choose=name if "·" in said else said, out=out)
    assert plan.choose == label


def test_an_unknown_choice_is_refused_before_anything_is_computed(files: tuple[Path, Path], out: Path) -> None:
    with pytest.raises(ParameterError, match=r"no candidate 'MDAV\(k=4\)'; did you mean 'MDAV\(k=3\)'"):
        planned(*files, methods=["MDAV(k=3)"], at_most={"KAnonymity": 0.5}, choose="MDAV(k=4)", out=out)
    with pytest.raises(ParameterError, match="--choose needs a bound"):
        planned(*files, methods=["MDAV(k=3)"], choose="MDAV(k=3)", out=out)


def test_the_seed_of_a_folder_is_kept(files: tuple[Path, Path], out: Path) -> None:
    def seed_of(said: int | None) -> int:
        return planned(*files, methods=["Noise(0.1)"], seed=said, out=out).seed

    drawn = seed_of(None)
    assert seed_of(None) == drawn == int((out / "seed").read_text())
    assert seed_of(7) == 7 == seed_of(None)


def test_bounds_may_be_measures_or_any_way_to_write_them(files: tuple[Path, Path], out: Path) -> None:
    plan: Plan = planned(
        *files, methods=["Noise(0.1)"], at_most={"Suppressed(region)": 0.1, sfumato.KAnonymity(5): 0.2}, seed=1, out=out
    )
    assert dict(plan.at_most) == {"Suppressed(variables=('region',))": 0.1, "KAnonymity(k=5)": 0.2}
    assert {"Suppressed(variables=('region',))", "KAnonymity(k=5)"} <= set(map(repr, plan.measures))
    assert replace(plan) == plan


HOMES = "Reidentification(unit='household')"


def test_households_are_bounded_as_persons_are(files: tuple[Path, Path], out: Path) -> None:
    told: list[str] = []
    methods = [LocalSuppression(3)]
    plan = planned(*files, methods=methods, at_most={"Reidentification": 0.3}, seed=1, out=out, tell=told.append)
    assert plan.at_most == {"Reidentification()": 0.3, HOMES: 0.3}
    assert {repr(measure) for measure in plan.measures} >= {"Reidentification()", HOMES}
    assert plan.risk == "Reidentification()"
    assert any(f"households are bounded as persons are: {HOMES} at most 30 %" in line for line in told)
    # so the script that makes the release again says both, and the bound is not added once more
    again = planned(*files, methods=methods, at_most=plan.at_most, seed=1, out=out)
    assert again.at_most == plan.at_most


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ({"Reidentification": 0.3, HOMES: 0.6}, {"Reidentification()": 0.3, HOMES: 0.6}),  # another is said
        ({"Reidentification(above=0.2)": 0.0}, {"Reidentification(above=0.2)": 0.0}),  # of single persons
        ({"Suppressed": 0.3}, {"Suppressed": 0.3}),
    ],
)
def test_a_bound_on_households_that_is_said_holds(
    files: tuple[Path, Path], out: Path, bounds: dict[str, float], kept: dict[str, float]
) -> None:
    plan = planned(*files, methods=[LocalSuppression(3)], at_most=bounds, seed=1, out=out)
    assert {bound: repr(limit) for bound, limit in plan.at_most.items()} == {b: repr(x) for b, x in kept.items()}


def test_named_keys_are_those_of_the_household_as_well(files: tuple[Path, Path], out: Path) -> None:
    named = sfumato.Reidentification(variables=("region", "sex"))
    plan = planned(*files, methods=[LocalSuppression(3)], at_most={named: 0.1}, seed=1, out=out)
    assert plan.at_most == {repr(named): 0.1, repr(replace(named, unit="household")): 0.1}


def test_who_lives_alone_has_no_household_to_bound(tmp_path: Path, out: Path) -> None:
    survey = sfumato.household_survey(150)
    alone = survey.take((survey.columns["household_size"] == 1).nonzero()[0])
    sfumato.write(alone, tmp_path / "alone.csv")
    sfumato.write_schema(survey.schema, tmp_path / "schema.toml")
    bounds = {"Reidentification": 0.3}
    files = tmp_path / "alone.csv", tmp_path / "schema.toml"
    plan = planned(*files, methods=[LocalSuppression(3)], at_most=bounds, seed=1, out=out)
    assert plan.at_most == bounds


def test_candidates_keep_households_apart(files: tuple[Path, Path], out: Path) -> None:
    """What members share is coarser or gone, the weight says no more, and one of them keeps the bound."""
    plan = planned(*files, at_most={"Reidentification": 0.2}, seed=1, out=out)
    measures = [sfumato.Reidentification(), sfumato.Reidentification(unit="household")]
    apart = [method for method in plan.methods if "WeightMasking(how='margins')" in repr(method)]
    assert 4 <= len(apart) < len(plan.methods)
    kept = 0
    for method in apart:
        made = method.protect(plan.data, rng=generator(1, method, 0))
        assert "raked anew" in plan.whys[repr(method)]
        shared = ("region", "urbanity", "household_size", "tenure", "rent")
        assert all(n not in made.names or made.schema[n].treatment.recoded for n in ("household_size", "rent"))
        cells = {tuple(row) for row in zip(*(made.columns[n].tolist() for n in shared if n in made.names), strict=True)}
        assert len(cells) < 100  # of 150 households
        kept += all(measure.evaluate(plan.data, made, rng=1).value <= 0.2 for measure in measures)
    assert kept >= 2
