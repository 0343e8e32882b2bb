"""Methods and their parameters in plain words: in which group a method stands, what a parameter is called on a page."""

from collections.abc import Mapping

from sfumato.core import Method

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Coarsen": ("GlobalRecoding", "OptimalRecoding", "LocalRecoding", "TopBottomCoding", "Rounding"),
    "Suppress": ("LocalSuppression", "VariableRemoval"),
    "Change numbers": (
        "Noise",
        "CorrelatedNoise",
        "KimNoise",
        "ResidualNoise",
        "MDAV",
        "IndividualRanking",
        "ProjectionMicroaggregation",
        "MaximumDistance",
        "GroupedMicroaggregation",
        "RankSwapping",
        "GroupedSwapping",
        "Shuffling",
        "Resampling",
        "DateShift",
        "JPEG",
    ),
    "Change categories": ("PRAM", "RecordSwapping"),
    "Synthesise": ("CARTSynthesis", "NormalSynthesis", "DistributionDistortion"),
    "Sample": ("Sampling",),
    "Weights": ("WeightMasking",),
}

# by parameter, or by class and parameter where the same word means something else
LABELS: Mapping[str, str] = {
    "variables": "Variables",
    "k": "Records that must share what each one shows (k)",
    "scale": "Strength, in standard deviations of each variable (scale)",
    "groups": "Groups of about equal size (groups)",
    "by": "Classes of equal (by)",
    "rare": "Categories below this share of the records become 'other' (rare)",
    "map": "Categories merged: of each variable, {'category': 'group'} (map)",
    "bins": "Classes of numbers and dates: a width, cut points as [18, 65], or a span as 10 years (bins)",
    "hierarchy": "Hierarchies, where the schema has none (hierarchy)",
    "level": "Level of the hierarchy (level)",
    "suppression": "Share of records that may be blanked altogether (suppression)",
    "utility": "What to lose least of (utility)",
    "importance": "Importance: how many other values one of this variable is worth (importance)",
    "order": "Order in which variables are drawn (order)",
    "records": "Records to draw (records)",
    "proper": "Draw the model's parameters too (proper)",
    "smoothing": "Smooth numbers, so that no real one is published (smoothing)",
    "replicated_uniques": "Drawn records that copy a unique one (replicated_uniques)",
    "min_leaf": "People from whom a value is drawn, at least (min_leaf)",
    "max_depth": "Most questions in a row (max_depth)",
    "cp": "Least gain of a question (cp)",
    "unit": "Drawn at a time (unit)",
    "c": "Share of each variance that is added (c)",
    "days": "Days that a date moves, at most (days)",
    "alpha": "Width of a group of ranks, as a share of the records (alpha)",
    "quality": "Quality, from 1 to 100 (quality)",
    "rounding": "How values are put on grey levels (rounding)",
    "at_a_time": "Variables grouped at a time; none: all together (at_a_time)",
    "axis": "Records are put in order by (axis)",
    "subsets": "Only combinations of this many keys (subsets)",
    "missing": "A missing key value (missing)",
    "sets": "Sets of keys, each with its k: (('region', 'age'), 3), (('job',), 5); or scenarios (sets)",
    "risk": "Largest risk of a single record, from 0 to 1 (risk)",
    "caps": "Largest share of the values that may be blank (caps)",
    "l": "Different confidential values in each class, at least (l)",
    "diversity": "Different, counted as (diversity)",
    "t": "Distance of a class from the whole file, at most (t)",
    "confidential": "Confidential variables (confidential)",
    "nodes": "Recodings looked at, at most (nodes)",
    "retention": "Share of values that stay (retention)",
    "spread": "Other categories are drawn by (spread)",
    "invariant": "Keep the frequencies, in expectation (invariant)",
    "strata": "Separately by (strata)",
    "transition": "Chances of change: of each variable, {'from': {'to': 0.1}} (transition)",
    "p": "Widest move, as a share of the ranks (p)",
    "share": "Share beyond the limit, from 0 to 1 (share)",
    "similar": "Alike in those that change places (similar)",
    "keys": "Keys that make a record rare (keys)",
    "of": "The method that goes first, such as MDAV(k=5) (of)",
    "base": "Multiples of (base)",
    "random": "Up or down by chance (random)",
    "fraction": "Share of records to release; by stratum {'north': 0.5} (fraction)",
    "given": "Variables that are kept and explain the others (given)",
    "ends": "Which ends (ends)",
    "top": "Highest value shown (top)",
    "bottom": "Lowest value shown (bottom)",
    "how": "How weights are masked (how)",
    "classes": "Different weights that are left (classes)",
    "KimNoise.alpha": "Amount of noise: of the masked variance alpha / (1 + alpha) is noise (alpha)",
    "Resampling.t": "Samples that are averaged (t)",
    "RecordSwapping.share": "Share of households that change places (share)",
    "RecordSwapping.k": "A record is rare if fewer share its keys (k)",
    "RecordSwapping.variables": "Variables that change places, such as the region",
    "Rounding.scale": "Multiples of this many standard deviations (scale)",
    "TopBottomCoding.by": "Values beyond are replaced by the (by)",
    "WeightMasking.scale": "Strength of the noise, as a share of the weight (scale)",
    "WeightMasking.variables": "Variables whose weighted counts are kept",
    "VariableRemoval.variables": "Variables to leave out; none: the identifiers",
    "LocalSuppression.k": "Records that must look alike (k)",
}


def label_of(method: type[Method], parameter: str) -> str:
    """Return what a parameter is called; of a method that is not our own, by its name.

    >>> from sfumato import MDAV
    >>> label_of(MDAV, "at_a_time")
    'Variables grouped at a time; none: all together (at_a_time)'
    """
    known = LABELS.get(f"{method.__name__}.{parameter}", LABELS.get(parameter))
    return known or parameter.replace("_", " ")


def group_of(method: type[Method]) -> str:
    """Return the group that a method stands in; one that is not our own by what its About tells."""
    for group, names in GROUPS.items():
        if method.__name__ in names:
            return group
    about = method.about
    if not about.keeps_records:
        return "Sample" if about.draws else "Synthesise"
    return "Change categories" if set(about.kinds) <= {"ordinal", "nominal"} else "Change numbers"
