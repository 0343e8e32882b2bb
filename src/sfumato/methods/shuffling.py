"""Data shuffling: the confidential values dealt out anew, by what the other variables say of them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, chosen
from sfumato.display import Phrase
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.methods.correlated_noise import normal_draws, root
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema

# Normal scores, and the correlations they need for the rank correlations of a table, ties included

Floats = NDArray[np.float64]

ORDERS = 60  # of the expansion in Hermite polynomials; the rest of it is below 0.002 of a rank correlation of 1
HALVINGS = 40  # of [-1, 1]: a correlation to 1e-12


def needed_correlations(table: Floats) -> Floats:
    """Return the correlations that normal scores need for the rank correlations of the columns of a table.

    Spearman's correlation of every pair comes from the records that have both. Where normal scores with correlation rho
    are cut into steps as wide as the ties of two columns are, the rank correlation is a power series in rho whose
    coefficients are products of the two columns' Hermite coefficients; it is solved for rho. Without ties that is
    rho = 2 sin(pi R / 6).
    """
    p = table.shape[1]
    present = ~np.isnan(table)
    ranks = [mid_ranks(table[present[:, j], j]) for j in range(p)]
    steps = [_coefficients(rank) for rank in ranks]
    rho = np.eye(p)
    for j in range(p):
        for k in range(j):
            if present[:, j].all() and present[:, k].all():
                found = _rank_correlation(ranks[j], ranks[k])
            else:
                found = spearman(table[:, j], table[:, k])
            rho[j, k] = rho[k, j] = _needed(found, steps[j] * steps[k])
    return rho


def normal_scores(values: Floats, draws: Floats) -> Floats:
    """Return the normal score of each value's rank, ties in the order of their draws; missing values stay missing."""
    from scipy.special import ndtri

    present = np.flatnonzero(~np.isnan(values))
    scores = np.full(values.size, np.nan)
    order = present[np.lexsort((draws[present], values[present]))]
    scores[order] = ndtri((np.arange(order.size) + 0.5) / max(order.size, 1))
    return scores


def _proper(rho: Floats) -> Floats:
    """Return a correlation matrix, or where it has negative eigenvalues the one without them, ones on its diagonal."""
    values, vectors = np.linalg.eigh(rho)
    if values.min(initial=0.0) >= 0:
        return rho
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(kept))
    return np.asarray(kept / np.outer(scale, scale))


def spearman(first: Floats, second: Floats) -> float:
    """Return the correlation of the ranks of the records that have both; 0 where one of the two does not vary."""
    both = ~(np.isnan(first) | np.isnan(second))
    return _rank_correlation(mid_ranks(first[both]), mid_ranks(second[both]))


def mid_ranks(values: Floats) -> Floats:
    """Return ranks from 1, the mean of theirs for equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def _rank_correlation(first: Floats, second: Floats) -> float:
    if first.size < 2:
        return 0.0
    x, y = first - first.mean(), second - second.mean()
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) / np.sqrt(spread) if spread > 0 else 0.0


def _coefficients(ranks: Floats) -> Floats:
    """Return the Hermite coefficients of a variable's ranks, a step function of a normal variable.

    The k-th is the mean of its product with the k-th normalised Hermite polynomial He_k / sqrt(k!), for k = 1, 2, ...,
    in units of its standard deviation.
    """
    from scipy.special import ndtri

    _, counts = np.unique(ranks, return_counts=True)
    if counts.size < 2:
        return np.zeros(ORDERS)
    below = np.cumsum(counts) / ranks.size
    middle = below - counts / (2 * ranks.size)
    spread = np.sqrt(np.average((middle - 0.5) ** 2, weights=counts))
    edges = ndtri(below[:-1])
    rises = np.diff(middle) / spread
    # by parts, it is the sum over the steps of rise x density x He_(k-1) / sqrt(k!) at the edge
    coefficients = np.empty(ORDERS)
    last, here = np.zeros_like(edges), np.exp(-edges * edges / 2) / np.sqrt(2 * np.pi)
    for k in range(1, ORDERS + 1):
        coefficients[k - 1] = rises @ here / np.sqrt(k)
        last, here = here, (edges * here - np.sqrt(k - 1) * last) / np.sqrt(k)
    return coefficients


def _needed(wanted: float, products: Floats) -> float:
    """Solve the power series for the correlation that gives the rank correlation wanted, or the nearest there is."""
    powers = np.arange(1, ORDERS + 1)
    low, high = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if float(products @ middle**powers) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2 if products.any() else 0.0


# The method


@catalogued(
    MethodAbout(
        title="Data shuffling",
        source="Muralidhar and Sarathy (2006), Data shuffling: a new masking approach for numerical data, Management "
        "Science 52",
        missing="stays missing; correlations are those of the records with both values present, and a record is "
        "conditioned on the given variables it has",
        random=True,
        caveat="what hangs together with variables that are neither shuffled nor given is lost, and so is all that is "
        "not monotonic",
        formula="rho = 2 sin(pi R / 6),   R = Spearman's correlations   (with ties: what their steps need)\n"
        "z_i ~ N(A s_i, rho_XX - A rho_SX),   A = rho_XS rho_SS^-1\n"
        "s_i = normal scores of the variables that stay (S), rho_SS their correlations; X = the shuffled\n"
        "x'_i = x_(r),   r = rank of z_i",
        reading="There is no strength to set: ``given`` decides what is kept. Every figure of one variable is exact, "
        "rank correlations among the shuffled and with the given variables are kept up to sampling error, and "
        "whatever ``given`` does not explain is dealt anew. The better the given variables predict a value, the less "
        "it is protected: read SpreadInterval or RankInterval of each.",
        group="Change numbers",
        effect="exchanged",
        labels={"given": "Variables that are kept and explain the others (given)"},
    )
)
class Shuffling(Method):
    """The values of confidential numbers dealt out anew among the records, given the variables that stay.

    Every variable is turned into normal scores by its ranks, and rank correlations R into the correlations that normal
    scores need to have them, rho = 2 sin(pi R / 6) (with ties, what their step functions need). For each record scores
    are drawn from the normal distribution of the confidential variables given the record's scores in the variables that
    stay (ties parted at random); then the record whose drawn score has rank j gets the j-th smallest original value.

    So every marginal distribution is kept exactly, rank correlations among the shuffled variables and with the given
    ones are kept up to sampling error, and given the variables that stay a new value tells nothing of the old one.

    ``variables`` are the confidential numbers by default, or all numbers where no role says so. ``given`` are the
    variables that stay and are conditioned on: by default all other numeric and ordinal ones. With none, the shuffled
    values are independent of the original ones. Limits: relations that no normal distribution of scores has (curved
    ones, interactions, sums that hold exactly) are not kept, nor those with nominal variables; where no variable is
    given the links with all that stay are lost.
    """

    given: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.given, tuple | list) and not self.given:
            object.__setattr__(self, "given", ())  # nothing is conditioned on
        else:
            parameters.names(self, "given")
        both = set(self.given or ()) & set(self.variables or ())
        if both:
            raise parameters.refuse(self, f"{min(both)!r} is both shuffled and given; a variable that stays cannot go")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables that are shuffled: those told, the confidential numbers, or all numbers not given."""
        names = chosen(self, data.schema)
        if self.variables is not None:
            return names
        open_to = [name for name in names if name not in (self.given or ())]
        named = tuple(name for name in open_to if data.schema[name].role == "confidential") or tuple(open_to)
        if not named:
            raise NotApplicable("every numeric variable is given, so none is left to shuffle")
        return named

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        """Return the method for these variables alone, given those of the given that the table has."""
        given = None if self.given is None else tuple(name for name in self.given if name in data.schema)
        return replace(self, variables=names, given=given)

    def _given(self, data: Microdata, names: tuple[str, ...]) -> tuple[str, ...]:
        if self.given is None:
            return tuple(name for name in data.schema.analysed("numeric", "ordinal", "date") if name not in names)
        for name in self.given:
            if name not in data.schema:
                raise NotApplicable(f"given: there is no variable {name!r}; there are {', '.join(data.names)}")
            if data.schema[name].kind == "nominal":
                raise NotApplicable(f"given: variable {name!r} is nominal; it must be numeric, ordinal or a date")
        return self.given

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        given = self._given(data, names)
        table = np.column_stack([_numbers(data, name) for name in (*names, *given)])
        p = len(names)
        rho = needed_correlations(table)
        draws = normal_draws((*names, *given), len(data), rng)
        stay = np.column_stack(
            [normal_scores(table[:, j], draws[:, j]) for j in range(p, table.shape[1])] or [draws[:, :0]]
        )
        for j in range(len(given)):  # ties of what stays are parted at random, so its scores are correlated as they are
            for k in range(j):
                rho[p + j, p + k] = rho[p + k, p + j] = _correlation(stay[:, j], stay[:, k])
        drawn = _drawn(stay, _proper(rho), draws[:, :p])
        return data.replace({name: _dealt(data.columns[name], drawn[:, j]) for j, name in enumerate(names)})

    def in_words(self, schema: Schema | None = None) -> str:
        what = self.subject() if self.variables else "the confidential numbers"
        return f"all values of {what} are exchanged so that only ranks hang together"

    def short(self) -> Phrase:
        return Phrase("shuffle", "shuffle", "" if self.given is None else f"given {len(self.given)}")


def _correlation(first: Floats, second: Floats) -> float:
    """Return the correlation of the scores of the records that have both."""
    both = ~(np.isnan(first) | np.isnan(second))
    if both.sum() < 2:
        return 0.0
    return float(np.corrcoef(first[both], second[both])[0, 1])


def _numbers(data: Microdata, name: str) -> Floats:
    """Return a variable that has an order as numbers with NaN."""
    column = data.columns[name]
    if data.schema[name].quantitative:
        return column
    return np.where(column < 0, np.nan, column)


def _drawn(stay: Floats, rho: Floats, draws: Floats) -> Floats:
    """Give standard normal draws the distribution of the shuffled variables' scores given those that stay.

    Records are conditioned on the scores they have, so those that lack the same ones are treated together.
    """
    p = draws.shape[1]
    drawn = np.empty_like(draws)
    present = ~np.isnan(stay)
    pattern, sizes = classes(present.astype(np.int32))
    for rows in np.split(np.argsort(pattern, kind="stable"), np.cumsum(sizes)[:-1]):
        known = p + np.flatnonzero(present[rows[0]])
        across = rho[:p, known]
        slope = across @ np.linalg.pinv(rho[np.ix_(known, known)], hermitian=True)
        left = rho[:p, :p] - slope @ across.T
        drawn[rows] = stay[np.ix_(rows, known - p)] @ slope.T + draws[rows] @ root(left)
    return drawn


def _dealt(values: Floats, scores: Floats) -> Floats:
    """Give the j-th smallest value present to the record with the j-th smallest score among those that have one."""
    present = np.flatnonzero(~np.isnan(values))
    dealt = values.copy()
    dealt[present[np.argsort(scores[present], kind="stable")]] = np.sort(values[present])
    return dealt
