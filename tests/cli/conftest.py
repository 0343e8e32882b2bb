"""The small survey and its schema as files, for the tests of commands."""

from pathlib import Path

import pytest
from small_survey import write_schema, write_survey


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write_survey(tmp_path)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    return write_schema(tmp_path)
