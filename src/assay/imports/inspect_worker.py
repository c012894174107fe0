"""Reads a log through inspect_ai's own functions, in a process of its own with limited memory.

It writes a JSON object per line to stdout: the header, each sample, and the end or a fault. It imports nothing
of assay.
"""

import json
import resource
import sys
from collections.abc import Iterator
from typing import Any

SAMPLE_FIELDS = {
    "id", "epoch", "input", "target", "messages", "output", "scores", "error", "metadata", "total_time", "limit",
}  # fmt: skip
NEWER = "Unable to read version"


def main() -> int:
    """Read the log that the command line names; the second argument is the limit of memory in bytes."""
    path, limit = sys.argv[1], int(sys.argv[2])
    # What inspect_ai prints goes to stderr: stdout holds nothing but the lines.
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        import inspect_ai.log as log_module

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        for line in _lines(log_module, path):
            out.write(json.dumps(line, default=str) + "\n")
    except MemoryError:
        out.write(json.dumps({"fault": "memory"}) + "\n")
    except Exception as error:  # noqa: BLE001 - reported to the process that asked
        kind = "newer" if NEWER in _chain(error) else "unreadable"
        reason = f"{type(error).__name__}: {error}"
        out.write(json.dumps({"fault": kind, "reason": reason[:300]}) + "\n")
    out.flush()
    return 0


def _chain(error: BaseException | None) -> str:
    """Return the messages of an error and of those that led to it."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def _lines(log_module: Any, path: str) -> Iterator[dict[str, Any]]:
    """Yield the header, the samples and the end."""
    header = log_module.read_eval_log(path, header_only=True)
    known_version = log_module.EvalLog.model_fields["version"].default
    if header.version > known_version:
        raise ValueError(f"{NEWER} {header.version}")
    plain = header.model_dump(mode="json", exclude_none=True, exclude={"plan"})
    yield {"header": plain}
    if path.endswith(".json"):
        log = log_module.read_eval_log(path, resolve_attachments="core")
        samples = iter(log.samples or ())
    else:
        samples = log_module.read_eval_log_samples(
            path, all_samples_required=False, resolve_attachments="core"
        )
    for sample in samples:
        dumped = sample.model_dump(
            mode="json", include=SAMPLE_FIELDS, exclude_none=True
        )
        yield {"sample": dumped}
    yield {"end": True}


if __name__ == "__main__":
    sys.exit(main())
