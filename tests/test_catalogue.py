import pytest

from sfumato import MDAV, PRAM, DistanceLinkage, GlobalRecoding, ParameterError, RankSwapping
from sfumato.catalogue import find, parse


def test_a_list_is_a_grid_of_a_method_and_a_value_of_a_measure() -> None:
    assert parse("MDAV(k=[3, 5])") == [MDAV(3), MDAV(5)]
    assert parse("MDAV([3, 5], at_a_time=[2, 3])") == [MDAV(k, at_a_time=v) for k in (3, 5) for v in (2, 3)]
    assert parse("MDAV(k=3, variables=['a', 'b'])") == [MDAV(3, variables=("a", "b"))]
    assert parse("DistanceLinkage(known=['a', 'b'])") == [DistanceLinkage(known=("a", "b"))]
    assert parse("DistanceLinkage(known=[['a', 'b']])") == [DistanceLinkage(known=(("a", "b"),))]
    assert parse("DistanceLinkage") == [DistanceLinkage()]
    assert parse("RankSwapping") == [RankSwapping(p) for p in RankSwapping.about.grid["p"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RankSwapping(q=0.15)", r"RankSwapping got an unexpected keyword argument 'q'; its parameters are .*p"),
        ("RankSwaping(p=0.15)", "did you mean RankSwapping"),
        ("RankSwapping(p=", "cannot read"),
        ("__import__('os').system('true')", "cannot read|there is no method"),
        ("MDAV(k=open('x'))", "there is no method or measure 'open'"),
        ("RankSwapping(p=15)", r"did you mean 0\.15\?"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse(text)


def test_the_nearest_name_comes_first() -> None:
    with pytest.raises(ParameterError, match="did you mean DistanceLinkage"):
        find("DistanceLinkge")


def test_a_dict_is_one_value_and_its_lists_are_no_grid() -> None:
    text = "GlobalRecoding(map={'region': {'north': 'N'}}, bins={'age': [18, 65]})"
    assert parse(text) == [GlobalRecoding(map={"region": {"north": "N"}}, bins={"age": [18, 65]})]
    assert parse("GlobalRecoding(bins=[{'age': 5}, {'age': 10}])") == [
        GlobalRecoding(bins={"age": 5}),
        GlobalRecoding(bins={"age": 10}),
    ]
    (made,) = parse(text)
    assert parse(repr(made)) == [made] and hash(parse(repr(made))[0]) == hash(made)


def test_a_list_of_names_is_one_value_and_a_list_of_lists_a_grid() -> None:
    assert parse("PRAM(0.9, strata=['region', 'sex'])") == [PRAM(0.9, strata=("region", "sex"))]
    assert parse("PRAM([0.9, 0.8], strata=[['region'], ['region', 'sex']])") == [
        PRAM(retention, strata=strata) for retention in (0.9, 0.8) for strata in (("region",), ("region", "sex"))
    ]
    assert parse("PRAM(0.9, spread=['frequency', 'uniform'])") == [PRAM(0.9), PRAM(0.9, spread="uniform")]
    with pytest.raises(ParameterError, match="strata must be a list of variable names"):
        parse("PRAM(0.9, strata=[])")
    with pytest.raises(ParameterError, match="positional"):
        parse("PRAM(0.9, 'uniform')")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GlobalRecoding(map={region: {'north': 'N'}})", "cannot read region: texts .* in quotes, 'region'"),
        ("GlobalRecoding(map={['region']: 'N'})", "cannot read"),
        ("GlobalRecoding(map={'region': {'north': 'N'}, **more})", "cannot read"),
    ],
)
def test_what_is_no_dict_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse(text)
