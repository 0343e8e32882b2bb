"""The protected table of a candidate, made when it is first needed and kept."""

from functools import cached_property

from sfumato.compare.examine.whole import Blanks
from sfumato.compare.results import Results
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.pair.sampled import sampled


class ProtectedTable:
    """The table of one candidate: what is examined and what is written are the same."""

    def __init__(self, results: Results, candidate: str) -> None:
        self.results, self.candidate = results, results.row(candidate).candidate

    @cached_property
    def made(self) -> Microdata:
        """The table itself, of one in parts a sample; to ask for it masks the original, once."""
        if self.results.whole is not None:
            return sampled(self.whole, len(self.results.original))
        return self.results.protect(self.candidate)

    @cached_property
    def whole(self) -> TableInParts:
        """The table in parts, each of which is masked when it is asked for."""
        return self.results.protected(self.candidate)

    @cached_property
    def blanks(self) -> Blanks | None:
        """What is missing in all records, where ``made`` is a sample of them; None: it is all of them."""
        if self.results.whole is None or not self.results.sampled:
            return None
        return Blanks(self.results.whole, self.whole)
