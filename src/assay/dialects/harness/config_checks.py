"""Check a user's own task file: unknown names, invalid values and templates, and keys written twice.

The library itself would fail on most errors with a Python traceback, or only after the
model was called.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ...core import UnknownName, UsageError, nearest, shorten
from ...core.errors import suggest
from .task_yaml import FUNCTION, TaskLoader

KEYS_OF_FILES = frozenset(
    {
        "class",
        "group",
        "group_alias",
        "include",
        "tag",
        "task_list",
        "aggregate_metric_list",
    }
)
"""Keys that are valid in task files but are not part of a task's configuration, such as `include`."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The valid keys, filters, metrics and aggregations of a library."""

    title: str
    """Name of the library in messages."""
    keys: Collection[str]
    """The keys of a task's configuration."""
    fewshot_keys: Collection[str]
    filters: Collection[str]
    metrics: Collection[str]
    aggregations: Collection[str]

    def fault(
        self,
        config: Mapping[str, Any],
        where: str,
    ) -> UsageError | None:
        """Return an error for the first unknown key, filter or metric in a task file. None if all are known."""
        error = self._unknown_key(config, where) or self._unknown_filter(config, where)
        if error is not None or config.get("process_results"):
            return error
        for metric in _mappings(config.get("metric_list")):
            name = metric.get("metric")
            if isinstance(name, str) and not _is_known(name, self.metrics):
                hint = f"it is neither a metric of {self.title} nor one that the `evaluate` library has here"
                return UnknownName(
                    "metric",
                    name,
                    self.metrics,
                    where=f"{where}, key `metric_list`",
                    hint=hint,
                )
        return None

    def unknown_aggregation(self, metric_list: object, where: str) -> UsageError | None:
        """Return an error about the first unknown aggregation; None if all are known.

        The library would silently use the mean instead.
        """
        for metric in _mappings(metric_list):
            name = metric.get("aggregation")
            if isinstance(name, str) and not _is_known(name, self.aggregations):
                return UnknownName(
                    "aggregation",
                    name,
                    self.aggregations,
                    where=f"{where}, key `metric_list`",
                    hint=f"an aggregation of {self.title}",
                )
        return None

    def _unknown_key(
        self,
        config: Mapping[str, Any],
        where: str,
    ) -> UsageError | None:
        """Return an error about the first unknown key of a task; None if all are known. Groups are not checked."""
        if "group" in config or "class" in config:
            return None
        task_keys = set(self.keys)
        for key in config:
            if key not in task_keys | KEYS_OF_FILES:
                fix = suggest(str(key), sorted(task_keys), "known keys:")
                return UsageError(
                    f"unknown key {key!r}",
                    where=where,
                    fix=fix,
                )
        fewshot = config.get("fewshot_config")
        for key in fewshot if isinstance(fewshot, Mapping) else ():
            if self.fewshot_keys and key not in self.fewshot_keys:
                fix = suggest(str(key), sorted(self.fewshot_keys), "known keys:")
                key_path = f"{where}, key `fewshot_config`"
                return UsageError(
                    f"unknown key {key!r}",
                    where=key_path,
                    fix=fix,
                )
        return None

    def _unknown_filter(
        self,
        config: Mapping[str, Any],
        where: str,
    ) -> UsageError | None:
        for pipeline in _mappings(config.get("filter_list")):
            for step in _mappings(pipeline.get("filter")):
                name = step.get("function")
                if isinstance(name, str) and not _is_known(name, self.filters):
                    return UnknownName(
                        "filter",
                        name,
                        self.filters,
                        where=f"{where}, key `filter_list`",
                        hint=f"a filter of {self.title}",
                    )
        return None


def _is_known(
    name: str,
    registered: Collection[str],
) -> bool:
    return name.startswith(FUNCTION) or name in registered


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    entries = value if isinstance(value, list) else []
    return (entry for entry in entries if isinstance(entry, Mapping))


MOST_REPEATS = 10_000
LM_EVAL_TYPES = (
    "generate_until",
    "loglikelihood",
    "loglikelihood_rolling",
    "multiple_choice",
)
TEXTS = (
    "dataset_path",
    "test_split",
    "validation_split",
    "training_split",
    "fewshot_split",
    "target_delimiter",
    "fewshot_delimiter",
    "output_type",
)
"""Keys of a task whose value must be a string."""
TEXTS_OR_FUNCTIONS = ("doc_to_text", "description", "gen_prefix")
FUNCTIONS = ("process_docs", "process_results", "custom_dataset")
"""Keys of a task whose value must be a function."""
METRIC_KEYS = (
    "metric",
    "aggregation",
    "higher_is_better",
    "hf_evaluate",
    "ignore_case",
    "ignore_punctuation",
    "ignore_numbers",
    "regexes_to_ignore",
)
"""Keys of an entry in `metric_list` that the library itself reads. All other keys are arguments of the metric."""
NUMBERS = ("temperature", "top_p", "top_k")
"""Generation options whose value is a number."""
COUNTS = {"num_fewshot": 0, "repeats": 1}
"""Keys of a task whose value is an integer, each with its minimum."""


def check_task_values(
    config: Mapping[str, Any],
    where: str,
    is_lm_eval: bool,
) -> None:
    """Raise for an invalid value in a task file, which is already merged with its includes."""
    check_one_key_each(where)
    if "class" in config:
        return
    if isinstance(config.get("task"), str) and not config["task"].strip():
        raise _fault(where, "task", "is empty", "give the task a name")
    for key in TEXTS:
        _check_kind(config, key, str, "a text", where)
    for key in FUNCTIONS:
        _check_function(config, key, where)
    for key in TEXTS_OR_FUNCTIONS:
        _check_kind(config, key, (str, list), "a text", where)
    for key, least in COUNTS.items():
        _check_count(config, key, least, where)
    _check_generation(config, where)
    _check_metrics(config, where)
    _check_filters(config, where)
    if is_lm_eval:
        _check_output_type(config, where)


def check_group_values(
    config: Mapping[str, Any],
    where: str,
) -> None:
    """Raise for an invalid value in a group file."""
    check_one_key_each(where)
    members = config.get("task")
    if not members:
        raise _fault(where, "task", "names no member", "list the names of its tasks")
    for member in members if isinstance(members, list) else [members]:
        if not isinstance(member, (str, Mapping)):
            raise _fault(
                where,
                "task",
                f"contains {shorten(member)}, which is not a name",
                "list names of tasks",
            )
    for entry in _mappings_in(config, "aggregate_metric_list", where):
        if not isinstance(entry.get("metric"), (str, list)):
            raise _fault(
                where,
                "aggregate_metric_list",
                "has an entry without `metric`",
                "write `- metric: NAME`",
            )


def check_one_key_each(where: str) -> None:
    """Raise if a top-level key occurs twice in a file. YAML readers would silently use the last one."""
    file = Path(where)
    if not file.is_file():
        return
    try:
        node = yaml.compose(file.read_bytes(), Loader=TaskLoader)
    except yaml.YAMLError:
        return  # Reading the file reports the error with its line.
    lines: dict[str, int] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        name = str(key.value)
        line = key.start_mark.line + 1
        if name in lines:
            raise UsageError(
                f"has the key {name!r} in line {lines[name]} and again",
                where=f"{where}:{line}",
                fix="keep one of them",
            )
        lines[name] = line


def _check_output_type(
    config: Mapping[str, Any],
    where: str,
) -> None:
    """Raise for an unknown output type, and for missing keys that this output type needs."""
    output_type = config.get("output_type", "generate_until")
    if output_type not in LM_EVAL_TYPES:
        raise _fault(
            where,
            "output_type",
            f"is unknown: {output_type!r}",
            suggest(output_type, LM_EVAL_TYPES, "known types:"),
        )
    if output_type == "loglikelihood_rolling":
        return
    for key in ("doc_to_text", "doc_to_target"):
        if config.get(key) is None:
            raise _fault(where, key, "is missing", "a column, a text with {{column}}s")
    if output_type != "multiple_choice":
        return
    choices = config.get("doc_to_choice")
    if choices is None or choices == []:
        problem = "is missing" if choices is None else "is empty"
        raise _fault(
            where,
            "doc_to_choice",
            problem,
            "a list of answers, a column with one, or a text with {{column}}",
        )


def _check_generation(
    config: Mapping[str, Any],
    where: str,
) -> None:
    options = config.get("generation_kwargs")
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise _fault(
            where, "generation_kwargs", "is no mapping", "write `max_gen_toks: 64`"
        )
    for name in NUMBERS:
        value = options.get(name)
        if value is not None and not isinstance(value, (int, float)):
            raise _fault(
                where,
                "generation_kwargs",
                f"has {name}={value!r}, which is not a number",
                f"write {name} as a number",
            )
    until = options.get("until")
    endings = until if isinstance(until, list) else [until]
    if not all(ending is None or isinstance(ending, str) for ending in endings):
        raise _fault(
            where,
            "generation_kwargs",
            f"has until={shorten(until)}, which is neither a text nor a list of texts",
            'write `until: ["\\n"]`',
        )


def _check_metrics(
    config: Mapping[str, Any],
    where: str,
) -> None:
    if "metric_list" not in config or config["metric_list"] is None:
        return
    metrics = list(_mappings_in(config, "metric_list", where))
    if not metrics:
        raise _fault(
            where, "metric_list", "is empty", "name a metric, or remove the key"
        )
    for metric in metrics:
        if not isinstance(metric.get("metric"), str):
            raise _fault(
                where,
                "metric_list",
                "has an entry without `metric`",
                "write `- metric: NAME`",
            )
        for key in metric:
            close = nearest(str(key), METRIC_KEYS)
            if close is not None and key not in METRIC_KEYS:
                raise _fault(
                    where,
                    "metric_list",
                    f"has the unknown key {key!r}",
                    f"did you mean {close!r}?",
                )
        direction = metric.get("higher_is_better", True)
        if not isinstance(direction, bool):
            raise _fault(
                where,
                "metric_list",
                f"has higher_is_better={shorten(direction)}",
                "write true or false",
            )


def _check_filters(
    config: Mapping[str, Any],
    where: str,
) -> None:
    names = set()
    for pipeline in _mappings_in(config, "filter_list", where):
        name = pipeline.get("name")
        if not isinstance(name, str):
            raise _fault(
                where,
                "filter_list",
                "has a pipeline without `name`",
                "write `- name: NAME`",
            )
        if name in names:
            raise _fault(
                where,
                "filter_list",
                f"has two pipelines of the name {name!r}",
                "rename one of them",
            )
        names.add(name)
        for step in _mappings_in(pipeline, "filter", where):
            if not isinstance(step.get("function"), str):
                raise _fault(
                    where,
                    "filter_list",
                    f"has a step without `function` in the pipeline {name!r}",
                    "write `- function: NAME`",
                )


def _mappings_in(
    config: Mapping[str, Any],
    key: str,
    where: str,
) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings in the list under `key`. Raise if the value is not a list of mappings."""
    value = config.get(key)
    entries = [] if value is None else value
    is_list = isinstance(entries, list)
    if not is_list or not all(isinstance(entry, Mapping) for entry in entries):
        raise _fault(
            where,
            key,
            f"is not a list of mappings: {shorten(value)}",
            "begin each entry with `- `",
        )
    yield from entries


def _check_function(
    config: Mapping[str, Any],
    key: str,
    where: str,
) -> None:
    value = config.get(key)
    if value is None:
        return
    if not isinstance(value, str) or not value.startswith(FUNCTION.strip()):
        raise _fault(
            where,
            key,
            f"is not a function: {shorten(value)}",
            "write `!function MODULE.NAME`",
        )


def _check_kind(
    config: Mapping[str, Any],
    key: str,
    kind: type | tuple[type, ...],
    words: str,
    where: str,
) -> None:
    value = config.get(key)
    if value is not None and not isinstance(value, kind):
        raise _fault(
            where, key, f"is {shorten(value)}, which is not {words}", "put it in quotes"
        )


def _check_count(
    config: Mapping[str, Any],
    key: str,
    least: int,
    where: str,
) -> None:
    value = config.get(key)
    if value is None:
        return
    is_count = isinstance(value, int) and not isinstance(value, bool)
    if not is_count or not least <= value <= MOST_REPEATS:
        raise _fault(
            where,
            key,
            f"is {shorten(value)}",
            f"a whole number from {least} to {MOST_REPEATS}",
        )


def check_templates(
    config: Mapping[str, Any],
    where: str,
    compile_template: Callable[[str], object],
) -> UsageError | None:
    """Return an error about the first template that cannot be compiled, or None."""
    from jinja2 import TemplateError

    for key, value in config.items():
        if not isinstance(value, str) or "{" not in value:
            continue
        try:
            compile_template(value)
        except TemplateError as error:
            message = str(error).rstrip(".")
            return _fault(
                where,
                key,
                f"is not a valid template: {message}",
                "correct the template",
            )
    return None


def _fault(
    where: str,
    key: str,
    problem: str,
    fix: str,
) -> UsageError:
    """Build an error about the value of a key in a task file."""
    return UsageError(
        f"`{key}` {problem}",
        where=f"{where}, key `{key}`",
        fix=fix,
    )
