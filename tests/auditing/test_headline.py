"""The sentence over an audit says no more than its routes do."""

import pytest

from sfumato.auditing.findings import Name, Reading, Restored, Route, overall

SAID = "The file keeps what was protected: "
VALUES = "40 protected values of 1 variable"


def route(name: Name, reading: Reading) -> Route:
    worst = Restored("region", "as published", (), 40, 0.6, 0.0, 0.5, None, "the file", reading)
    return Route(name, worst, (worst,))


@pytest.mark.parametrize(
    ("readings", "said"),
    [
        (("nothing", "nothing"), f"no route tells more of {VALUES} than a guess does."),
        (
            ("association", "nothing"),
            f"no route leads back to {VALUES}; 1 of 2 tells more than a guess does, 1 by association.",
        ),
        (
            ("association", "luck", "association"),
            f"no route leads back to {VALUES}; 3 of 3 tell more than a guess does, 2 by association, "
            "1 by what may be luck.",
        ),
    ],
)
def test_a_file_that_keeps_its_values_says_what_its_routes_tell(readings: tuple[Reading, ...], said: str) -> None:
    names: tuple[Name, ...] = ("weight", "order", "ids")
    untried = Route("sums", untried="there are no sums")
    routes = [*map(route, names, readings), untried]
    assert overall(routes, {"region": 40}) == SAID + said


def test_a_file_that_gives_values_back_names_the_routes() -> None:
    found = overall([route("weight", "restores"), route("order", "association")], {"region": 40})
    assert found == f"The file gives protected values back by 1 route, of {VALUES}: survey weight"
