"""The pairs of records that may be linked, listed for each kind of left record from the heaviest down."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.assignment.plain import Codes
from sfumato.kernels.compiling import compiled

Integers = NDArray[np.int64]
Indices = NDArray[np.int32]


class Edges(NamedTuple):
    """The pairs of positive weight: for each kind of left record the right ones, the heaviest first.

    The groups of kind i are ``range(kinds[i], kinds[i + 1])``; those of group g weigh ``weights[g]`` each and are
    ``columns[starts[g] : ends[g]]``, in ascending order. Who agrees on one variable is in the bin of that variable, and
    the bin serves as a group for all kinds that share it. It also holds records that agree on more: these are listed
    before with their own weight, which is no smaller, so that listing them again changes nothing.
    """

    kinds: Integers
    starts: Integers
    ends: Integers
    weights: Integers
    columns: Indices


def positive_pairs(kinds: Codes, right: Codes, weights: Integers) -> Edges:
    """For each kind of left record the right records it may be linked to, ordered by weight.

    ``weights`` has one entry per pattern of agreement. There are few different ones, so the pairs need not be sorted:
    they are dealt out to the classes of equal weight.
    """
    variables = right.shape[1]
    classes = np.unique(weights[weights > 0])[::-1]
    class_of = np.where(weights > 0, len(classes) - np.searchsorted(classes[::-1], weights) - 1, -1)
    shared = np.bincount(class_of[class_of >= 0], minlength=len(classes)) > 1
    whole_bin = np.full(variables, -1)  # the class of those who agree on this variable, if its bins can serve as groups
    for j in range(variables):
        alone = class_of[1 << j]
        with_more = weights[np.arange(len(weights)) >> j & 1 > 0]
        if alone >= 0 and not shared[alone] and with_more.min() >= weights[1 << j]:
            whole_bin[j] = alone
            class_of[1 << j] = -1
    starts, members = bin_members(right)
    found = _dealt_out(kinds, starts, members, class_of, shared, whole_bin)
    return Edges(found[0], found[1], found[2], classes[found[3]], found[4])


def bin_members(codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For each variable the records ordered by bin (members) and where each bin begins (starts)."""
    largest = int(codes.max(initial=0)) + 1
    starts = np.zeros((codes.shape[1], largest + 1), dtype=np.int64)
    members = np.empty((codes.shape[1], len(codes)), dtype=np.int32)
    for j in range(codes.shape[1]):
        order = np.argsort(codes[:, j], kind="stable")
        members[j] = order
        starts[j] = np.searchsorted(codes[order, j], np.arange(largest + 1))
    return starts, members


@compiled
def _dealt_out(
    kinds: Indices,
    starts: Integers,
    members: Indices,
    class_of: Integers,
    shared: NDArray[np.bool_],
    whole_bin: Integers,
) -> tuple[Integers, Integers, Integers, Integers, Indices]:
    """The groups of each kind: where they start and end, their classes, and the right records.

    Only records that share a bin with the kind are visited. The records of all bins come first among the columns.
    """
    variables, records = members.shape
    patterns = np.zeros(records, np.uint16)
    touched, waiting = np.empty(records, np.int32), np.empty(records, np.int32)
    count, place = np.zeros(len(shared), np.int64), np.zeros(len(shared), np.int64)
    used = np.empty(len(shared), np.int64)
    of_kind = np.zeros(len(kinds) + 1, np.int64)
    groups = np.empty((3, len(kinds) + 1024), np.int64)  # start, end, class
    columns = np.empty(members.size + 1024, np.int32)
    columns[: members.size] = members.ravel()
    filled, dealt = members.size, 0
    for kind in range(len(kinds)):
        reached = _agreements(kinds[kind], starts, members, patterns, touched)
        classes = kept = 0
        for at in range(reached):
            j = touched[at]
            found = class_of[patterns[j]]
            if found >= 0:
                if count[found] == 0:
                    used[classes] = found
                    classes += 1
                count[found] += 1
                waiting[kept] = j
                kept += 1
            else:
                patterns[j] = 0
        for j in range(variables):
            if whole_bin[j] >= 0 and kinds[kind, j] >= 0 and kinds[kind, j] + 1 < starts.shape[1]:
                used[classes] = whole_bin[j]
                classes += 1
        used[:classes].sort()
        columns = _with_room(columns, filled + kept)
        if dealt + classes > groups.shape[1]:
            larger = np.empty((3, 2 * groups.shape[1] + classes), np.int64)
            larger[:, :dealt] = groups[:, :dealt]
            groups = larger
        for at in range(classes):
            c = used[at]
            groups[0, dealt], groups[1, dealt], groups[2, dealt] = filled, filled + count[c], c
            place[c] = filled
            filled += count[c]
            if count[c] == 0:  # a bin
                j = 0
                while whole_bin[j] != c:
                    j += 1
                code = kinds[kind, j]
                groups[0, dealt], groups[1, dealt] = j * records + starts[j, code], j * records + starts[j, code + 1]
            dealt += 1
        for at in range(kept):
            j = waiting[at]
            c = class_of[patterns[j]]
            columns[place[c]] = j
            place[c] += 1
            patterns[j] = 0
        for at in range(classes):
            c = used[at]
            # Records of one pattern come in their (random) order. Where patterns share a weight they would come pattern
            # by pattern, and ties would go to those that agree on the first variable.
            if shared[c] and count[c] > 1:
                columns[place[c] - count[c] : place[c]].sort()
            count[c] = 0
        of_kind[kind + 1] = dealt
    return of_kind, groups[0, :dealt].copy(), groups[1, :dealt].copy(), groups[2, :dealt].copy(), columns[:filled]


@compiled
def _with_room(columns: Indices, needed: int) -> Indices:
    """The same array, or a larger one that begins with it."""
    if needed <= len(columns):
        return columns
    larger = np.empty(max(needed, len(columns) + len(columns) // 2), np.int32)
    larger[: len(columns)] = columns
    return larger


@compiled
def _agreements(
    bins: Indices, starts: Integers, members: Indices, patterns: NDArray[np.uint16], touched: Indices
) -> int:
    """Note the pattern of every right record that shares a bin; how many there are."""
    reached = 0
    for variable in range(len(bins)):
        code = bins[variable]
        if code < 0 or code + 1 >= starts.shape[1]:
            continue
        for at in range(starts[variable, code], starts[variable, code + 1]):
            j = members[variable, at]
            if patterns[j] == 0:
                touched[reached] = j
                reached += 1
            patterns[j] |= np.uint16(1 << variable)
    return reached
