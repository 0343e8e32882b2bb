"""One candidate looked at closely, piece by piece: what a report tells of the tables besides the figures."""

from sfumato.compare.examine.findings import PIECES, Examination, Piece
from sfumato.compare.examine.look import ProtectedTable, examine, examined

__all__ = ["PIECES", "Examination", "Piece", "ProtectedTable", "examine", "examined"]
