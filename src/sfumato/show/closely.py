"""The chosen candidate looked at closely: what was examined, dressed for a reader."""

from collections.abc import Mapping
from dataclasses import replace

from sfumato.compare.examine.findings import BrokenSum, Examination, OverRecords, VariableDetail
from sfumato.compare.figures import figure
from sfumato.compare.results import Results, Row
from sfumato.restoration.findings import Checked
from sfumato.show.grades import pairs_there
from sfumato.show.release import going_out, release_of
from sfumato.show.summary import Detail, MeasureLine, PairFigures
from sfumato.show.usefulness import arranged

OF_USEFULNESS = "GlobalDataUtility"


def detail_of(results: Results, found: Examination, *, first: str | None, checked: Checked | None = None) -> Detail:
    """Tell of one candidate what was examined; the measure on the risk axis comes first."""
    row, abouts = results.row(found.candidate), results.figures
    keys = sorted((key for key in abouts if key in row.means), key=lambda key: key != first)
    by_variable = tuple(key for key in keys if row.by_variable.get(key))
    out = going_out(found, checked)
    useful = None
    if out.usefulness is not None:  # of the pairs that the verdict and the public page count
        useful = arranged(replace(out.usefulness, pairs=pairs_there(out.usefulness.pairs, out.release)))
    return Detail(
        candidate=found.candidate,
        notes=row.notes,
        variables=tuple(
            _dressed(variable, row, results, by_variable)
            for variable in (found.detail.variables if found.detail else ())
        ),
        by_variable=by_variable,
        correlations=found.detail.correlations if found.detail else (),
        records=found.records.records if found.records else (),
        parts={
            key: {part: figure(value, abouts[key].unit_of(part)) for part, value in row.parts[key].items()}
            for key in keys
            if row.parts.get(key)
        },
        levels=found.detail.levels if found.detail else (),
        coefficients=found.regressions.coefficients if found.regressions else (),
        usefulness=useful,
        by_pair=_by_pair(row, results, keys),
        release=release_of(row.method, found.release, useful, checked, _sums(out))
        if found.release is not None
        else None,
    )


def _sums(found: Examination) -> tuple[BrokenSum, ...]:
    return () if found.cautions is None else found.cautions.broken_sums


def _by_pair(row: Row, results: Results, keys: list[str]) -> tuple[PairFigures, ...]:
    """Tell what measures say of pairs of variables, but for that of ``usefulness``, which has a section of its own."""
    told = {repr(measure) for measure in results.measures if type(measure).__name__ == OF_USEFULNESS}
    return tuple(
        PairFigures(key, tuple((first, second, value) for (first, second), value in row.by_pair[key].items()))
        for key in keys
        if key not in told and row.by_pair.get(key)
    )


def _dressed(variable: VariableDetail, row: Row, results: Results, keys: tuple[str, ...]) -> VariableDetail:
    """Add to a variable what measures say of it."""
    told = {key: row.by_variable[key][variable.name] for key in keys if variable.name in row.by_variable[key]}
    return replace(variable, figures={key: figure(value, results.figures[key].unit) for key, value in told.items()})


def intervals(found: OverRecords) -> dict[str, tuple[float, float]]:
    """Return the intervals over records; a figure that resampling shifts has none."""
    return {key: one.interval for key, one in found.figures.items() if not one.shifted}


def resampling(found: OverRecords, measures: Mapping[str, MeasureLine]) -> tuple[str, ...]:
    """Say on how many repetitions the intervals over records rest, and why there is none."""
    said = []
    for key, one in found.figures.items():
        name, made = measures[key].name, f"{one.repetitions} of {one.wanted} repetitions"
        if one.shifted:
            said.append(
                f"{name} has no broad bar: resampled tables differ more than the tables themselves ({made} were made)."
            )
        elif one.repetitions < one.wanted:
            time = f"after {found.seconds:g} s, " if found.seconds is not None else ""
            said.append(f"{name}: {time}{made}.")
    return (*said, *(f"{measures[key].name} has no broad bar: {why}." for key, why in found.left_out.items()))
