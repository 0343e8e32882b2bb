"""Files without the time at which they were written: the same table gives the same file."""

import re
from pathlib import Path

from sfumato.data.file_form import Family

# SPSS: nine characters of the date and eight of the time stand before the label of the file
_SPSS = (92, b"01 Jan 80" + b"00:00:00")
# Stata before version 13: behind the label of 81 bytes, 17 characters and a zero
_STATA = (91, b"01 Jan 1980 00:00\0")
_STATA_TAGGED = re.compile(rb"(<timestamp>)(.)(.*?)(</timestamp>)", re.DOTALL)
_SAS = re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d")
_SAS_HEADER = 7 * 80  # bytes: library and member, each with when it was made and changed


def without_time(path: str | Path, family: Family) -> None:
    """Put the first day of 1980 in place of the moments at which a file says that it was made."""
    with Path(path).open("r+b") as file:
        head = file.read(1024)
        if family == "spss":
            changes = [_SPSS]
        elif family == "sas":
            changes = [(found.start(), b"01JAN80:00:00:00") for found in _SAS.finditer(head[:_SAS_HEADER])]
        elif head.startswith(b"<stata_dta>"):
            found = _STATA_TAGGED.search(head)
            moment = b"01 Jan 1980 00:00"
            fits = found is not None and len(found[3]) == len(moment)
            changes = [(found.start(3), moment)] if found is not None and fits else []
        else:
            changes = [_STATA]
        for place, moment in changes:
            file.seek(place)
            file.write(moment)
