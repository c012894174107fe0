"""`--config FILE`: options of a run from YAML or JSON, and how far the file is trusted."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import UsageError
from ..core.trust import Gate
from .arguments import flatten_list, judge_entry, key_values

if TYPE_CHECKING:
    from ..runner.options import RunOptions


def gate_of(flags: argparse.Namespace) -> Gate | None:
    """Return the restrictions for a `--config` written by someone else.

    Only code that the command itself names may run.
    """
    if not flags.config:
        return None
    from ..runner.resume.recorded import check_settings, gate_for

    manifest = _read_plain(flags.config)
    if not _is_manifest(_config_file(flags.config), manifest):
        return None
    named = {
        name: value
        for name, value in vars(flags).items()
        if name != "config" and value not in (None, False)
    }
    for name in ("model_args", "judge_args"):
        named[name] = key_values(getattr(flags, name) or [], option=f"--{name}")
    if flags.base_url:
        named["model_args"]["base_url"] = flags.base_url
    named["judges"] = dict(judge_entry(entry) for entry in flags.judges or ())
    named["tasks"] = flatten_list([*flags.tasks, *(flags.more_tasks or ())])
    gate = gate_for(manifest, flags.config, named, flags.trust_code)
    check_settings(read_config(flags.config), named, gate, asks_model=True)
    return gate


def read_config(path: str) -> "RunOptions":
    """Read options from YAML or JSON.

    A `run.json` repeats its run in a new folder. No config file can grant trust.
    """
    from ..runner.options import RunOptions

    plain = _read_plain(path)
    if _is_manifest(_config_file(path), plain) and isinstance(
        plain.get("config"), Mapping
    ):
        recorded = RunOptions.from_plain(plain["config"], where=path)
        return recorded.but(output=None, fresh=False, trust_code=False, baseline=None)
    return RunOptions.from_plain(plain, where=path).but(trust_code=False)


def _config_file(path: str) -> Path:
    file = Path(path).expanduser()
    return file / "run.json" if file.is_dir() else file


def _is_manifest(file: Path, plain: Mapping[str, Any]) -> bool:
    """Return True if a file is, or would be accepted as, the `run.json` of a run."""
    return (
        "config" in plain
        or file.name == "run.json"
        or (file.parent / "records.jsonl").exists()
    )


def _read_plain(path: str) -> Mapping[str, Any]:
    from ..runner.tasks.task_yaml import load_yaml

    file = _config_file(path)
    if not file.is_file():
        raise UsageError("no such config file", where=path)
    if file.suffix == ".json":
        try:
            plain = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not valid JSON: {error}", where=path) from error
    else:
        plain = load_yaml(file)
    if not isinstance(plain, Mapping):
        raise UsageError("a config file holds keys and values", where=path)
    return plain
