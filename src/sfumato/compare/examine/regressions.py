"""Regressions of the original and the protected table side by side: estimates and intervals."""

from sfumato.compare.examine.findings import CoefficientChange, Regressions
from sfumato.data.microdata import Microdata
from sfumato.errors import SfumatoError
from sfumato.utility import IntervalOverlap

LISTED = 12
WIDE = 24  # numeric variables up to which every simple regression is fitted unasked


def regressions(asked: IntervalOverlap | None, original: Microdata, protected: Microdata) -> Regressions:
    """Return the slopes whose intervals overlap least; none if no regression can be fitted to both tables.

    Unless models were asked for, these are the simple regressions of every numeric variable on every other; of more
    than a couple of dozen variables none, because there would be too many.
    """
    if asked is None and len(original.schema.analysed("numeric")) > WIDE:
        return Regressions(())
    try:
        rows = (asked or IntervalOverlap()).table(original, protected, kind="pyarrow").to_pylist()
    except SfumatoError:
        return Regressions(())
    slopes = [row for row in rows if row["coefficient"] != "Intercept"]
    worst = sorted(slopes, key=lambda row: row["overlap"])[:LISTED]
    found = (
        CoefficientChange(
            model=row["model"],
            coefficient=row["coefficient"],
            before=(row["original estimate"], row["original low"], row["original high"]),
            after=(row["protected estimate"], row["protected low"], row["protected high"]),
            overlap=row["overlap"],
        )
        for row in worst
    )
    return Regressions(tuple(change for change in found if change.before != change.after))  # what moved is listed
