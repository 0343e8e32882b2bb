"""A summary as large as they come: 500 candidates, 200 variables, 19,900 pairs."""

from dataclasses import replace

import numpy as np
from hand_made_summary import hand_made_summary

from sfumato.compare.examine.findings import Moments, PairUtility, UtilityFound, VariableDetail, VariableUtility
from sfumato.compare.figures import Figure
from sfumato.report.grades import arranged
from sfumato.report.summary import CandidateLine, Detail, Summary, VariableLine


def large_summary(candidates: int = 500, variables: int = 200) -> Summary:
    """Return a sweep of that size, with figures drawn at random."""
    rng = np.random.default_rng(0)
    small = hand_made_summary()
    names = [f"variable_{j:03d}" for j in range(variables)]
    lines = []
    for i in range(candidates):
        drawn = zip(small.measures, rng.random(len(small.measures)).tolist(), strict=True)
        figures = {m.key: Figure(v, f"{v:.4f} ± 0.0012", 0.0012, 0.003) for m, v in drawn}
        family = f"Method{i % 24}"
        label = f"GlobalRecoding(groups={i}, rare=0.05) + {family}(k={i})"
        lines.append(CandidateLine(label, family, i + 1, figures, on_frontier=i < 20, chosen=i == 0, feasible=i < 300))
    heights = rng.dirichlet(np.ones(30), size=(variables, 2))
    moments = Moments(1.0, 2.0, 0.0, 1.0, 9.0, 0)
    details = tuple(
        VariableDetail(
            name,
            "numeric",
            changed=0.5,
            before=moments,
            after=moments,
            edges=tuple(np.linspace(0, 1, 31).tolist()),
            shares_before=tuple(heights[j, 0].tolist()),
            shares_after=tuple(heights[j, 1].tolist()),
        )
        for j, name in enumerate(names)
    )
    assert small.detail is not None
    detail: Detail = replace(small.detail, variables=details, usefulness=arranged(_measured(names, rng)))
    described = tuple(VariableLine(name, f"label of {name}", "numeric", "key", 0, 900, "0 to 1") for name in names)
    return replace(small, candidates=tuple(lines), detail=detail, variables=described)


def _measured(names: list[str], rng: np.random.Generator) -> UtilityFound:
    variables = tuple(
        VariableUtility(
            name,
            f"label of {name}",
            "Kolmogorov-Smirnov",
            p=0.2,
            utility=float(rng.random()),
            pairs=float(rng.random()),
            distance=0.1,
            missing=(0.0, 0.0),
        )
        for name in names
    )
    pairs = tuple(
        PairUtility(
            first,
            second,
            (f"label of {first}", f"label of {second}"),
            "Spearman",
            before=0.2,
            after=0.1,
            p=(0.01, 0.02),
            utility=float(rng.random()),
            effect=0.03,
            reason="weaker",
            outcome="weaker",
        )
        for i, first in enumerate(names)
        for second in names[i + 1 :]
    )
    return UtilityFound(0.7, {}, "Words.", variables, pairs)
