"""Altair, which notebooks and the pages of studies need, and no report."""

from typing import Any

from sfumato.errors import ParameterError


def altair() -> Any:
    """Import Altair."""
    try:
        import altair as alt
    except ModuleNotFoundError:
        raise ParameterError(
            "pictures in notebooks and the pages of studies need Altair, which is not installed; "
            "run: pip install 'sfumato[charts]'"
        ) from None
    return alt
