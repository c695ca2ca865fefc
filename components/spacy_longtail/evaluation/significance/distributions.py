"""scipy, which an extra brings."""

from typing import Any

from ...errors import Errors


def scipy_stats() -> Any:
    """The module scipy.stats. RAISES (ValueError): L406."""
    try:
        from scipy import stats
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="scipy", extra="report")) from error
    return stats
