"""A project with a finished run, for the tests of what comes after it: made once, copied for each."""

import shutil
from pathlib import Path

import pytest

import sfumato
from sfumato.workbench.commands import sweep_asked
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft

OWN = ("LocalSuppression(k=2)", "LocalSuppression(k=3)", "MDAV(k=3)")
BOUND = 0.85  # that the two suppressions keep and the other one does not
FAMILIES = {"Reidentification(unit='household')": 1.0}  # none of these does anything for who knows a whole family


def begun(folder: Path, households: int = 60, bound: float = BOUND) -> Desk:
    """Return a desk with a small survey, three candidates of one's own and a bound, of which nothing was run."""
    desk = Desk(folder)
    data = sfumato.household_survey(households)
    sfumato.write(data, folder / "survey.csv")
    sfumato.write_schema(data, folder / "schema.toml")
    draft = Draft(
        source="survey.csv",
        schema=(folder / "schema.toml").read_text(),
        confirmed=True,
        own=OWN,
        proposed=False,
        at_most={"Reidentification()": bound, **FAMILIES},
        replicates=1,
    )
    desk.change(lambda _: draft, screen="open", what="begun")
    return desk


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a desk whose draft was run to its end."""
    folder = tmp_path_factory.mktemp("finished") / "project"
    folder.mkdir()
    desk = begun(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        draft = desk.now().draft
        sfumato.sweep(draft.source, **sweep_asked(desk, draft), bootstrap=False, workers=1, seed=7)
    return folder


@pytest.fixture
def swept(finished_run: Path, tmp_path: Path) -> Desk:
    """A desk whose draft was run to its end."""
    folder = tmp_path / "project"
    shutil.copytree(finished_run, folder)  # times and all: the report has to be as old as it is
    return Desk(folder)
