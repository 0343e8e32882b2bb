"""Text whose parts stand deep inside each other is refused with a sentence, wherever text is read."""

from pathlib import Path

import pytest

from sfumato import catalogue, read_schema
from sfumato.errors import ParameterError, SchemaError


@pytest.mark.parametrize(
    "text",
    [
        "MDAV(" * 3000,
        "MDAV(3)" + " + MDAV(3)" * 5000,
        "GlobalRecoding(map=" + "[" * 3000 + "]" * 3000 + ")",
        "MDAV(k=" + "-" * 5000 + "3)",
        "(" * 300 + "MDAV(3)" + ")" * 300,
    ],
)
def test_methods_and_measures(text: str) -> None:
    with pytest.raises(ParameterError, match="cannot read"):
        catalogue.parse(text)


def test_schemas(tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text("x = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(SchemaError, match="too deep"):
        read_schema(file)
