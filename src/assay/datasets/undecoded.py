"""Rows of the `datasets` library with media left as bytes, so that the library's decoders are not needed.

If a feature `Audio(sampling_rate=…)` declares a rate, the rate is added to each cell,
so that the clip is resampled to it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

MEDIA_FEATURES = frozenset({"Image", "Audio", "Video"})
RATE = "sampling_rate"
SCHEMA_KEY = b"huggingface"
"""The key in the schema of an Arrow or Parquet file under which the `datasets` library stores its features."""


def without_decoding(data: object) -> object:
    """Return the data with images, audio and video left as bytes, also inside lists and structures."""
    features = getattr(data, "features", None)
    if not isinstance(features, dict) or not hasattr(data, "cast_column"):
        return data
    rates = audio_rates(features)
    rows: Any = data
    for column, feature in features.items():
        bare = _without_decoder(feature)
        if bare is not None:
            rows = rows.cast_column(column, bare)
    return RatedRows(rows, rates) if rates else rows


class _Rows(Protocol):
    """The part of the library's `Dataset` interface that assay uses."""

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: object) -> object: ...


class RatedRows:
    """The library's data, with the declared sampling rate added to audio cells.

    All other attributes are those of the library's object.
    """

    def __init__(
        self,
        data: _Rows,
        rates: Mapping[str, int],
    ) -> None:
        self._data = data
        self._rates = rates

    def __iter__(self) -> Iterator[Any]:
        return (with_rates(row, self._rates) for row in self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, key: object) -> object:
        row = self._data[key]
        if isinstance(key, int):
            return with_rates(row, self._rates)
        return row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)


def audio_rates(features: Mapping[str, Any]) -> dict[str, int]:
    """Return the sampling rate that each audio column declares. Columns with lists of clips are included."""
    rates = {}
    for column, feature in features.items():
        rate = _rate_of(feature)
        if rate is not None:
            rates[column] = rate
    return rates


def schema_rates(metadata: Mapping[bytes, bytes] | None) -> dict[str, int]:
    """Return the declared rates from the metadata of a file's schema; an empty result
    if the library did not write it.
    """
    try:
        info = json.loads((metadata or {})[SCHEMA_KEY])["info"]
        features = info["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    if isinstance(features, dict):
        return audio_rates(features)
    return {}


def with_rates(
    row: T,
    rates: Mapping[str, int],
) -> T | dict[str, Any]:
    """Return a row with the declared sampling rate of the column added to each audio cell."""
    if not rates or not isinstance(row, Mapping):
        return row
    changed = dict(row)
    for column, rate in rates.items():
        cell = changed.get(column)
        if isinstance(cell, Mapping):
            changed[column] = {**cell, RATE: rate}
        elif isinstance(cell, list):
            changed[column] = [
                {**clip, RATE: rate} if isinstance(clip, Mapping) else clip
                for clip in cell
            ]
    return changed


def _rate_of(feature: object) -> int | None:
    """Return the sampling rate of an audio feature, given as an object or as a dictionary; None if it declares none."""
    if isinstance(feature, list) and len(feature) == 1:
        return _rate_of(feature[0])
    if isinstance(feature, Mapping):
        kind = feature.get("_type")
        members = feature
    else:
        kind = type(feature).__name__
        members = {
            RATE: getattr(feature, RATE, None),
            "feature": getattr(feature, "feature", None),
        }
    if kind == "Audio":
        rate = members.get(RATE)
        return rate if isinstance(rate, int) else None
    if kind not in ("Sequence", "List", "LargeList"):
        return None
    inner = members.get("feature")
    return None if inner is None else _rate_of(inner)


def _without_decoder(feature: object) -> object:
    """Return a copy of a feature that leaves its media undecoded. Return None if the feature has no media."""
    make: Callable[..., object] = type(feature)
    if make.__name__ in MEDIA_FEATURES:
        return make(decode=False)
    if isinstance(feature, dict):
        bare = {name: _without_decoder(inner) for name, inner in feature.items()}
        if all(inner is None for inner in bare.values()):
            return None
        return {
            name: feature[name] if inner is None else inner
            for name, inner in bare.items()
        }
    if isinstance(feature, list) and len(feature) == 1:
        inner = _without_decoder(feature[0])
        return None if inner is None else [inner]
    if hasattr(feature, "feature"):
        inner = _without_decoder(feature.feature)
    else:
        inner = None
    if inner is None:
        return None
    return make(inner)
