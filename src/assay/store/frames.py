"""Data frames for those who have pandas; everybody else is told what to install."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..core import MissingExtra


def data_frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> Any:
    """A pandas data frame of some rows."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra("pandas, which makes data frames,", "'assay[guests]'") from error
    return pandas.DataFrame(list(rows), columns=None if columns is None else list(columns))
