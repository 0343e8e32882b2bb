"""Dates as numbers: days since 1 January 1970, the time of day as a fraction of a day, NaN for missing.

A date stands on an interval scale: differences are days, and ranks, classes and distances mean something; ratios,
logarithms and sums do not. A float64 holds every day, second and millisecond of the calendar exactly, and every
microsecond from 1790 to 2149. Moments with a time zone are held as the clock of that zone shows them; of the hour that
occurs twice when clocks go back, the first is meant. A column with a moment of the second is no date, and stays.
"""

import datetime as dt
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import DataError

Floats = NDArray[np.float64]

DAY = 86_400_000_000  # in microseconds
YEARS = (-719_162.0, 2_932_897.0)  # the years 1 to 9999, in days from 1970: what a date of Python and of files can be
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": DAY, "ns": 86_400_000_000_000}
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:([ T])\d{2}:\d{2}(:\d{2})?(\.\d{1,6})?)?")
_DATED = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")
_FORMATS = tuple(
    sign.join(order) for sign in "./-" for order in (("%d", "%m", "%Y"), ("%m", "%d", "%Y"), ("%Y", "%m", "%d"))
)
_EPOCH = dt.datetime(1970, 1, 1)


def is_moment(kind: pa.DataType) -> bool:
    """Tell whether arrow holds dates or moments: a time of day or a duration is neither."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def to_days(column: Any) -> Floats | None:
    """Return arrow dates or moments as days; None where one of them would not come back exactly.

    >>> to_days(pa.array([dt.date(1970, 1, 2), None, dt.date(1899, 12, 31)], pa.date32()))
    array([ 1.0000e+00,         nan, -2.5568e+04])
    """
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        local = pc.local_timestamp(column)
        if not _zoned(local, column.type.tz).equals(column):
            return None
        column = local
    if pa.types.is_date64(column.type):
        column = column.cast(pa.timestamp("ms"))
    if pa.types.is_date32(column.type):
        numbers, per = column.cast(pa.int32()), 1
    else:
        numbers, per = column.cast(pa.int64()), _PER_DAY[column.type.unit]
    missing = column.is_null().to_numpy(zero_copy_only=False)
    ticks = numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    whole, rest = np.divmod(ticks, per)
    days = whole + rest / per
    if per > 1:
        micros = in_micros(days)
        back = micros // (DAY // per) if per <= DAY else micros * (per // DAY)
        if not np.array_equal(back, ticks):
            return None
    days[missing] = np.nan
    return np.asarray(days, dtype=np.float64)


def from_days(days: Floats, kind: pa.DataType | None = None) -> Any:
    """Return days as arrow dates if all are whole, else as moments; as ``kind`` where it can hold them.

    >>> from_days(np.array([0.0, np.nan])).type, from_days(np.array([0.5])).type
    (DataType(date32[day]), TimestampType(timestamp[us]))
    """
    missing = np.isnan(days)
    filled = np.where(missing, 0.0, days)
    whole = bool(np.array_equal(filled, np.floor(filled)))
    plain = pa.array(filled.astype(np.int32), mask=missing).cast(pa.date32()) if whole else None
    if kind is None or pa.types.is_date(kind):
        if plain is not None:
            return plain if kind is None else plain.cast(kind)
        kind = pa.timestamp("us")
    moments = pa.array(in_micros(filled), pa.int64(), mask=missing).cast(pa.timestamp("us"))
    try:
        found = moments.cast(pa.timestamp(kind.unit))
    except pa.ArrowInvalid:  # nanoseconds end in 2262, and seconds hold no fraction
        found = moments
    return found if kind.tz is None else _zoned(found, kind.tz)


def _zoned(local: Any, zone: str) -> Any:
    """Return the moments that the clock of a zone shows so; of two the first, and of none the last before."""
    return pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")


def in_micros(days: Floats) -> NDArray[np.int64]:
    """Return the microseconds since 1970; of all that are the same number, the roundest is meant."""
    whole = np.floor(days)
    base = whole.astype(np.int64) * DAY
    micros = base + np.rint((days - whole) * DAY).astype(np.int64)
    millis = np.rint(micros / 1000).astype(np.int64) * 1000
    again, rest = np.divmod(millis, DAY)
    return np.where(again + rest / DAY == days, millis, micros)


def moved(days: Floats, by: NDArray[np.int64]) -> Floats:
    """Return days moved by whole days, each the number it would have been read as; NaN stays.

    >>> moved(np.array([0.1, np.nan]), np.array([3, 3]))
    array([3.1, nan])
    """
    missing = np.isnan(days)
    whole, rest = np.divmod(in_micros(np.where(missing, 0.0, days)), DAY)
    return np.where(missing, np.nan, whole + by + rest / DAY)


def parsed(name: str, column: Any, form: str) -> tuple[Floats, str]:
    """Read text as dates, by a format such as %d.%m.%Y or else by ISO 8601; return the format they are written in."""
    if "%y" in form or "%x" in form:
        raise DataError(
            f"variable {name!r} is a date of the format {form!r}, but two digits of a year do not tell the century: 45 "
            "is 1945 or 2045; write the years with four digits, and %Y for %y"
        )
    encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(column))
    texts: list[str] = encoded.dictionary.to_pylist()
    raw = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    iso = iso_format(texts)
    quick = _iso_days(encoded.dictionary) if iso and form in ("", iso) else None
    if quick is not None:
        return np.append(quick, np.nan)[raw], iso
    days = np.full(len(texts) + 1, np.nan)
    form = form or iso or iso_format(texts[:1]) or "%Y-%m-%d"
    for place, text in enumerate(texts):
        found = _read(text, form)
        if found is None:
            row = pc.index(pc.utf8_trim_whitespace(column), text).as_py() + 1
            raise DataError(
                f"variable {name!r} is a date, but row {row} holds the text {text!r}, which is no date of the format "
                f'{form!r}; state its format, such as format = "%d.%m.%Y", correct it, or declare it as missing'
            )
        days[place] = found
    return days[raw], form


def _iso_days(texts: Any) -> Floats | None:
    """Return text of ISO 8601 as days, many at a time; None where one is no date, or too fine for a float."""
    try:
        return to_days(pc.cast(texts, pa.timestamp("us")))
    except pa.ArrowInvalid:
        return None


def iso_format(texts: list[str]) -> str:
    """Return the one format of ISO 8601 in which all texts are written; empty where there is none.

    >>> iso_format(["1990-01-31", "2001-12-01"]), iso_format(["1990-01-31T10:20:00"]), iso_format(["31.1.1990"])
    ('%Y-%m-%d', '%Y-%m-%dT%H:%M:%S', '')
    """
    found = [_ISO.fullmatch(text) for text in texts]
    if not found or any(one is None for one in found):
        return ""
    shapes = {one.group(2, 3, 4) for one in found if one is not None}
    signs = {sign for sign, _, _ in shapes}
    seconds = {second is not None for _, second, _ in shapes}
    if len(signs) > 1 or len(seconds) > 1:
        return ""
    if signs == {None}:
        return "%Y-%m-%d"
    fraction = any(part is not None for _, _, part in shapes)
    return f"%Y-%m-%d{signs.pop()}%H:%M" + (":%S" if seconds == {True} else "") + (".%f" if fraction else "")


def date_formats(texts: list[str]) -> tuple[str, ...]:
    """Return the formats in which all texts are dates: several where none tells the day from the month.

    >>> date_formats(["31.01.1990", "01.02.1990"]), date_formats(["01/02/1990"]), date_formats(["Aix", "Bonn"])
    (('%d.%m.%Y',), ('%d/%m/%Y', '%m/%d/%Y'), ())
    """
    if not texts or not _DATED.fullmatch(texts[0].strip()):
        return ()
    bare = [text.strip() for text in texts]
    iso = iso_format(bare)
    tried = (iso,) if iso else _FORMATS
    return tuple(form for form in tried if all(_read(text, form) is not None for text in bare))


def _read(text: str, form: str) -> float | None:
    for one in (form, form.removesuffix(".%f")):  # a moment on the full second may be written without fraction
        try:
            found = dt.datetime.strptime(text, one)
        except ValueError:
            continue
        return _days(found) if found.tzinfo is None else None
    return None


def _days(moment: dt.datetime) -> float:
    since = moment - _EPOCH
    return since.days + (since.seconds * 1_000_000 + since.microseconds) / DAY


def written(days: Floats, form: str) -> Any:
    """Write days as text in a format; a time of day that the format has no place for is added as ISO 8601 has it."""
    values, place = np.unique(days, return_inverse=True)
    present = values[~np.isnan(values)]
    whole, timed = present == np.floor(present), "%H" in form or "%I" in form
    inside = (present >= YEARS[0]) & (present < YEARS[1])
    micros = in_micros(present)
    texts: list[str | None] = [
        spelled(day)
        if not known
        else _text(_EPOCH + dt.timedelta(microseconds=moment), form, clock=not (timed or bare))
        for day, known, moment, bare in zip(
            present.tolist(), inside.tolist(), micros.tolist(), whole.tolist(), strict=True
        )
    ]
    return pa.array([*texts, *([None] if len(values) > len(present) else [])], pa.string()).take(
        pa.array(place.ravel())
    )


def _text(moment: dt.datetime, form: str, *, clock: bool) -> str:
    if moment.year < 1000:  # the C library does not pad the year
        form = form.replace("%Y", f"{moment.year:04d}")
    text = moment.strftime(form)
    return f"{text} {_clock(moment.time())}" if clock else text


def _clock(time: dt.time) -> str:
    return time.isoformat() if time.second or time.microsecond else time.isoformat("minutes")


def spelled(day: float) -> str:
    """Write a day as ISO 8601 has it, with its time of day if it has one.

    >>> spelled(0.0), spelled(-25567.0), spelled(0.5)
    ('1970-01-01', '1900-01-01', '1970-01-01 12:00')
    """
    if not np.isfinite(day):
        return str(day)
    whole = int(np.floor(day))
    date = str(np.datetime64(whole, "D"))
    if day == whole:
        return date
    micros = int(in_micros(np.array([day]))[0]) - whole * DAY
    return f"{date} {_clock((_EPOCH + dt.timedelta(microseconds=micros)).time())}"


def day_of(value: object) -> float | None:
    """Return a date, a moment or their ISO text as days; None where it is neither.

    >>> day_of("1970-01-02"), day_of(dt.date(1969, 12, 31)), day_of("soon"), day_of(3)
    (1.0, -1.0, None, None)
    """
    if isinstance(value, dt.datetime):
        return _days(value.replace(tzinfo=None))
    if isinstance(value, dt.date):
        return _days(dt.datetime(value.year, value.month, value.day))
    if isinstance(value, str):
        form = iso_format([value.strip()])
        return _read(value.strip(), form) if form else None
    return None


def written_out(value: Any) -> Any:
    """Return a date as its ISO text, so that what a method is told reads back; anything else as it is."""
    return spelled(float(day_of(value) or 0.0)) if isinstance(value, dt.date) else value


def ages(born: Floats, reference: float) -> Floats:
    """Return the completed years from each day to a reference day; NaN for missing.

    Who was born on 29 February completes a year on 1 March where there is no such day.

    >>> ages(np.array([day_of("1990-03-01"), day_of("2000-02-29")]), day_of("2018-02-28"))
    array([27., 17.])
    """
    missing = np.isnan(born)
    days = np.floor(np.where(missing, 0.0, born)).astype(np.int64).astype("datetime64[D]")
    then = np.datetime64(int(np.floor(reference)), "D")
    year, month, day = _calendar(days)
    now = _calendar(np.array([then]))
    before = (now[1] < month) | ((now[1] == month) & (now[2] < day))
    return np.where(missing, np.nan, (now[0] - year - before).astype(np.float64))


def _calendar(days: NDArray[np.datetime64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    years, months = days.astype("datetime64[Y]"), days.astype("datetime64[M]")
    month = (months - years.astype("datetime64[M]")).astype(np.int64)
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    return years.astype(np.int64) + 1970, month, day
