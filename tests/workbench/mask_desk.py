"""A desk with the demo survey on it, for the tests of the screen Mask."""

from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from pages import Bench

import sfumato
from sfumato.table.microdata import Microdata
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft

KEYS = ("region", "sex", "age", "education")


def on(folder: Path, table: pa.Table | Microdata, file: str = "t.csv", **said_: object) -> Bench:
    """Put a table on a desk, confirmed."""
    made = Bench(Desk(folder / "project"))
    sfumato.write(table if isinstance(table, Microdata) else Microdata.from_frame(table), made.desk.folder / file)
    made.post("open", "choose", name=file)
    made.post("open", "confirm")
    made.desk.change(lambda draft: draft.but(**said_), screen="mask", what="set up")
    return made


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The demo survey with its roles."""
    data = sfumato.household_survey(120)
    made = on(tmp_path_factory.mktemp("survey"), data)
    made.desk.change(lambda draft: draft.but(schema=made.desk.restated(data.schema)), screen="variables", what="roles")
    return made


@pytest.fixture
def fresh(survey: Bench) -> Bench:
    """The survey without any candidate."""
    survey.desk.change(
        lambda old: Draft(source=old.source, confirmed=True, schema=old.schema), screen="open", what="anew"
    )
    return survey


def refusal(answer: httpx.Response) -> str:
    """Return what a page says at the field that was refused."""
    return answer.text.partition('class="problem"')[2][:400]


def put(bench: Bench, *own: str) -> None:
    bench.desk.change(lambda draft: draft.but(own=own), screen="mask", what="set up")


# the command of the whole draft
