"""What the protection costs: what users lose, what was done to the variables, and what goes out as it was collected."""

from collections.abc import Iterator, Mapping, Sequence

from sfumato.auditing.findings import Checked
from sfumato.compare.examine.findings import Examination, FewLeft, Merged, ReleaseFacts, VariableDetail
from sfumato.compare.figures import listed
from sfumato.compare.results import Results
from sfumato.report.grades import MIN_DISTANCE_APART, is_changed, is_untold, pairs_there
from sfumato.report.wording import count, percentage

COARSER, ENDS, UNTRUE = ("grouped", "rounded"), ("ends coded",), ("perturbed",)
LABEL = 24  # characters of a category's label
GROUPS = 3  # of categories put together that are told for one variable
MIN_DIFFERENT_NUMBERS = 100  # different numbers from which on they tell records apart


def price_of(found: Examination) -> tuple[str, ...]:
    """Say what the protection costs: values blank, analyses that change, variables coarser or untrue."""
    return (*losses(found), *deeds(found))


def losses(found: Examination) -> tuple[str, ...]:
    """Say what users lose: values, information, associations and distributions."""
    said = []
    if found.detail is not None:
        removed = found.release.removed if found.release is not None else ()
        said += [_blank(found.detail.variables, _records(found.release), removed)]
    if found.release is not None:
        said += list(_little_left(found.release))
    if found.usefulness is not None:
        # counted as on the public page: see ``grades.is_changed``
        pairs = pairs_there(found.usefulness.pairs, found.release)
        changed = [p for p in pairs if is_changed(p)]
        worst = sorted(changed, key=lambda p: -(p.effect or 0.0))[:2]
        named = f", most of all {' and '.join(f'{p.first} with {p.second}' for p in worst)}" if worst else ""
        apart = tuple(
            v.name for v in found.usefulness.variables if v.distance is not None and v.distance >= MIN_DISTANCE_APART
        )
        where = " in the sample" if found.usefulness.sampled else ""
        if pairs:
            some = f"{len(changed):,} of {count(len(pairs), 'pair')} of variables no longer hang together as they did"
            none = f"none of {count(len(pairs), 'pair')} of variables hangs together otherwise than before"
            untold = sum(map(is_untold, pairs))
            more = f" ({untold:,} could not be compared)" if untold else ""
            said.append(f"{some if changed else none}{more}{where}{named}")
        if apart:
            said.append(f"distribution changed{where}: {listed(apart, 6)}")
    return tuple(said)


def collected(
    results: Results, release: ReleaseFacts, checked: Checked | None, distinct: Mapping[str, int]
) -> Iterator[str]:
    """Say which variables go out as they were collected, and which of these are so fine that they link two releases."""
    schema = results.original.schema
    anew = set(checked.renewed if checked is not None else ())
    same = [v.name for v in release.variables if v.same and not v.done and v.name in schema and v.name not in anew]
    data = [name for name in same if name not in schema.special().values()]
    if data:
        by_role = [
            f"{listed(names, 12)} ({'keys' if role == 'key' else role})"
            for role in ("key", "confidential", "other")
            if (names := tuple(name for name in data if schema[name].role == role))
        ]
        yield f"{count(len(data), 'variable')} of {len(release.variables)}: {'; '.join(by_role)}"
    for name in same:
        values = distinct.get(name, 0)
        if schema[name].kind != "numeric" or values < max(MIN_DIFFERENT_NUMBERS, len(results.original) / 4):
            continue
        what = f"{name}, the survey weight," if name == schema.weight else name
        cure = (
            "WeightMasking('classes') puts it in classes" if name == schema.weight else "round it or put it in classes"
        )
        yield (
            f"{what} has {values:,} different exact values: whoever has another release with it joins the two record "
            f"by record; {cure}"
        )


def _records(release: ReleaseFacts | None) -> int:
    return 0 if release is None else release.whole or release.records


def _blank(variables: Sequence[VariableDetail], records: int, removed: Sequence[str] = ()) -> str:
    """Say how many values were made missing, and of which variable most.

    Shares are of the values that were there, the mean over the variables, as ``Suppressed`` has it; with variables
    removed, of which all values are lost, the figure is that of ``Suppressed``.
    """
    out = set(removed)
    there = [v for v in variables if not v.gone and v.name not in out]
    lost = {v.name: share for v in there if (share := _lost(v, records)) is not None}
    total = sum(_number_lost(v, records) for v in there)
    gone = [v.name for v in variables if v.name in out]
    matched = not there or any(v.suppressed is not None for v in there)
    said = "no value made blank" if matched else "no more values missing than in the original"
    if total and lost:
        worst = max(lost, key=lambda name: lost[name])
        mean = sum(lost.values()) / len(lost)
        # records drawn anew have no value that could have been made blank
        more, what = ("", "made blank") if matched else (" more", "missing than in the original")
        said = f"{percentage(mean)}{more} of the values {what} ({total:,}); most in {worst}, {percentage(lost[worst])}"
    if gone and lost:
        with_gone = (sum(lost.values()) + len(gone)) / (len(lost) + len(gone))
        said += f"; with {count(len(gone), 'variable')} removed {percentage(with_gone)} of the values are lost"
    return said


def _number_lost(variable: VariableDetail, records: int) -> int:
    share, present = _lost(variable, records), _present(variable, records)
    return 0 if share is None else round(share * present * records)


def _present(variable: VariableDetail, records: int) -> float:
    """Return the share of the records that have a value in the original."""
    return 1 - (variable.blank[0] / records if variable.blank and records else variable.missing_shares[0])


def _lost(variable: VariableDetail, records: int) -> float | None:
    """Return the share of a variable's values that are missing in the protected table only; None: it had none."""
    before = _present(variable, records)
    if before <= 0:
        return None
    if variable.blank and records:
        return max(0.0, (variable.blank[1] - variable.blank[0]) / records / before)
    if variable.suppressed is not None:
        return variable.suppressed / before
    return max(0.0, 1 - (1 - variable.missing_shares[1]) / before)


def _little_left(release: ReleaseFacts) -> Iterator[str]:
    variables = release.variables
    where = " in the sample" if release.whole else ""
    if gone := tuple(v.name for v in variables if v.one_left):
        yield f"nothing is left{where} of: {listed(gone, 8)}"
    if few := [(v.name, v.few_left) for v in variables if v.few_left is not None]:
        worst = sorted(few, key=lambda entry: entry[1].share)
        yield f"little is left{where} of {listed(tuple(few_in_words(*entry) for entry in worst), 6)}"


def deeds(found: Examination) -> Iterator[str]:
    """Name the variables that are coarser, untrue or removed."""
    if found.release is None:
        return
    variables, removed = found.release.variables, found.release.removed
    for words, deeds in (
        ("coarser", COARSER),
        ("extremes given as one value", ENDS),
        ("values changed, so that a single one need not be true", UNTRUE),
    ):
        # what was grouped is told by what is left of it, or what became what
        there = [v for v in variables if not v.one_left and (deeds != COARSER or not (v.few_left or v.merged))]
        named = tuple(v.name for v in there if set(v.done) & set(deeds))
        if named:
            yield f"{words}: {listed(named, 8)}"
    for variable in variables:
        if variable.merged:
            yield merged_in_words(variable.name, variable.merged)
    if removed:
        yield f"removed: {listed(removed, 8)}"


def merged_in_words(name: str, merged: Sequence[Merged]) -> str:
    """Say which categories became one, and how many records they are.

    >>> merged_in_words("region", [Merged("other", 5, 0.31, (("Opole", 0.1), ("Lubusz", 0.09)))])
    'merged in region: Opole 10.0 %, Lubusz 9.0 % and 3 more are now other (31.0 %)'
    """
    told = []
    for one in merged[:GROUPS]:
        named = [f"{word} {percentage(share)}" for word, share in one.largest]
        rest = one.number - len(named)
        members = f"{', '.join(named)} and {rest:,} more" if rest else listed(tuple(named))
        told.append(f"{members} are now {one.into} ({percentage(one.share)})")
    more = f", and {count(len(merged) - GROUPS, 'group')} more" if len(merged) > GROUPS else ""
    return f"merged in {name}: {', '.join(told)}{more}"


def few_in_words(name: str, left: FewLeft) -> str:
    """Say what a coarse recoding left of a variable.

    >>> few_in_words("region", FewLeft(16, 2, 0.2, ("Mazowieckie", "other")))
    'region: 16 -> 2 (Mazowieckie, other)'
    """
    more = f" and {left.after - len(left.categories):,} more" if left.after > len(left.categories) else ""
    named = ", ".join(name if len(name) <= LABEL else f"{name[: LABEL - 1]}…" for name in left.categories)
    return f"{name}: {left.before:,} -> {left.after:,} ({named}{more})"
