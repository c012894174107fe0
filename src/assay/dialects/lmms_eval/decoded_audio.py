"""Decode audio columns with soundfile, into the dictionaries that tasks read.

Newer versions of `datasets` decode with torchcodec, a large package, into objects that tasks cannot read.
"""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets


def decode_with_soundfile() -> None:
    """Make `datasets` return `{"path", "array", "sampling_rate"}` for a cell with audio."""
    import datasets

    datasets.Audio.decode_example = _decode


def _decode(
    feature: "datasets.Audio",
    value: Mapping[str, Any],
    token_per_repo_id: object = None,
) -> dict[str, Any]:
    """Decode a clip with the channels and the sampling rate that the column requests."""
    import soundfile

    from ...media.audio import resample

    data, path = value.get("bytes"), value.get("path")
    samples, rate = soundfile.read(io.BytesIO(data) if data is not None else path)
    wants_mono = getattr(feature, "mono", False) or feature.num_channels == 1
    if samples.ndim > 1:
        if wants_mono:
            samples = samples.mean(axis=1)
        else:
            samples = samples.T
    if feature.sampling_rate and feature.sampling_rate != rate:
        samples = resample(samples, rate, feature.sampling_rate)
        rate = feature.sampling_rate
    return {"path": path, "array": samples, "sampling_rate": rate}
