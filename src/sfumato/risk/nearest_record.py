"""Distance to the closest record: whether protected records lie nearer to the originals than other people do."""

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.data.recoding import Recoding
from sfumato.errors import NotApplicable
from sfumato.kernels.mixed_distance import Points, nearest, slack
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import Floats, Notes, compared, followed
from sfumato.risk.mixed_points import mixed_points
from sfumato.risk.nearest_links import Bridge

CLOSEST = 0.05
WEAK = (
    "distance to the closest record is weak evidence: a file can pass and still give away who is in it; never release "
    "on its strength"
)


@catalogued(
    MeasureAbout(
        title="Nearness to the original records, beside that of other people",
        source="Distance to the closest record, as in Park et al. (2018), Data synthesis based on generative "
        "adversarial networks; its weakness: Yao et al. (2025), The DCR delusion, arXiv 2505.01524",
        purpose="risk",
        counts=("median distance",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="two missing values are equal; a missing and a present value are as far apart as can be",
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        records="protected",
        caveat=WEAK,
        formula="value = max(0, 2 u - 1),   u = P(d < D) + P(d = D) / 2\n"
        "d = distance of a protected record to the nearest original\n"
        "D = distance of an original to the nearest other one, or of a held-out record to an original\n"
        "distance = Gower: sum over the variables of differences from 0 to 1",
        reading="0 is what fresh draws from the population give, 1 a copy; 0.2 says that protected records lie "
        "nearer to the originals than other people do, in a way that a fifth of copies would explain. Look at the "
        'part "copies of an original" as well: a file of one percent copies scores 0.01 and gives those people away. '
        "Use it to find a synthesiser that memorises, never to show that a file is safe.",
    )
)
class NearestRecord(Measure):
    """How much nearer to the original records the protected ones lie than other people do: 0 no more, 1 all of them.

    Distances are of Gower's kind: per variable 0 to 1 (numbers by the range of both tables, ordered categories by their
    place, unordered ones equal or not), averaged. The yardstick is how near people come to an original who are not that
    original: without a ``holdout``, each original record's distance to the nearest other one (of another household,
    where the schema names them); with it, the distance of each held-out record to the nearest original. With u the
    probability that a protected record lies nearer to its nearest original than such a person does, ties counting half,
    the value is 2u - 1, or 0 if that is negative (Cliff's delta): 0 is expected of fresh draws from the same
    population, 1 of a copy of distinct records, and about q where a share q are copies and the rest are fresh. Means
    and modes lie near many people without being anyone's, so that a file can also score by being too smooth.

    ``holdout`` is the path of a file of records of the same population and variables that had no part in making the
    protected table. A random part of the original itself will not do where all of it was released, for then an exact
    copy passes; records that carry the id of an original are refused. With a holdout the parts also tell the share of
    protected records nearer to an original than to any held-out one, and what is expected of that if the file knows
    neither. Other parts: the share of protected records nearer than all but 5 percent of people come (5 percent is
    expected), of copies of an original, of originals with a twin, and the median distances. ``by_record`` is, per
    protected record, the share of people who come less near. A low figure shows little: see the caveat. The search is
    exact; doubling the records doubles the time and a little more, or up to four times where unordered categories,
    between which there is no near and far, are most of what is compared.

    >>> import pyarrow as pa
    >>> people = pa.table({"x": [0.0, 10.0, 20.0, 30.0, 40.0]})
    >>> NearestRecord().evaluate(people, pa.table({"x": [1.0, 40.0, 50.0, 55.0]})).value  # 1 and 0 are nearer, 10 ties
    0.25
    """

    holdout: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.holdout is not None and (not isinstance(self.holdout, str) or not self.holdout):
            raise parameters.refuse(self, f"holdout must be the path of a file, as text; got {self.holdout!r}")

    @property
    def reads(self) -> tuple[str, ...]:
        """The holdout: a store of figures knows it by its content."""
        return () if self.holdout is None else (self.holdout,)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        original, _ = pair.tables()
        names, notes = self.shared(pair)
        columns, more = compared(pair, names, asked=self.variables is not None)
        notes = (*notes, *more)
        if self.holdout is not None:
            return self._against_holdout(original, columns, notes)
        if len(original) < 2:
            raise NotApplicable("with one original record there is no other to compare distances with")
        bridge = Bridge.between(pair, tuple(columns))
        others = bridge.near_others.distance[bridge.people.place]
        if not np.isfinite(others).all():
            raise NotApplicable("all original records are of one household; there is no other person")
        return self._measured(bridge.near_file.distance[bridge.file.place], others, len(columns), {}, notes)

    def _against_holdout(self, original: Microdata, columns: dict[str, Recoding], notes: Notes) -> Measurement:
        kept = self._held_out(original, tuple(columns))
        # the held-out records are people like the originals: put into the protected table's terms as those are
        both, after = mixed_points([followed(original, kept, name, seen) for name, seen in columns.items()])
        before, held = both[: len(original)], both[len(original) :]
        points = Points.of(before)
        near = nearest(points, after).distance
        away = nearest(Points.of(held), after).distance
        tie = np.abs(near - away) <= slack(near, len(columns))
        nearer = np.where(tie, 0.5, near < away).mean()
        others = nearest(points, held).distance
        copies = int((others == 0).sum())
        if copies:
            notes = (*notes, f"{copies:,} of {len(held):,} held-out records equal an original: were they released?")
        parts = {
            "nearer to an original than to the holdout": float(nearer),
            "expected so": len(before) / (len(before) + len(held)),
        }
        return self._measured(near, others, len(columns), parts, notes)

    def _held_out(self, original: Microdata, names: tuple[str, ...]) -> Microdata:
        from sfumato.data.files import read

        assert self.holdout is not None
        kept = Microdata.beside(original, read(self.holdout).to_arrow())
        absent = [name for name in names if name not in kept.schema]
        if absent:
            raise NotApplicable(f"the holdout {self.holdout!r} has no {', '.join(absent)}")
        for name in names:
            if kept.schema[name].kind != original.schema[name].kind:
                raise NotApplicable(
                    f"{name!r} is {original.schema[name].kind} in the original and {kept.schema[name].kind} in the "
                    "holdout; it must hold records as the original does"
                )
        key = original.schema.id
        if key is not None and key in kept.schema:
            ids, others = (set(table.to_arrow()[key].to_pylist()) for table in (original, kept))
            if ids & others:
                raise NotApplicable(
                    f"{len(ids & others):,} of the {len(kept):,} held-out records have the id of an original; the "
                    "holdout must have had no part in making the protected table"
                )
        return kept

    def _measured(
        self, near: Floats, others: Floats, variables: int, parts: dict[str, float], notes: Notes
    ) -> Measurement:
        tie = slack(near, variables)
        by_record = less_near(near, others, tie)
        return self.measurement(
            max(2 * float(by_record.mean()) - 1, 0.0),
            parts={
                "nearer than all but 5 % of people": float(too_near(near, others, CLOSEST, tie).mean()),
                "copies of an original": float((near == 0).mean()),
                "originals with a twin": float((others == 0).mean()),
                "median distance": float(np.median(near)) / variables,
                "median distance of others": float(np.median(others)) / variables,
                **parts,
            },
            by_record=by_record,
            notes=(*notes, WEAK),
        )


def less_near(near: Floats, others: Floats, tie: Floats) -> Floats:
    """Return, for each distance, the share of the others that are greater; those that tie count half.

    >>> less_near(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0]), np.zeros(3)).tolist()
    [1.0, 0.625, 0.25]
    """
    ordered = np.sort(others)
    below, upto = np.searchsorted(ordered, near - tie, "left"), np.searchsorted(ordered, near + tie, "right")
    share: Floats = 1 - (below + upto) / (2 * len(ordered))
    return share


def too_near(near: Floats, others: Floats, closest: float, tie: Floats) -> Floats:
    """Tell of each distance whether it is below the quantile of others; at it, it counts for what is left of the share.

    >>> too_near(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0]), 0.25, np.zeros(3)).round(3).tolist()
    [1.0, 0.333, 0.0]
    """
    ordered = np.sort(others)
    place = min(max(int(np.ceil(closest * len(ordered) - 1e-9)), 1), len(ordered)) - 1
    limit = ordered[place]
    below, upto = np.searchsorted(ordered, limit, "left"), np.searchsorted(ordered, limit, "right")
    part = (closest * len(ordered) - below) / (upto - below)
    at = np.abs(near - limit) <= tie
    counted: Floats = np.where(at, min(part, 1.0), near < limit)
    return counted
