"""The external report tells nothing that helps to undo the protection: no risk, parameter, seed or record."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sfumato
from sfumato import ParameterError
from sfumato.compare.examine.facts import deeds
from sfumato.report.release import DEEDS
from sfumato.report.summary import Summary
from sfumato.report.wording import percentage

SEED, WINDOW, GROUP = 918_273_645, 0.137, 7


class _Words(HTMLParser):
    """Collects what a reader of the page sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.inside):
            self.seen.append(data)


@pytest.fixture(scope="module")
def told() -> Summary:
    survey = sfumato.household_survey(120)
    chain = (
        sfumato.GlobalRecoding(groups=5, rare=0.05)
        + sfumato.LocalSuppression(2, variables=("region", "sex", "marital"))
        + sfumato.RankSwapping(WINDOW)
    )
    measures = [sfumato.GlobalDataUtility(), sfumato.DistanceLinkage(distance="gower"), sfumato.IndividualRisk()]
    results = sfumato.Experiment(survey, [chain, sfumato.MDAV(GROUP)], measures, seed=SEED).run()
    risk, utility = "DistanceLinkage(distance='gower')", "GlobalDataUtility"
    chosen = results.choose(utility=utility, at_most={risk: 0.99}).chosen
    assert chosen is not None
    found = sfumato.examine(results, chosen, risk=risk, utility=utility)
    return sfumato.summarise(
        results,
        found,
        risk=risk,
        utility=utility,
        at_most={risk: 0.99},
        facts=sfumato.SweepFacts(released="survey.protected.csv"),
    )


@pytest.fixture(scope="module")
def pages(told: Summary, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = sfumato.write_report(told, tmp_path_factory.mktemp("release"), audience="external").parent
    words = _Words()
    words.feed((folder / "about.html").read_text())
    texts = {name: (folder / name).read_text() for name in ("about.md", "about.json")}
    assert {path.name for path in folder.iterdir()} == {"about.html", "about.md", "about.json"}
    return {**texts, "about.html": " ".join(words.seen)}


def test_no_risk_parameter_seed_or_fingerprint(told: Summary, pages: dict[str, str]) -> None:
    chosen = told.chosen
    assert chosen is not None
    risks = [m.key for m in told.measures if m.purpose == "risk"]
    forbidden = [str(SEED), told.run.fingerprint, str(WINDOW), "13.7", repr(chosen.label), chosen.label]
    forbidden += [chosen.figures[key].text for key in risks]
    forbidden += [line.figures[key].text for line in told.candidates for key in risks if key in line.figures]
    forbidden += [m.name for m in told.measures if m.purpose == "risk"] + ["linkage", "IndividualRisk", "at most"]
    for name, text in pages.items():
        assert [word for word in forbidden if word in text] == [], name


def test_no_word_of_risk_and_no_count_of_what_was_suppressed(told: Summary, pages: dict[str, str]) -> None:
    assert told.detail is not None and told.detail.release is not None
    for name, text in pages.items():
        # the number of records and of variables and pairs are in the file itself
        allowed = {str(told.detail.release.records), f"{told.detail.release.records:,}", "2018"}
        variables = len(told.detail.release.variables)
        allowed |= {str(n) for n in range(variables * (variables - 1) // 2 + 1)}
        # and so is the share of values missing
        allowed |= {percentage(v.missing).split()[0] for v in told.detail.release.variables}
        allowed |= {str(v.missing) for v in told.detail.release.variables} if name == "about.json" else set()
        numbers = set(re.findall(r"\d[\d.,]*\d|\d", text))
        assert numbers <= allowed, (name, numbers - allowed)
        assert not re.search(r"\brisk\b|\bseed\b|\bintruder\b|\bunique", text, re.IGNORECASE), name


def test_it_tells_what_was_done_what_was_lost_and_what_to_avoid(pages: dict[str, str]) -> None:
    for text in pages.values():
        assert "rank swapping" in text.lower()
        assert "some values are left blank" in text and "not missing at random" in text
        assert "grouped into broader classes" in text
        assert "can be used as before" in text and "not for " in text


def test_nothing_chosen_is_nothing_to_publish(told: Summary, tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(ParameterError, match="nothing was chosen"):
        sfumato.write_report(replace(told, detail=None), tmp_path, audience="external")
    with pytest.raises(ParameterError, match="audience must be one of internal, external"):
        sfumato.write_report(told, tmp_path, audience="public")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_internal_report_holds_what_the_external_one_leaves_out(told: Summary, tmp_path: Path) -> None:
    folder = sfumato.write_report(told, tmp_path).parent
    markdown = (folder / "report.md").read_text()
    assert str(SEED) in markdown and "Records most at risk" in markdown
    assert json.loads((folder / "results.json").read_text())["run"]["seed"] == SEED


def test_words_for_every_treatment() -> None:
    for field in ({"groups": (("a", "b"),)}, {"cuts": (1.0,)}, {"top": 1.0}, {"base": 5.0}, {"suppressed": 3}):
        (deed,) = deeds(sfumato.Treatment(**field))
        assert DEEDS[deed]
    assert deeds(sfumato.Treatment(perturbed=True)) == ("perturbed",) and deeds(sfumato.Treatment()) == ()
