"""How a figure is written: shares as percentages, everything else as a plain number."""

import math

from sfumato.about import Unit


def written(value: float, unit: Unit, error: float = 0.0) -> str:
    """Write a figure, with its standard error where there is one.

    >>> written(0.0417, "share"), written(13.553, "percent", 0.21), written(2.5, "number", math.nan)
    ('4.17 %', '13.55 ± 0.21', '2.5 ± ?')
    """
    scale, sign = (100, " %") if unit == "share" else (1, "")
    shown = f"{value * scale:.4g}"
    if math.isnan(error):
        shown += " ± ?"
    elif error:
        shown += f" ± {error * scale:.2g}"
    return shown + sign


def listed(names: tuple[str, ...], most: int = 5) -> str:
    """List names in a sentence, the first few of them.

    >>> listed(("a", "b", "c")), listed(("a", "b", "c"), most=1)
    ('a, b and c', 'a and 2 others')
    """
    if len(names) > most:
        rest = len(names) - most
        return f"{', '.join(names[:most])} and {rest} other{'s' if rest > 1 else ''}"
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
