"""The levels that an optimal recoding chose, and what lies beside them."""

from sfumato.compare.examine.findings import KeyLevel
from sfumato.composition import Chain
from sfumato.core import Measure, Method
from sfumato.data.microdata import Microdata
from sfumato.methods import OptimalRecoding


def levels_beside(method: Method | None, original: Microdata) -> tuple[KeyLevel, ...]:
    """Tell of each key what one level less and one more would come to; nothing of a method that sought no levels.

    Of a chain it is told if the search comes first, because it then saw the original. With a measure for utility every
    table would have to be made and measured again, so nothing is told.
    """
    first = method.steps[0] if isinstance(method, Chain) else method
    if not isinstance(first, OptimalRecoding) or isinstance(first.utility, Measure):
        return ()
    found = first.chosen(original)
    return tuple(KeyLevel(suppressed=found.suppressed, loss=found.loss, **row) for row in found.beside())
