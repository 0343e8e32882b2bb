"""One candidate looked at closely, piece by piece: what a report tells of the tables besides the figures."""

from sfumato.compare.examine.findings import PIECES, Examination, Piece
from sfumato.compare.examine.look import examine, examined
from sfumato.compare.examine.table import ProtectedTable

__all__ = ["PIECES", "Examination", "Piece", "ProtectedTable", "examine", "examined"]
