"""Records that agree in every key if a missing value matches any value: which they are, and sums over them."""

from sfumato.kernels.agreement.own import own_sums
from sfumato.kernels.agreement.pairs import agreeing_pairs, spans
from sfumato.kernels.agreement.sums import by_shown_keys, frequencies, frequency_sums, matching_sums

__all__ = ["agreeing_pairs", "by_shown_keys", "frequencies", "frequency_sums", "matching_sums", "own_sums", "spans"]
