"""Inference: whether the protected table tells a person's value from what is known of that person."""

from dataclasses import replace

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.errors import NotApplicable
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.attack_and_control import ALL, EXCESS, GUIDANCE, MISSING, Outcome, Question, excess
from sfumato.risk.compared_variables import BandedVariable
from sfumato.risk.nearest_links import Bridge, inferred, inferred_by_others
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Schema


@catalogued(
    MeasureAbout(
        title="Inference",
        source=f"{GUIDANCE}; {EXCESS}",
        purpose="risk",
        counts=("attacks",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=f"{MISSING}; a missing value cannot be inferred: such an attack fails",
        kinds=ALL,
        paired=False,
        caveat="what holds of people in general is in the control, and may still be more than they want known",
        formula="value = max(0, (A - C) / (1 - C)) of the target for which it is greatest\n"
        "A = mean chance that the protected record nearest to i in the known variables shows its target\n"
        "    (the same category, or quantile class of a number)\n"
        "C = the same with the nearest other original, of another household",
        reading="0: the file tells of a person what statistics of other people tell as well; that part is no "
        "disclosure in the sense of the guidance. 0.1: it tells right of one in ten of those for whom the others' "
        'records fail. Of many targets the greatest is partly luck: read "low". A high control means that the target '
        "can be predicted by anyone.",
    )
)
class Inference(Question):
    """How much better the protected table lets a value be inferred from others than other people's records would.

    The intruder knows a person's keys (every other variable where the schema names no key), finds the protected record
    nearest in them, and takes its value of the target for the person's; where several are as near, one is drawn, and
    what counts is the chance that the value is right: the same category, or the same of so many quantile ``classes``
    of the original. ``targets`` are by default the confidential variables, or each variable in turn where the schema
    names none. Distances are of Gower's kind, as in :class:`NearestRecord`.

    The control is the same intruder with the nearest other original: what can be inferred about somebody from true
    records of everyone else. The value is (attack - control) / (1 - control), 0 where negative, of the target for which
    it is greatest (``by_variable`` has them all; the greatest of several is also the luckiest: see low). Parts hold
    both rates and their Wilson intervals at ``level``; low and high, the value at the ends of both intervals that are
    least and most alarming, hence wider than the level; the attacks, one per original record, as in ``by_record``; and
    the most frequent value, what a guess would earn.
    """

    targets: tuple[str, ...] | None = None
    classes: int = 10
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "targets")
        parameters.whole(self, "classes", least=2)

    def _attacked(self, pair: Pair, columns: dict[str, Recoding], rng: np.random.Generator) -> Outcome:
        outcomes, gains = {}, {}
        for target, known in self._attacks(pair.original.schema, tuple(columns)).items():
            values = BandedVariable.between(pair, target, self.classes)
            bridge = Bridge.between(pair, known)
            attack = inferred(bridge, values.original, values.protected)
            control = float(inferred_by_others(bridge, values.original).mean())
            present = values.original[values.original >= 0]
            often = float(np.bincount(present).max() / len(attack)) if present.size else 0.0
            outcomes[target] = Outcome(
                attack=attack,
                control=control,
                parts={"most frequent value": often},
                notes=(f"{target} is inferred from {', '.join(known)}",),
            )
            gains[target] = excess(float(attack.mean()), control)
        worst = max(gains, key=lambda name: gains[name])
        return replace(outcomes[worst], by_variable=gains)

    def _attacks(self, schema: Schema, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Name the targets, and what is known of each person whose target is inferred."""
        roles = {name: schema[name].role for name in names}
        targets = self.targets
        if targets is None:
            targets = tuple(name for name in names if roles[name] == "confidential") or names
        strange = [name for name in targets if name not in names]
        if strange:
            raise NotApplicable(
                f"targets names {', '.join(strange)}, not among the variables that both tables have "
                f"({', '.join(names)})"
            )
        keys = tuple(name for name in names if roles[name] == "key")
        attacks = {}
        for target in targets:
            known = tuple(name for name in keys if name != target) or tuple(name for name in names if name != target)
            if not known:
                raise NotApplicable("two variables are needed at least, one to know and one to infer")
            attacks[target] = known
        return attacks
