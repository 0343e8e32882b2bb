"""Texts of which each record has its own: numbers of receipts or accounts that stand in the order of a secret."""

import numpy as np
import pandas as pd
import pytest

from sfumato import Microdata, Noise, RankSwapping, Schema, Variable, audit
from sfumato.auditing.repairs import prepare
from sfumato.core import Method

N = 900
SWAPPED = RankSwapping(0.15, variables=("income",))
SCHEMA = Schema((Variable("receipt", "nominal"), Variable("income", role="confidential")))


def receipts(kind: str, seed: int = 1) -> Microdata:
    """A receipt that rises with the income, by its figures or by its letters, or has nothing to do with it."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 1, N).round()
    place = income.argsort().argsort() if kind != "apart" else rng.permutation(N)
    number = place * 3 + rng.integers(0, 3, N)
    if kind == "letters":  # the order is in the letters, and figures follow that have none
        texts = [f"{chr(97 + one // 26**2)}{chr(97 + one // 26 % 26)}{chr(97 + one % 26)}" for one in place]
        texts = [f"{text}-{rng.integers(1000, 9999)}" for text in texts]
    elif kind == "long":
        texts = [str(2**60 + int(one)) for one in number]
    else:
        texts = [f"R{one}" for one in number]  # not in alphabetical order: R10 comes before R9
    table = pd.DataFrame({"receipt": texts, "income": income, "sex": rng.choice(["f", "m"], N)})
    return Microdata.from_frame(table.sample(frac=1, random_state=seed), SCHEMA)


@pytest.mark.parametrize("kind", ["figures", "letters", "long"])
@pytest.mark.parametrize("method", [SWAPPED, Noise(0.3, variables=("income",))])
def test_a_text_in_the_order_of_a_secret_is_an_alarm_and_goes(kind: str, method: Method) -> None:
    data = receipts(kind)
    made = method.protect(data, rng=2)
    worst = audit(data, made)["columns"].worst
    assert worst is not None and worst.alarm and worst.variable == "income" and worst.restored > 0.95
    assert worst.columns == ("receipt",)
    assert worst.evidence == ("receipt in alphabetical order" if kind == "letters" else "figures of receipt",)
    ready = prepare(data, made, seed=1)
    assert ready.checked.passed and ready.table.names == ("income", "sex")
    assert "receipt is left out, because it tells income" in ready.checked.done


def test_the_first_characters_of_a_text_tell_as_well() -> None:
    rng = np.random.default_rng(3)
    region = np.array(["north", "south", "east", "west"])[rng.integers(0, 4, N)]
    number = rng.permutation(N)
    table = pd.DataFrame({"receipt": [f"{r[0]}{n}" for r, n in zip(region, number, strict=True)], "region": region})
    masked = table.assign(region=table["region"].mask(rng.random(N) < 0.1))
    worst = audit(Microdata.from_frame(table), masked)["columns"].worst
    assert worst is not None and worst.alarm and worst.evidence[0].startswith("first ")
    assert worst.columns == ("receipt",) and worst.restored == 1


def test_a_text_in_another_order_stays() -> None:
    for seed in range(5):
        data = receipts("apart", seed)
        ready = prepare(data, SWAPPED.protect(data, rng=2), seed=1)
        assert ready.checked.passed and "receipt" in ready.table.names


def test_a_text_tells_nothing_of_itself() -> None:
    data = receipts("apart")
    masked = data.to_frame("pandas")
    masked.loc[masked.index[::9], "receipt"] = None
    worst = audit(data, masked)["columns"].worst
    assert worst is not None and not worst.alarm and worst.variable == "receipt" and worst.columns != ("receipt",)
