"""Methods that mask tables in parts, and a table for them: the tests of every engine go through all of them."""

import sfumato
from sfumato import Method, Microdata
from tables import persons

METHODS: list[Method] = [
    sfumato.Noise(0.3),
    sfumato.Rounding(scale=0.5),
    sfumato.Rounding({"income": 100.0}, random=True),
    sfumato.RankSwapping(0.1),
    sfumato.GroupedSwapping(0.1),
    sfumato.GroupedMicroaggregation(0.1),
    sfumato.Resampling(2),
    sfumato.DistributionDistortion(variables=("age",)),
    sfumato.IndividualRanking(3) + sfumato.RankSwapping(0.2, variables=("income",)),
    sfumato.CorrelatedNoise(0.2),
    sfumato.KimNoise(0.5),
    sfumato.NormalSynthesis(),
    sfumato.TopBottomCoding(0.05),
    sfumato.GlobalRecoding(groups=4, rare=0.1),
    sfumato.GlobalRecoding(bins={"age": 10}) + sfumato.PRAM(0.9, variables=("region",)),
    sfumato.GlobalRecoding(bins={"age": 10}) + sfumato.LocalSuppression(3, variables=("region", "sex", "age")),
    sfumato.LocalSuppression(3, variables=("region", "sex", "education"), caps={"region": 0.1}),
    sfumato.PRAM(0.8),
    sfumato.PRAM(0.7, invariant=True, variables=("region", "health")),
    sfumato.PRAM(0.7, strata=("sex",), variables=("region", "health")),
    sfumato.Sampling(0.6) + sfumato.Noise(0.1),
    sfumato.Sampling(0.5, strata=("sex", "region")),
    sfumato.VariableRemoval(variables=("sex",)),
    sfumato.VariableRemoval() + sfumato.PRAM(0.9) + sfumato.Noise(0.1, variables=("income",)),
]


def table(records: int) -> Microdata:
    """Persons with gaps, and without the household, whose members may lie in several parts."""
    from test_contract_parts import with_gaps

    return with_gaps(persons(records).without(["household"]), 0.05, seed=3)
