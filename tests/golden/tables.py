"""Six tables and what became of them, made here from fixed draws."""

from functools import cache

import sfumato
from sfumato import Microdata
from sfumato.testing.tables import amounts, in_households, persons, with_gaps


@cache
def originals() -> dict[str, Microdata]:
    """Return six tables: amounts, persons, persons with gaps, households, a survey, and a register with dates."""
    survey = sfumato.household_survey(120, seed=7)
    return {
        "amounts": amounts(150, seed=5),
        "persons": persons(200, seed=6),
        "gaps": with_gaps(persons(200, seed=7), 0.06, seed=8),
        "households": in_households(persons(180, seed=9)),
        "survey": survey,
        "few": persons(12, seed=10),
    }


@cache
def protected() -> dict[str, Microdata]:
    """Return each table masked: noise, swapping, recoding and suppression, a synthetic one, and one of the survey."""
    tables = originals()
    numbers = ("age", "income")
    recoded = sfumato.GlobalRecoding(groups=4, rare=0.1) + sfumato.LocalSuppression(2)
    masks = {
        "amounts": sfumato.Noise(0.2),
        "persons": sfumato.RankSwapping(0.1, variables=numbers) + sfumato.PRAM(0.9, variables=("region",)),
        "gaps": recoded,
        "households": sfumato.RecordSwapping(0.1),
        "survey": sfumato.CARTSynthesis(),
        "few": sfumato.IndividualRanking(3, variables=numbers),
    }
    return {name: masks[name].protect(tables[name], rng=11) for name in tables}
