"""A project with a release, for the screens after the run: made once, copied for each test."""

import shutil
from pathlib import Path

import pytest
from pages import Bench, write_demo

import sfumato
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft

OWN = (
    "GlobalRecoding(bins={'age': (20, 40, 60)}) + LocalSuppression(3, variables=['region', 'sex', 'age'])",
    "GlobalRecoding(bins={'age': (15, 30, 45, 60, 75)}) + LocalSuppression(3, variables=['region', 'sex', 'age'])",
    "RankSwapping(p=0.1)",
)
# none of these does anything for who knows a whole family, so that households are not bounded
BOUND = {"Reidentification()": 0.4, "Reidentification(unit='household')": 1.0}


def make(folder: Path, **changes: object) -> Desk:
    """Run three candidates of the demo survey in a folder of the workbench."""
    from dataclasses import replace

    desk = Desk(folder)
    path = write_demo(folder, 100)
    data = sfumato.read(path)
    stated = replace(
        data.schema,
        variables=tuple(replace(v, declared=True) for v in data.schema),  # somebody has looked at every role
        weight="weight",
        household="household",
        id="person",
        scenarios=(sfumato.Scenario("register", keys=("region", "sex", "age"), k=3),),
    )
    draft = Draft(source="survey.csv", confirmed=True, schema=desk.restated(stated), own=OWN, proposed=False)
    draft = draft.but(at_most=BOUND, replicates=1, **changes)
    desk.change(lambda old: draft, screen="open", what="made for a test")
    run(desk)
    return desk


def run(desk: Desk) -> None:
    """Run the draft's sweep in this process."""
    from sfumato.workbench.commands import sweep_asked

    draft = desk.now().draft
    asked = {**sweep_asked(desk, draft), "out": desk.folder, "schema": desk.folder / "schema.toml"}
    sfumato.sweep(desk.source(draft), bootstrap=False, workers=1, **asked)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a run came to its end."""
    folder = tmp_path_factory.mktemp("swept") / "project"
    make(folder)
    return folder


@pytest.fixture
def swept(made_once: Path, tmp_path: Path) -> Bench:
    """A desk of its own on a copy of that folder."""
    shutil.copytree(made_once, tmp_path / "project")
    return Bench(Desk(tmp_path / "project"))
