"""The figures of the two axes over records, by bootstrap, within a bound on the time."""

from collections.abc import Callable, Mapping
from time import perf_counter

from sfumato.compare.bootstrap import adds_up, bootstrap
from sfumato.compare.examine.findings import OverRecords, Resampled
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement

MOST_RESAMPLED = 20_000  # records: in larger tables they hardly matter
REPETITIONS = 100
SECONDS = 10.0  # for all figures together


def over_records(
    original: Microdata,
    protected: Callable[[], Microdata],
    measured: Mapping[str, tuple[Measure, Measurement, float]],
    *,
    seed: int,
    seconds: float | None = SECONDS,
    told: Callable[[int, int], None],
) -> OverRecords:
    """Resample the records of both tables for each measure, given what it says of them and the seconds it took.

    A measure that takes longer than all the time allowed is left out.
    """
    found: dict[str, Resampled] = {}
    left_out: dict[str, str] = {}
    start = perf_counter()
    for key, (measure, whole, takes) in measured.items():
        left = None if seconds is None else max(seconds - (perf_counter() - start), 0.001)
        if left is not None and takes > left:
            left_out[key] = f"one evaluation takes {takes:.0f} s, and {seconds:g} s are allowed for resampling"
            continue
        try:
            made = bootstrap(
                original,
                None if adds_up(whole) else protected(),
                measure,
                repetitions=REPETITIONS,
                rng=seed,
                seconds=left,
                known=whole,
                unless_shifted=True,
                told=lambda done: told(done, REPETITIONS),
            )
        except NotApplicable as error:
            left_out[key] = error.text
            continue
        found[key] = Resampled(made.error, made.interval, made.way, made.values.size, made.wanted, shifted=made.shifted)
    return OverRecords(found, left_out, seconds)
