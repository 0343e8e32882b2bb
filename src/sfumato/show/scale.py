"""The axes of the map, the same in a picture and in a terminal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.about import Better
from sfumato.show.summary import MeasureLine, Summary


@dataclass(frozen=True)
class Scale:
    """An axis: plain, or symmetric-log where a few candidates would squeeze all others into a corner."""

    low: float
    high: float
    constant: float | None = None  # of the symmetric logarithm: below it the axis is nearly plain

    @classmethod
    def of(cls, values: Sequence[float], better: Better = "lower") -> "Scale":
        """Choose the axis for these values; it starts at zero, but for a utility of which all values are high."""
        low, high, middle = min(values), max(values), sorted(values)[len(values) // 2]
        start = min(0.0, low * 1.05)
        if better == "higher" and low > high / 3 and high > low:
            return cls(low - 0.1 * (high - low), high + 0.06 * (high - low))
        if low >= 0 and middle > 0 and high > 6 * middle:
            return cls(start, high * 1.3, max(middle / 2, high / 10_000))
        return cls(start, high + 0.06 * ((high - start) or 1.0))

    def place(self, value: float) -> float:
        """Return where on the axis a value lies, from 0 to 1."""
        low, high = self.low, self.high
        if self.constant is not None:
            low, high, value = (math.log1p(v / self.constant) for v in (low, high, value))
        return (value - low) / (high - low)

    def round_values(self) -> list[float]:
        """Return zero and the round values (1, 2, 5 times a power of ten) that have room on the axis."""
        kept, last = [0.0], self.place(0.0)
        for power in range(-6, 13):
            for digit in (1, 2, 5):
                value = float(f"{digit}e{power}")
                if value <= self.high and self.place(value) - last > 0.055:
                    kept.append(value)
                    last = self.place(value)
        return kept

    def spec(self) -> dict[str, Any]:
        """Return it as Vega-Lite wants it."""
        stretched: dict[str, Any] = {"zero": False}
        if self.constant is not None:
            stretched = {"type": "symlog", "constant": self.constant}
        return {"domain": [self.low, self.high], "nice": False, **stretched}


def axis_scale(summary: Summary, measure: MeasureLine) -> Scale:
    """Choose the axis of a measure, so that every candidate, the original and the bound are on it."""
    original = summary.original_on_map
    lines = [*summary.on_map, *([original] if original is not None else [])]
    values = [line.figures[measure.key].value for line in lines]
    limits = [bound.limit for bound in summary.bounds if bound.key == measure.key]
    return Scale.of(values + limits, measure.better)
