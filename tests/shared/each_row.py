"""One test over a table: every row is tried, and the rows that fail are listed together.

`@each(...)` is written as `@pytest.mark.parametrize(...)` is. It suits large tables of rows that need no folder and no
patch of their own: a thousand tests cost seconds to collect, hand out and report, a thousand rows do not.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def each(
    names: str | Sequence[str], rows: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Calls the test for each row, with its values under these names."""
    columns = (
        [name.strip() for name in names.split(",")]
        if isinstance(names, str)
        else list(names)
    )
    table = [
        dict(zip(columns, row if len(columns) > 1 else (row,), strict=True))
        for row in rows
    ]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def whole(**fixtures: Any) -> None:
            wrong, skipped = [], []
            for values in table:
                try:
                    test(**fixtures, **values)
                except pytest.skip.Exception as reason:
                    skipped.append(str(reason))
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append(f"{values}: {type(error).__name__}: {error}")
            assert table, "there are no rows"
            assert not wrong, f"{len(wrong)} of {len(table)} rows:\n" + "\n".join(wrong)
            if len(skipped) == len(table):
                pytest.skip(skipped[0])

        own = inspect.signature(test)
        others = [
            parameter
            for name, parameter in own.parameters.items()
            if name not in columns
        ]
        whole.__signature__ = own.replace(parameters=others)  # type: ignore[attr-defined]
        del whole.__wrapped__
        return whole

    return decorate
