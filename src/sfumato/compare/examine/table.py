"""The protected table of a candidate, made when it is first needed and kept."""

from functools import cached_property

from sfumato.compare.results import Results
from sfumato.data.microdata import Microdata


class ProtectedTable:
    """The table of one candidate: what is examined and what is written are the same."""

    def __init__(self, results: Results, candidate: str) -> None:
        self.results, self.candidate = results, results.row(candidate).candidate

    @cached_property
    def made(self) -> Microdata:
        """The table itself; to ask for it masks the original, once."""
        return self.results.protect(self.candidate)
