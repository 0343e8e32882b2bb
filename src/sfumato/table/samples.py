"""A made-up household survey that looks like a real one: nobody in it exists."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arguments import require_whole
from sfumato.table.frames import to_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind, Role, Schema, Variable

POPULATION = 2_000_000  # persons the weights add up to
Numbers = NDArray[np.float64]

REGIONS = ("Nordmark", "Hochland", "Seenplatte", "Ostau", "Mittelgau", "Westfeld", "Suedtal", "Hauptstadt")
_REGION_SHARE = np.array([0.06, 0.08, 0.09, 0.11, 0.13, 0.15, 0.17, 0.21])
_REGION_PAY = np.array([-0.12, -0.10, -0.05, -0.08, 0.00, 0.03, 0.06, 0.15])  # added to log earnings
_REGION_RATE = np.array([2.2, 1.9, 1.6, 1.4, 1.1, 1.0, 0.9, 0.6])  # small regions are sampled more densely
URBANITY = ("rural", "town", "city")
EDUCATION = ("primary", "lower secondary", "upper secondary", "bachelor", "master or doctorate")
MARITAL = ("single", "married", "divorced", "widowed")
TENURE = ("owner", "private tenant", "social tenant", "rent-free")
NOT_EMPLOYED = "not employed"
OCCUPATIONS = (
    "manager", "professional", "technician", "clerk", "service or sales", "farming", "craft", "machine operator",
    "elementary", "self-employed", NOT_EMPLOYED,
)  # fmt: skip
# how often each occupation is held at each level of education, lowest first
_OCCUPATION_ODDS = np.array(
    [
        [0, 0, 0, 2, 20, 6, 14, 16, 36, 6],
        [1, 0, 3, 8, 26, 4, 24, 16, 12, 6],
        [4, 3, 16, 20, 22, 2, 15, 7, 3, 8],
        [10, 38, 22, 12, 6, 1, 2, 1, 1, 7],
        [16, 60, 10, 3, 1, 0, 0, 0, 0, 10],
    ],
    dtype=np.float64,
)


@dataclass(frozen=True)
class _Persons:
    """The columns drawn so far that later ones depend on."""

    household: NDArray[np.intp]
    region: NDArray[np.intp]
    urbanity: NDArray[np.intp]
    age: NDArray[np.intp]
    female: NDArray[np.bool_]
    education: NDArray[np.intp]
    occupation: NDArray[np.intp]


def household_survey(households: int = 1_700, seed: int = 2024) -> Microdata:
    """Make a household survey of persons: the same one for the same number of households and seed.

    Persons live in households of one of eight regions, which are sampled at unequal rates; education depends on age,
    occupation on education, earnings on both, wealth on income, rent on the household. People round their amounts, and
    3 to 8 percent of some are missing, more often among the old, the rich and the self-employed.

    >>> survey = household_survey()
    >>> survey.schema.weight, survey.schema.household, survey.schema.id
    ('weight', 'household', 'person')
    """
    require_whole("household_survey", least=10, households=households)
    require_whole("household_survey", least=0, most=None, seed=seed)
    rng = np.random.default_rng(np.random.SeedSequence([seed, households]))
    region, urbanity, weight = _places(rng, households)
    household, age, female, partnered = _members(rng, households)
    education = _education(rng, age)
    occupation = _occupation(rng, age, female, education)
    persons = _Persons(household, region[household], urbanity[household], age, female, education, occupation)
    size = np.bincount(household)[household]
    hours = _hours(rng, persons, size)
    amounts = _amounts(rng, persons, hours)
    wealth = _wealth(rng, persons, amounts["income"])
    tenure = _tenure(rng, persons, amounts["income"])
    rent = _rent(rng, persons, amounts["income"], tenure)
    _leave_out(rng, persons, amounts, wealth)
    weights = weight[household]
    columns: dict[str, Any] = {
        "person": np.arange(1, len(household) + 1) + 100_000,
        "household": household + 1,
        "weight": np.round(weights * POPULATION / weights.sum(), 2),
        "region": np.array(REGIONS)[persons.region],
        "urbanity": np.array(URBANITY)[persons.urbanity],
        "sex": np.where(female, "female", "male"),
        "age": age,
        "marital": np.array(MARITAL)[_marital(rng, age, partnered)],
        "education": np.array(EDUCATION)[education],
        "occupation": np.array(OCCUPATIONS)[occupation],
        "household_size": size,
        "tenure": np.array(TENURE)[tenure],
        "hours": hours,
        **amounts,
        "wealth": wealth,
        "rent": rent,
    }
    return Microdata.from_arrow(
        *to_arrow(pa.table({name: _column(values) for name, values in columns.items()})), SCHEMA
    )


def _places(rng: np.random.Generator, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Numbers]:
    """Draw each household's region and urbanity as the sample has them, and its weight."""
    odds = np.array([[0.50, 0.35, 0.15]] * 7 + [[0.0, 0.1, 0.9]])  # rural, town, city within each region
    cells = (_REGION_SHARE[:, None] * odds).ravel()
    rate = (_REGION_RATE[:, None] * np.array([1.3, 1.0, 0.8])).ravel()
    response = np.tile([0.75, 0.68, 0.58], len(REGIONS))
    sampled = cells * rate * response
    cell = rng.choice(len(cells), size=n, p=sampled / sampled.sum())
    # known response rates would give 1 / response; the survey estimates them, so weights vary a little between cells
    estimated = response * rng.uniform(0.95, 1.05, len(cells))
    return cell // 3, cell % 3, (1 / (rate * estimated))[cell] * rng.uniform(0.97, 1.03, n)


def _members(
    rng: np.random.Generator, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw the members of each household: household, age, sex, and whether a partner lives there too."""
    rows: list[tuple[int, int, bool, bool]] = []
    kinds = rng.choice(5, size=n, p=[0.34, 0.27, 0.29, 0.07, 0.03])  # alone, couple, family, lone parent, three gen.
    numbers = rng.choice([1, 2, 3, 4], size=n, p=[0.42, 0.40, 0.14, 0.04])  # of children
    for household, kind in enumerate(kinds):
        couple, children = kind in (1, 2, 4), kind in (2, 3, 4)
        if children:
            head = int(np.clip(rng.normal(43, 8), 22, 64))
        else:  # the young and the old live without children
            head = int(np.clip(rng.normal(28, 6) if rng.random() < 0.35 else rng.normal(62, 14), 18, 95))
        woman = bool(rng.random() < (0.85 if kind == 3 else 0.5))
        rows.append((household, head, woman, couple))
        youngest_adult = head
        if couple:
            partner = int(np.clip(head + rng.normal(-2 if not woman else 2, 4), 18, 95))
            same_sex = rng.random() < 0.03
            rows.append((household, partner, woman if same_sex else not woman, True))
            youngest_adult = min(head, partner)
        if children:
            oldest = min(youngest_adult - 18, 29)
            for _ in range(numbers[household]):
                gap = int(np.clip(rng.normal(29, 5), 18, 42))
                child = int(np.clip(youngest_adult - gap, 0, oldest))
                rows.append((household, child, bool(rng.random() < 0.487), False))
        if kind == 4:
            rows.append((household, int(np.clip(head + rng.normal(27, 3), 55, 99)), bool(rng.random() < 0.75), False))
    households, age, female, partnered = (np.array(column) for column in zip(*rows, strict=True))
    return households, age, female, partnered


def _marital(rng: np.random.Generator, age: NDArray[np.intp], partnered: NDArray[np.bool_]) -> NDArray[np.intp]:
    draw = rng.random(len(age))
    married = partnered & (draw < np.clip((age - 18) / 22, 0, 0.9))
    alone = ~partnered & (age >= 20)
    widowed = alone & (draw < np.clip((age - 50) / 50, 0, 0.75))
    divorced = alone & ~widowed & (rng.random(len(age)) < np.clip((age - 25) / 60, 0, 0.4))
    return np.asarray(np.select([married, widowed, divorced], [1, 3, 2], 0))


def _education(rng: np.random.Generator, age: NDArray[np.intp]) -> NDArray[np.intp]:
    born_later = (60 - np.clip(age, 25, 90)) / 25  # those born later learned longer
    drawn = np.digitize(1.75 + 0.45 * born_later + rng.normal(0, 1.05, len(age)), [0.3, 1.2, 2.3, 3.1])
    highest = np.select([age < 15, age < 18, age < 21, age < 24], [0, 1, 2, 3], 4)
    return np.asarray(np.minimum(drawn, highest))


def _occupation(
    rng: np.random.Generator, age: NDArray[np.intp], female: NDArray[np.bool_], education: NDArray[np.intp]
) -> NDArray[np.intp]:
    odds = _OCCUPATION_ODDS[education]
    odds = odds * np.where(female[:, None], [0.7, 1.1, 1, 1.6, 1.6, 0.8, 0.3, 0.5, 1.2, 0.8], 1.0)
    cumulated = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    drawn = np.minimum((rng.random(len(age))[:, None] > cumulated).sum(axis=1), 9)
    working = np.interp(
        age, [16, 17, 20, 26, 35, 54, 60, 65, 70, 76], [0, 0.25, 0.5, 0.8, 0.87, 0.86, 0.6, 0.2, 0.06, 0]
    )
    working = (working - 0.10 * (female & (age > 24) & (age < 60)) + 0.03 * (education - 2)) * (age >= 16)
    return np.where(rng.random(len(age)) < working, drawn, OCCUPATIONS.index(NOT_EMPLOYED))


def _hours(rng: np.random.Generator, persons: _Persons, size: NDArray[np.intp]) -> Numbers:
    usual = rng.choice([38.0, 40.0, 40.0, 42.0, 45.0, 50.0], len(size))
    part_time = rng.random(len(size)) < 0.08 + 0.40 * (persons.female & (size > 2)) + 0.3 * (persons.age < 22)
    usual = np.where(part_time, rng.choice([10.0, 16.0, 20.0, 20.0, 25.0, 30.0], len(size)), usual)
    usual += (persons.occupation == 9) * rng.choice([0.0, 5.0, 10.0, 20.0], len(size))
    return np.where(persons.occupation == OCCUPATIONS.index(NOT_EMPLOYED), 0.0, np.minimum(usual, 80))


def _amounts(rng: np.random.Generator, persons: _Persons, hours: Numbers) -> dict[str, Numbers]:
    """Draw the yearly amounts: earnings, capital income, benefits, their sum, and the tax on it."""
    age, n = persons.age, len(persons.age)
    level = 10.15 + 0.17 * persons.education + 0.030 * (age - 40) - 0.0011 * (age - 40) ** 2 * (age > 30)
    level += _REGION_PAY[persons.region] - 0.10 * persons.female + 0.20 * (persons.occupation == 0)
    spread = np.where(persons.occupation == 9, 0.75, 0.36)
    rare = np.where(rng.random(n) < 1 / 400, rng.uniform(4, 12, n), 1.0)
    earnings = np.exp(level + spread * rng.normal(size=n)) * (np.maximum(hours, 1) / 40) ** 0.9 * rare * (hours > 0)
    owns = rng.random(n) < np.clip(0.05 + 0.006 * (age - 20) + 0.05 * persons.education, 0, 0.6) * (age >= 18)
    capital = np.exp(5.6 + 0.25 * persons.education + 0.015 * (age - 40) + 1.5 * rng.normal(size=n)) * owns * rare
    pension = np.exp(9.55 + 0.13 * persons.education + 0.25 * rng.normal(size=n)) * (age >= 63) * (hours < 20)
    at_work_age = (age >= 18) & (age < 63)
    transfer = rng.gamma(3.0, 2_000, n) * at_work_age * (earnings < 12_000) * (rng.random(n) < 0.6)
    small = rng.gamma(2.0, 800, n) * (age >= 18) * (rng.random(n) < 0.15)
    earnings, capital, benefits = (_rounded(rng, amount) for amount in (earnings, capital, pension + transfer + small))
    income = earnings + capital + benefits
    deducted = income * rng.beta(2, 10, n)
    return {
        "earnings": earnings,
        "capital_income": capital,
        "benefits": benefits,
        "income": income,
        "tax": np.round(_tax(income - deducted) * (income > 0)),
    }


def _tax(taxable: Numbers) -> Numbers:
    """Nothing up to 12,000, then 20, 35 and 48 percent of what lies above 12,000, 30,000 and 80,000."""
    above = [np.maximum(taxable - floor, 0) for floor in (12_000, 30_000, 80_000)]
    return np.asarray(0.20 * above[0] + 0.15 * above[1] + 0.13 * above[2])


def _wealth(rng: np.random.Generator, persons: _Persons, income: Numbers) -> Numbers:
    n = len(income)
    times = np.exp(np.log(0.4) + 0.045 * (np.clip(persons.age, 18, 75) - 25) + 1.1 * rng.normal(size=n))
    owned = (income + 2_000) * times
    debts = -rng.gamma(1.2, 9_000, n)
    held = np.where(rng.random(n) < 0.10, debts, owned) * (persons.age >= 18)
    return _rounded(rng, held)


def _tenure(rng: np.random.Generator, persons: _Persons, income: Numbers) -> NDArray[np.intp]:
    """Draw one tenure per household: owners are richer, older and live in the country."""
    count = np.bincount(persons.household)
    together = np.bincount(persons.household, income)
    eldest = np.zeros(len(count))
    np.maximum.at(eldest, persons.household, persons.age)
    urban = np.bincount(persons.household, persons.urbanity) / count
    owner = 1 / (1 + np.exp(-(-2.2 + together / 45_000 + 0.03 * (eldest - 40) - 0.8 * (urban - 1))))
    social = (together < 30_000) * 0.45
    draw, other = rng.random(len(count)), rng.random(len(count))
    drawn = np.select([draw < owner, other < 0.04, other < 0.04 + social], [0, 3, 2], 1)
    return np.asarray(drawn[persons.household])


def _rent(rng: np.random.Generator, persons: _Persons, income: Numbers, tenure: NDArray[np.intp]) -> Numbers:
    """Draw the monthly rent of a tenant household, the same for its members; none for the others."""
    together = np.bincount(persons.household, income)
    urban = np.array([0.75, 0.95, 1.25])[persons.urbanity]
    drawn = 330 * (1 + together / 40_000) ** 0.6 * np.exp(0.18 * rng.normal(size=len(together)))
    rent = drawn[persons.household] * urban * np.where(tenure == 2, 0.6, 1.0)
    return np.asarray(np.round(rent / 10) * 10 * ((tenure == 1) | (tenure == 2)))


def _rounded(rng: np.random.Generator, amount: Numbers) -> Numbers:
    """Round as people do: the larger the amount, the coarser; one in five knows the exact figure."""
    size = np.abs(amount)
    step = np.select([size < 1_000, size < 10_000, size < 100_000], [10, 100, 500], 5_000)
    step = np.where(rng.random(len(amount)) < 0.2, 1, step)
    return np.asarray(np.round(amount / step) * step + 0.0)


def _leave_out(rng: np.random.Generator, persons: _Persons, amounts: dict[str, Numbers], wealth: Numbers) -> None:
    """Leave answers out: more often the self-employed, the old and the rich; a sum with a part missing is missing."""
    adult = persons.age >= 18
    rich = amounts["income"] > np.quantile(amounts["income"][adult], 0.9)
    reluctant = 0.035 + 0.06 * (persons.occupation == 9) + 0.02 * (persons.age >= 65) + 0.05 * rich
    for name, factor in (("earnings", 0.8), ("capital_income", 0.7)):
        silent = adult & (rng.random(len(adult)) < factor * reluctant)
        for told in (name, "income", "tax"):
            amounts[told][silent] = np.nan
    wealth[adult & (rng.random(len(adult)) < 1.6 * reluctant)] = np.nan


def _column(values: NDArray[Any]) -> pa.Array:
    """Return a column as arrow: whole numbers as such, missing values as missing."""
    if values.dtype.kind != "f":
        return pa.array(values)
    missing = np.isnan(values)
    if np.array_equal(values[~missing], np.round(values[~missing])):
        return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
    return pa.array(values, mask=missing)


def _variable(name: str, kind: Kind, role: Role, label: str, categories: tuple[str, ...] = ()) -> Variable:
    return Variable(name, kind=kind, role=role, label=label, categories=categories)


SCHEMA = Schema(
    (
        _variable("person", "numeric", "identifier", "person number"),
        _variable("household", "numeric", "identifier", "household number"),
        _variable("weight", "numeric", "other", "survey weight"),
        _variable("region", "nominal", "key", "region of residence", REGIONS),
        _variable("urbanity", "ordinal", "key", "degree of urbanisation", URBANITY),
        _variable("sex", "nominal", "key", "sex", ("female", "male")),
        _variable("age", "numeric", "key", "age in years"),
        _variable("marital", "nominal", "key", "marital status", MARITAL),
        _variable("education", "ordinal", "key", "highest education completed", EDUCATION),
        _variable("occupation", "nominal", "key", "occupation group", OCCUPATIONS),
        _variable("household_size", "numeric", "key", "persons in the household"),
        _variable("tenure", "nominal", "other", "tenure of the dwelling", TENURE),
        _variable("hours", "numeric", "other", "usual hours of work a week"),
        _variable("earnings", "numeric", "confidential", "yearly earnings from work"),
        _variable("capital_income", "numeric", "confidential", "yearly income from capital and rents"),
        _variable("benefits", "numeric", "confidential", "yearly pensions and social benefits"),
        _variable("income", "numeric", "confidential", "yearly total income"),
        _variable("tax", "numeric", "confidential", "yearly income tax"),
        _variable("wealth", "numeric", "confidential", "net wealth"),
        _variable("rent", "numeric", "other", "monthly rent of the household"),
    ),
    weight="weight",
    household="household",
    id="person",
)
