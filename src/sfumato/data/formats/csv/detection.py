"""The delimiter and the quotes of a text file, told from its first records."""

import csv
import io
import re

DELIMITERS = ("\t", "|", ";", ",")  # the rarer one inside of cells comes first
SAMPLED = 50  # records looked at to tell the delimiter and the quotes


def detect_delimiter(sample: str, *, complete: bool) -> str:
    """Tell the delimiter from the header and the first records, quotes respected.

    It is the one of tab, bar, semicolon and comma that splits the header and every sampled record into the same number
    of fields (a delimiter at the end of a line aside): the most fields if several do, the first so named if these are
    as many; where none does, the one that splits the header into most fields; a comma where there is but one column.
    """
    counts = {
        delimiter: [len(record) for record in first_records(sample, delimiter, complete=complete)]
        for delimiter in DELIMITERS
    }
    even = {
        delimiter: found[0]
        for delimiter, found in counts.items()
        if found and found[0] > 1 and set(found[1:]) <= {found[0], found[0] + 1}
    }
    fields = even or {delimiter: (found[0] if found else 1) for delimiter, found in counts.items()}
    best = max(DELIMITERS, key=lambda delimiter: fields.get(delimiter, 0))
    return best if fields[best] > 1 else ","


def first_records(sample: str, delimiter: str, *, complete: bool) -> list[list[str]]:
    """Return the first records of a text, header and all, blank lines left out."""
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > SAMPLED:
                return records
    except csv.Error:  # a quote that does not close within the sample, or a stray null: what was read so far will do
        pass
    cut = not complete and len(records) > 1  # the sample may end in the middle of its last record
    return records[:-1] if cut else records


def quoted_columns(sample: str, delimiter: str, width: int) -> list[bool]:
    """Tell which columns have their cells in quotes, by the first records of a text without its header."""
    # a quoted cell becomes one lone quote; an empty one says nothing: it may be how a missing value is made visible
    bare = re.sub(r'"((?:[^"]|"")*)"', lambda cell: '"' if cell.group(1) else "", sample)
    quoted = [False] * width
    for line in [line for line in bare.splitlines() if line][:SAMPLED]:
        for place, cell in enumerate(line.split(delimiter)[:width]):
            quoted[place] |= cell.startswith('"')
    return quoted
