"""What became of a figure: measured, or why it is not there. Code reads the fields, people read the sentence."""

from dataclasses import dataclass, replace
from enum import StrEnum

from sfumato.errors import NotApplicable


class Status(StrEnum):
    """What became of a figure."""

    MEASURED = "measured"
    NOT_APPLICABLE = "not applicable"  # a finding: the method or measure does not fit the table
    FAILED = "failed"  # an error that may not happen again


@dataclass(frozen=True)
class Reason:
    """Why there is no figure.

    ``str`` gives the whole sentence, ``why`` the same without the status.

    >>> reason = Reason(Status.NOT_APPLICABLE, "the table has no keys", who="KAnonymity")
    >>> str(reason), reason.why
    ('not applicable: KAnonymity: the table has no keys', 'KAnonymity: the table has no keys')
    """

    status: Status
    text: str  # without the name of the class that speaks
    who: str = ""  # the class that speaks: a method or measure, or the class of an error nobody expected
    needs: str = ""  # of a score, or of a candidate left out: the key of the measure that has no figure
    lacking: int = 1  # in how many replicates there is no figure
    replicates: int = 1

    @classmethod
    def of(cls, error: Exception) -> "Reason":
        """Tell the reason that an error gives: a refusal is a finding, anything else a failure."""
        if isinstance(error, NotApplicable):
            return cls(Status.NOT_APPLICABLE, error.text, who=error.who)
        return cls(Status.FAILED, str(error), who=type(error).__name__)

    def needed(self, key: str) -> "Reason":
        """Return the reason why what is made of this measure is not there either."""
        return self if self.needs else replace(self, needs=key)

    @property
    def why(self) -> str:
        """The sentence without the status."""
        share = "all" if self.lacking == self.replicates else f"{self.lacking}"
        of = f" ({share} of {self.replicates} replicates)" if self.replicates > 1 else ""
        return (f"{self.who}: " if self.who else "") + self.text + of

    def __str__(self) -> str:
        return (f"needs {self.needs}: " if self.needs else "") + f"{self.status}: {self.why}"
