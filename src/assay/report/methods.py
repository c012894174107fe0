"""The methods paragraph: how the numbers of a run were made, in the words of a paper."""

from collections.abc import Mapping
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


def methods_paragraph(
    manifest: Mapping[str, Any], summary: Mapping[str, Any]
) -> list[str]:
    """Sentences, one paragraph for each cell and one for the run as a whole."""
    results = [row for row in summary.get("results", ()) if isinstance(row, Mapping)]
    cells = [cell for cell in manifest.get("cells", ()) if isinstance(cell, Mapping)]
    paragraphs = [
        _cell(cell, [r for r in results if _is_of(r, cell)], manifest) for cell in cells
    ]
    return [*paragraphs, _run(manifest, results)]


def _is_of(row: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    return (row.get("task"), row.get("model")) == (cell.get("task"), cell.get("model"))


def _cell(
    cell: Mapping[str, Any],
    results: list[Mapping[str, Any]],
    manifest: Mapping[str, Any],
) -> str:
    task, protocol = cell.get("task"), cell.get("protocol")
    under = f" under protocol {protocol}" if protocol and protocol != task else ""
    sentences = [f"{cell.get('model')} was evaluated on {task}{under}."]
    options = cell.get("options")
    ways = (
        [f"{name} {value}" for name, value in options.items()]
        if isinstance(options, Mapping)
        else []
    )
    if cell.get("num_fewshot"):
        ways.append(f"{cell['num_fewshot']} solved examples in the prompt")
    if (cell.get("epochs") or 1) > 1:
        ways.append(f"{cell['epochs']} answers to each sample")
    if ways:
        sentences.append(f"Generation: {', '.join(ways)}.")
    scorers = cell.get("scorers")
    if isinstance(scorers, Mapping) and scorers:
        sentences.append(f"Scored by {', '.join(scorers)}.")
    judges = (
        manifest.get("config", {}).get("judges")
        if isinstance(manifest.get("config"), Mapping)
        else None
    )
    if isinstance(judges, Mapping) and judges and "judge" in str(scorers):
        sentences.append(
            f"Judge: {', '.join(f'{model} ({role})' for role, model in judges.items())}."
        )
    sentences += [_number(row) for row in results]
    if cell.get("data_sha256"):
        sentences.append(f"Data sha256 {str(cell['data_sha256'])[:16]}….")
    return " ".join(sentences)


def _number(row: Mapping[str, Any]) -> str:
    value = row.get("value")
    expected = row.get("n_expected")
    n = f"n = {row.get('n')}" + (
        f" of {expected}" if expected not in (None, row.get("n")) else ""
    )
    if value is None:
        return f"{row.get('metric')} has no value ({n})."
    ci = row.get("ci")
    method = INTERVALS.get(str(row.get("interval")), str(row.get("interval") or ""))
    between = (
        f", 95 % interval {ci[0]:.4g} to {ci[1]:.4g} ({method})"
        if ci
        else ", without an interval"
    )
    text = f"{row.get('metric')} is {value:.4g}{between}, {n}."
    details = row.get("details")
    rule = details.get("until") if isinstance(details, Mapping) else None
    if isinstance(rule, Mapping) and rule.get("stopped"):
        text += f" Samples were asked in random order (seed {rule.get('seed')}) until the rule {rule.get('rule')} held."
    outcomes = row.get("outcomes")
    failures = (
        {k: v for k, v in outcomes.items() if k != "scored" and v}
        if isinstance(outcomes, Mapping)
        else {}
    )
    if failures:
        text += f" Not scored: {', '.join(f'{count} {name}' for name, count in failures.items())}."
    if row.get("bounds"):
        low, high = row["bounds"]
        text += f" If all samples without a verdict were wrong it would be {low:.4g}, if all were right {high:.4g}."
    return text


def _run(manifest: Mapping[str, Any], results: list[Mapping[str, Any]]) -> str:
    versions = manifest.get("versions")
    version = versions.get("assay") if isinstance(versions, Mapping) else None
    sentence = f"Run with assay{f' {version}' if version else ''}"
    if manifest.get("started"):
        sentence += f", started {manifest['started']}"
    limit = (
        manifest.get("config", {}).get("limit")
        if isinstance(manifest.get("config"), Mapping)
        else None
    )
    sentences = [sentence + "."]
    if limit:
        sentences.append(f"Only the first {limit} samples of each task were asked for.")
    if any(row.get("clusters") for row in results):
        sentences.append(
            "Samples that belong together are one cluster in every interval."
        )
    return " ".join(sentences)
