"""Several copies of a file combined into one set of estimates, by Rubin's and Reiter's rules."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.utility.models.fit import Fit

Combine = Literal["rubin", "reiter partially", "reiter fully"]


def combined(fits: Sequence[Fit], rule: Combine, originals: int) -> Fit:
    """Combine the estimates of one model in m copies; only the coefficients' own variances are combined.

    With q the mean of the m estimates, u the mean of their squared standard errors and b the variance between them
    (m - 1 in the denominator), the variance T of q and its degrees of freedom v are

    - "rubin", multiple imputation of missing values (Rubin, 1987, Multiple Imputation for Nonresponse in Surveys):
      T = u + (1 + 1/m) b, v = (m - 1) (1 + u / ((1 + 1/m) b))^2;
    - "reiter partially", some values replaced (Reiter, 2003, Inference for partially synthetic, public use microdata
      sets, Survey Methodology 29): T = u + b/m, v = (m - 1) (1 + u / (b/m))^2;
    - "reiter fully", populations drawn anew (Raghunathan, Reiter and Rubin, 2003, Journal of Official Statistics 19):
      T = (1 + 1/m) b - u, v = (m - 1) (1 - u / ((1 + 1/m) b))^2; where T is not positive it is u times the copies'
      number of records over the original's (Reiter, 2002, Journal of Official Statistics 18).

    These v suppose files so large that one copy's own degrees of freedom are infinite; they are never taken above them.
    """
    m = len(fits)
    estimates = np.array([fit.coefficients for fit in fits])
    within = np.mean([np.diag(fit.covariance) for fit in fits], axis=0)
    between = estimates.var(axis=0, ddof=1)
    share = {"rubin": 1 + 1 / m, "reiter partially": 1 / m, "reiter fully": 1 + 1 / m}[rule] * between
    own = min(fit.degrees_of_freedom for fit in fits)
    with np.errstate(divide="ignore"):
        ratio = np.where(share > 0, within / np.where(share > 0, share, 1.0), math.inf)
    if rule == "reiter fully":
        total, freedom = share - within, (m - 1) * (1 - ratio) ** 2
        records = float(np.mean([fit.records for fit in fits]))
        lost = total <= 0
        total = np.where(lost, within * records / originals, total)
        freedom = np.where(lost, own, freedom)
    else:
        total, freedom = within + share, (m - 1) * (1 + ratio) ** 2
    capped: Floats = np.minimum(freedom, own)
    return Fit(
        fits[0].model,
        fits[0].names,
        estimates.mean(axis=0),
        np.diag(total),
        float(capped.min()),
        fits[0].records,
        robust=fits[0].robust,
        notes=tuple(note for fit in fits for note in fit.notes),
        freedom=capped,
    )
