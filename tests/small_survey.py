"""A small file to work on, and the command line as a test calls it."""

from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from sfumato.cli import app


def run(*words: object) -> Any:
    """Call the command line in this process; what it prints and its exit code come back."""
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def write_survey(folder: Path) -> Path:
    """Write eighty records with decimal commas, semicolons, a category and a missing value."""
    rng = np.random.default_rng(3)
    lines = ["id;income;tax;region"]
    for i in range(80):
        income = f"{rng.lognormal(3):.2f}".replace(".", ",")
        tax = "" if i == 7 else f"{rng.lognormal(2):.2f}".replace(".", ",")
        lines.append(f"{i};{income};{tax};{'north' if i % 2 else 'south'}")
    path = folder / "survey.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_schema(folder: Path) -> Path:
    """Write what that file does not tell by itself, and that somebody has looked at every variable."""
    path = folder / "survey.toml"
    others = "".join(f'[variables.{name}]\nrole = "other"\n' for name in ("income", "tax", "region"))
    path.write_text(f'id = "id"\n[variables.id]\nkind = "nominal"\nrole = "identifier"\n{others}')
    return path
