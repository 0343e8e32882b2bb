"""What a file is still good for, variable by variable and pair by pair: the global data utility of Kocar."""

from sfumato.utility.global_utility.measure import GlobalDataUtility

__all__ = ["GlobalDataUtility"]
