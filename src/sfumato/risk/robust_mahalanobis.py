"""Robust Mahalanobis risk: values close to the truth, where outliers are given more room, in records by themselves."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.robust_covariance import minimum_covariance_determinant, squared_distances
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.measurement import Measurement
from sfumato.pair import Half, Pair
from sfumato.registry import catalogued

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Method = Literal["RMDID1", "RMDID2"]
PART = 0.05  # of a robust distance, in standard deviations: the unit of the interval


@catalogued(
    MeasureAbout(
        title="Robust Mahalanobis risk (RMDID)",
        source="Templ and Meindl (2008), Robust statistics meets SDC: new disclosure risk measures for continuous "
        "microdata masking; dRiskRMD of sdcMicro",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        counts=("RMDID1w", "RMDID2w"),
        missing="records with a missing value in one of the tables are left out, and counted in a note",
        caveat="one value that was left as it is puts the whole record at risk; and the intervals are narrow: with "
        "k = 0.01 a typical record has a thousandth of a standard deviation to either side. The MCD is the densest "
        "half found from 500 random starts, always the same; where many are nearly as dense, others may find another",
        formula="record i is unsafe (RMDID1) if |x_ij - y_ij| < k d_i for some j;   x, y z-scores of each table\n"
        "d_i = 0.05 sqrt(x_i' C^-1 x_i),   C = covariance of the original's z-scores by the reweighted MCD\n"
        "RMDID2: unsafe, and no other protected record within k2 (Euclidean);   value = share of records\n"
        "RMDID1w, RMDID2w = records at risk times the sum of their d_i, over n",
        reading="The share of records of which some value is known almost exactly and, with RMDID2, whose protected "
        "record stands alone, so that an intruder knows whose it is. Outliers get wider intervals, since a rough value "
        "betrays them already. Compare candidates: the level depends on k and on how many values are left untouched.",
    )
)
class RobustMahalanobisRisk(Measure):
    """Share of records with a value inside an interval that grows with how far out the record lies: RMDID1, RMDID2.

    Both tables are standardised, each by its own means and standard deviations. The robust Mahalanobis distance of an
    original record, from the minimum covariance determinant estimate, times 0.05 ``k`` is half the width of its
    intervals; a record is unsafe if one of its protected values lies inside (RMDID1). ``method="RMDID2"`` counts it
    only if no other protected record is within ``k2`` of its own. These are the formulas of ``dRiskRMD``'s risk1 and
    risk2; figures are equal where its search for the robust covariance, also from random starts, ends at the same
    records.

    Parts: both shares, and sdcMicro's weighted ones, which have no upper limit. ``by_record`` tells who is at risk.
    Constant variables are left out. Where half of the records lie in a plane (half of a variable is zero, or a total
    and its parts are given) there is no robust covariance, and the measure says so.
    """

    k: float = 0.01
    k2: float = 0.05
    method: Method = "RMDID2"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.number(self, "k", above=0)
        parameters.number(self, "k2", least=0)
        parameters.one_of(self, "method", get_args(Method))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        tables = [table.numeric(names) for table in pair.tables()]
        whole: Flags = np.asarray(~np.isnan(np.hstack(tables)).any(axis=1))
        if not whole.all():
            notes = (*notes, f"{int((~whole).sum()):,} of {len(whole):,} records left out: a value is missing")
        before, after = (_scores(table[whole]) for table in tables)
        varied = before.varied & after.varied
        constant = [name for name, varies in zip(names, varied, strict=True) if not varies]
        if constant:
            notes = (*notes, f"constant in one of the tables, left out: {', '.join(constant)}")
        kept = tuple(name for name, varies in zip(names, varied, strict=True) if varies)
        if not kept or len(before.values) < 2 * len(kept) + 2:
            raise NotApplicable(
                f"a robust covariance of {len(kept)} variables needs {2 * len(kept) + 2} records or more that are "
                f"complete; there are {len(before.values)}"
            )
        x, y = before.values[:, varied], after.values[:, varied]
        room = PART * self._distances(pair.original, kept, x, complete=bool(whole.all()))
        unsafe = (np.abs(x - y) < self.k * room[:, None]).any(axis=1)
        alone = unsafe & self._alone(y)
        at_risk = unsafe if self.method == "RMDID1" else alone
        by_record = np.full(len(whole), np.nan)
        by_record[whole] = at_risk
        return self.measurement(
            float(at_risk.mean()),
            parts={
                "RMDID1": float(unsafe.mean()),
                "RMDID2": float(alone.mean()),
                "RMDID1w": float(unsafe.mean() * room[unsafe].sum()),
                "RMDID2w": float(alone.mean() * room[alone].sum()),
            },
            by_record=by_record,
            notes=notes,
        )

    def _distances(self, original: Half, names: tuple[str, ...], x: Floats, *, complete: bool) -> Floats:
        """Return the robust Mahalanobis distances; those of an original without gaps are kept for all candidates."""
        if not complete:
            return _robust_distances(x, names)
        found: Floats = original.keep(("robust distances", names), lambda: _robust_distances(x, names))
        return found

    def _alone(self, y: Floats) -> Flags:
        """Tell which protected records have no other within ``k2``."""
        from scipy.spatial import cKDTree

        apart, _ = cKDTree(y).query(y, k=2)
        return np.asarray(apart[:, 1] > self.k2)


@dataclass(frozen=True, eq=False)
class _Scores:
    """A table's z-scores, and which variables vary."""

    values: Floats
    varied: Flags


def _scores(values: Floats) -> _Scores:
    mean, spread = mean_and_spread(values)
    return _Scores(standardised(values, mean, spread), spread > 0)


def _robust_distances(x: Floats, names: tuple[str, ...]) -> Floats:
    found = minimum_covariance_determinant(x)
    distances = None if found is None else squared_distances(x, np.zeros(x.shape[1]), found.covariance)
    if distances is None:
        heaped = [name for name, column in zip(names, x.T, strict=True) if _heap(column) * 2 > len(x)]
        told = (
            f"more than half of the values of {', '.join(heaped)} are equal" if heaped else "they may be tied exactly"
        )
        raise NotApplicable(
            f"half of the records lie in a plane of the variables ({told}), so that there is no robust covariance; "
            "leave one out by variables="
        )
    return np.sqrt(distances)


def _heap(column: Floats) -> int:
    """Return how many records share the most frequent value."""
    return int(np.unique(column, return_counts=True)[1].max())
