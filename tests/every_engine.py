"""The law of parts on an engine, for every measure and method that claims it: tables cut in several ways.

Figures in memory and tables masked whole are found once and kept. ``make test`` takes as many records as
``how_often.RECORDS`` says, ``make test-long`` as many as are promised.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from how_often import CUTS, RECORDS
from methods_in_parts import METHODS
from scanned import scanned
from sfumato import Engine, Measure, Measurement, Method, Microdata, NotApplicable, TableInParts
from sfumato.compare.work import protected_parts
from sfumato.engine.engine import _entered
from sfumato.pair import Pair
from sfumato.testing.of_measures import agree as same
from tables import persons
from test_contract_parts import IN_PARTS, measures, with_gaps

LOOKED_FOR = 500  # records of a sample, where a measure draws one

# drawn in the order of the values or not at all: in parts as in memory, to the last value
AS_IN_MEMORY = (
    "RankSwapping",
    "GroupedSwapping",
    "GroupedMicroaggregation",
    "Resampling",
    "DistributionDistortion",
    "TopBottomCoding",
    "GlobalRecoding",
    "LocalSuppression",
    "VariableRemoval",
)


def all_measures() -> list[Measure]:
    """Return every measure that claims parts, as its contract has it; of those that search, with a sample."""
    found = []
    for cls in IN_PARTS:
        for measure in measures(cls):
            size: dict[str, Any] = {one.name: LOOKED_FOR for one in fields(measure) if one.name in ("sample", "points")}
            found.append(replace(measure, **size) if measure.about.parts == "sample" else measure)
    return found


each_thing = pytest.mark.parametrize("thing", [*all_measures(), *METHODS], ids=repr)


@cache
def tables() -> tuple[Microdata, Microdata]:
    """Return persons with gaps, in no households, and the same with noise and categories changed at random."""
    data = with_gaps(persons(RECORDS).without(["household"]), 0.03, seed=3)
    chain = sfumato.Noise(0.2, variables=("income",)) + sfumato.PRAM(0.9, variables=("region",))
    return data, chain.protect(data, rng=1)


class OnDisk:
    """The tables cut in several ways, each written once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pairs: dict[int, Pair] = {}

    def pair(self, number: int) -> Pair:
        """Return both tables in so many parts."""
        if number not in self._pairs:
            both = [scanned(one, self.folder / f"{place}-{number}", number) for place, one in enumerate(tables())]
            self._pairs[number] = Pair.of(*both)
        return self._pairs[number]

    def original(self, number: int) -> TableInParts:
        """Return the original in so many parts."""
        return TableInParts(tuple(self.pair(number).original.parts))


@cache
def _whole() -> Pair:
    return Pair.of(*tables())


@cache
def in_memory(measure: Measure) -> Measurement | str:
    """Return what a measure says in memory, or its refusal."""
    try:
        return measure.evaluate_pair(_whole(), rng=1)
    except NotApplicable as refusal:
        return str(refusal)


def hold_measure(measure: Measure, disk: OnDisk) -> None:
    """Require the figures in memory of a measure, on the engine around, however the tables are cut."""
    expected = in_memory(measure)
    for number in CUTS:
        pair = disk.pair(number)
        try:
            found = measure.evaluate_pair(Pair.of(pair.original.parts, pair.protected.parts), rng=1)
        except NotApplicable as refusal:
            assert str(refusal) == expected, number
            continue
        assert isinstance(expected, Measurement), f"{number} parts gave {found.value}; in memory: {expected}"
        same(expected, found)


@cache
def masked_whole(method: Method) -> Microdata:
    """Return the table that a method makes in memory.

    Draws that are numbered by record are other ones than those of ``protect`` in memory: there the table is masked as
    one part, which never lay on disk.
    """
    data = tables()[0]
    if type(method).__name__ in AS_IN_MEMORY:
        return method.protect(data, rng=5)
    return protected_parts(method, TableInParts((data,)), np.random.default_rng(5)).loaded()


def hold_method(method: Method, disk: OnDisk, folder: Path) -> None:
    """Require the table in memory of a method, on the engine around, however the original is cut."""
    expected = masked_whole(method)
    for number in CUTS:
        found = method.protect(disk.original(number), rng=5, folder=folder / f"made-{number}").loaded()
        assert found.schema == expected.schema and len(found) == len(expected)
        for name in expected.names:
            np.testing.assert_array_equal(
                found.columns[name], expected.columns[name], err_msg=f"{name}, {number} parts"
            )


@contextmanager
def entered(engine: Engine) -> Iterator[None]:
    """Compute on an engine that stays open afterwards."""
    _entered.append(engine)
    try:
        yield
    finally:
        _entered.remove(engine)


def hold(thing: Measure | Method, disk: OnDisk, folder: Path) -> None:
    """Require of a measure or a method what it gives in memory."""
    if isinstance(thing, Measure):
        hold_measure(thing, disk)
    else:
        hold_method(thing, disk, folder)
