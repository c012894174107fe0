"""`answered`: whether there is an answer at all. `--predict_only` reports it instead of a verdict."""

from ..core import Output, Sample, Score
from ..registry import scorers


@scorers.register("answered")
def answered(sample: Sample, output: Output) -> Score:
    """Return 1 if the model gave text, media, JSON or likelihoods; 0 for an empty answer."""
    has_answer = (
        output.likelihoods
        or output.media
        or output.text.strip()
        or output.json is not None
    )
    return Score(float(bool(has_answer)), answer=output.text or None)


answered.reads = ()  # type: ignore[attr-defined]
