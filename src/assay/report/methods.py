"""The methods paragraph: how the results of a run were computed, in the style of a paper."""

from collections.abc import Iterable, Mapping
from typing import Any

INTERVALS = {
    "wilson": "Wilson's score interval",
    "clopper-pearson": "Clopper and Pearson's exact interval",
    "score": "a score interval",
    "score on clusters": "a score interval over clusters",
    "t": "Student's t",
    "t on clusters": "Student's t over clusters",
    "exact, no spread seen": "an exact bound, no spread seen",
    "macro": "a score interval from the variances of the groups",
    "anytime: betting confidence sequence": "a betting confidence sequence, which allows for early stopping",
    "jackknife log t": "the jackknife on the logarithm",
    "jackknife logit t": "the jackknife on the logit",
}


Row = Mapping[str, Any]


def methods_paragraph(manifest: Row, summary: Row) -> list[str]:
    """Return one paragraph for each task × model, and one for the run as a whole."""
    results = _mappings(summary.get("results", ()))
    paragraphs = []
    for cell in _mappings(manifest.get("cells", ())):
        rows = [row for row in results if _is_of(row, cell)]
        paragraphs.append(_cell_paragraph(cell, rows, manifest))
    return [*paragraphs, _run_paragraph(manifest, results)]


def _mappings(entries: Iterable[object]) -> list[Row]:
    """Return the entries that are mappings. A damaged file may contain other values."""
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _mapping(value: object) -> Row:
    """Return the value if it is a mapping; otherwise an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def _is_of(row: Row, cell: Row) -> bool:
    return all(row.get(name) == cell.get(name) for name in ("task", "model"))


def _cell_paragraph(
    cell: Row,
    results: list[Row],
    manifest: Row,
) -> str:
    """Return the paragraph about one task × model: what was evaluated, how, and the results."""
    task = cell.get("task")
    protocol = cell.get("protocol")
    if protocol and protocol != task:
        under = f" under protocol {protocol}"
    else:
        under = ""
    sentences = [f"{cell.get('model')} was evaluated on {task}{under}."]
    settings = _settings(cell)
    if settings:
        sentences.append(f"Generation: {', '.join(settings)}.")
    scorers = _mapping(cell.get("scorers"))
    if scorers:
        sentences.append(f"Scored by {', '.join(scorers)}.")
    judges = _mapping(_mapping(manifest.get("config")).get("judges"))
    if judges and "judge" in str(scorers):
        names = [f"{model} ({role})" for role, model in judges.items()]
        sentences.append(f"Judge: {', '.join(names)}.")
    sentences += [_number_sentences(row) for row in results]
    if cell.get("data_sha256"):
        sentences.append(f"Data sha256 {str(cell['data_sha256'])[:16]}….")
    return " ".join(sentences)


def _settings(cell: Row) -> list[str]:
    """Return phrases about how answers were generated: options, examples in the prompt, repeats."""
    options = _mapping(cell.get("options"))
    settings = [f"{name} {value}" for name, value in options.items()]
    if cell.get("num_fewshot"):
        settings.append(f"{cell['num_fewshot']} solved examples in the prompt")
    if (cell.get("epochs") or 1) > 1:
        settings.append(f"{cell['epochs']} answers to each sample")
    return settings


def _number_sentences(row: Row) -> str:
    """Return sentences about one result: its value, interval, samples and failures."""
    metric = row.get("metric")
    value = row.get("value")
    n = row.get("n")
    expected = row.get("n_expected")
    count = f"n = {n}"
    if expected not in (None, n):
        count += f" of {expected}"
    if value is None:
        return f"{metric} has no value ({count})."
    text = f"{metric} is {value:.4g}, {_interval_text(row)}, {count}."
    rule = _mapping(_mapping(row.get("details")).get("until"))
    if rule.get("stopped"):
        order = f"in random order (seed {rule.get('seed')})"
        text += f" Samples were asked {order} until the rule {rule.get('rule')} held."
    failures = []
    for name, number in _mapping(row.get("outcomes")).items():
        if name != "scored" and number:
            failures.append(f"{number} {name}")
    if failures:
        text += f" Not scored: {', '.join(failures)}."
    if row.get("bounds"):
        low, high = row["bounds"]
        worst = f"If all samples without a verdict were wrong it would be {low:.4g}"
        text += f" {worst}, if all were right {high:.4g}."
    return text


def _interval_text(row: Row) -> str:
    """Return the interval of a result and its method in words."""
    ends = row.get("ci")
    if not ends:
        return "without an interval"
    name = str(row.get("interval") or "")
    method = INTERVALS.get(name, name)
    return f"95 % interval {ends[0]:.4g} to {ends[1]:.4g} ({method})"


def _run_paragraph(
    manifest: Row,
    results: list[Row],
) -> str:
    """Return the paragraph about the run as a whole: version, time, and statements that apply to all results."""
    version = _mapping(manifest.get("versions")).get("assay")
    sentence = "Run with assay"
    if version:
        sentence += f" {version}"
    if manifest.get("started"):
        sentence += f", started {manifest['started']}"
    sentences = [f"{sentence}."]
    limit = _mapping(manifest.get("config")).get("limit")
    if limit:
        sentences.append(f"Only the first {limit} samples of each task were asked for.")
    if any(row.get("clusters") for row in results):
        sentences.append(
            "Samples that belong together are one cluster in every interval."
        )
    return " ".join(sentences)
