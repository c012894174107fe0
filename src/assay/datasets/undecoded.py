"""Rows of the `datasets` library with their media left as bytes: we decode ourselves, and need none of its decoders."""

from typing import Any

MEDIA_FEATURES = frozenset({"Image", "Audio", "Video"})


def without_decoding(data: Any) -> Any:
    """The same data with images, audio and video left as the bytes they are, inside lists and structures too."""
    features = getattr(data, "features", None)
    if not isinstance(features, dict) or not hasattr(data, "cast_column"):
        return data
    for column, feature in features.items():
        bare = _bare(feature)
        if bare is not None:
            data = data.cast_column(column, bare)
    return data


def _bare(feature: Any) -> Any:
    """The feature without decoding; `None` where it holds no media."""
    if type(feature).__name__ in MEDIA_FEATURES:
        return type(feature)(decode=False)
    if isinstance(feature, dict):
        bare = {name: _bare(inner) for name, inner in feature.items()}
        if all(inner is None for inner in bare.values()):
            return None
        return {
            name: feature[name] if inner is None else inner
            for name, inner in bare.items()
        }
    if isinstance(feature, list) and len(feature) == 1:
        inner = _bare(feature[0])
        return None if inner is None else [inner]
    inner = _bare(feature.feature) if hasattr(feature, "feature") else None
    return None if inner is None else type(feature)(inner)
