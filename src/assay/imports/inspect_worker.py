"""Read a log through inspect_ai's own functions, in a separate process with limited memory.

The process writes one JSON object per line to stdout: the header, each sample, and the
end or a fault. It does not import any module of assay.
"""

import asyncio
import contextlib
import json
import resource
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog


SAMPLE_FIELDS = {
    "id",
    "epoch",
    "input",
    "target",
    "messages",
    "output",
    "scores",
    "error",
    "metadata",
    "total_time",
    "limit",
}
NEWER = "Unable to read version"


def main() -> int:
    """Read the log named by the first argument. The second argument limits the memory, in bytes."""
    path = sys.argv[1]
    limit = int(sys.argv[2])
    # inspect_ai's own output is sent to stderr, so that stdout has only the lines.
    out = sys.stdout
    sys.stdout = sys.stderr
    try:
        import inspect_ai.log as log_module

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        for line in _lines(log_module, path):
            out.write(json.dumps(line, default=str) + "\n")
    except MemoryError:
        out.write(json.dumps({"fault": "memory"}) + "\n")
    except Exception as error:  # noqa: BLE001 - reported to the process that asked
        if NEWER in _chain(error):
            kind = "newer"
        else:
            kind = "unreadable"
        reason = f"{type(error).__name__}: {error}"
        out.write(json.dumps({"fault": kind, "reason": reason[:300]}) + "\n")
    out.flush()
    return 0


def _chain(error: BaseException | None) -> str:
    """Return the messages of an error and of its causes as one text."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def _lines(log_module: ModuleType, path: str) -> Iterator[dict[str, Any]]:
    """Yield the header of a log, its samples, and an object that marks the end."""
    header = log_module.read_eval_log(path, header_only=True)
    known_version = log_module.EvalLog.model_fields["version"].default
    if header.version > known_version:
        raise ValueError(f"{NEWER} {header.version}")
    plain = header.model_dump(
        mode="json",
        exclude_none=True,
        exclude={"plan"},
    )
    yield {"header": plain}
    if path.endswith(".json"):
        log = log_module.read_eval_log(path, resolve_attachments="core")
        samples = iter(log.samples or ())
    else:
        samples = _samples(log_module, path, header)
    for sample in samples:
        dumped = sample.model_dump(
            mode="json",
            include=SAMPLE_FIELDS,
            exclude_none=True,
        )
        yield {"sample": dumped}
    yield {"end": True}


def _samples(
    log_module: ModuleType,
    path: str,
    header: "EvalLog",
) -> Iterator[Any]:
    """Yield the samples of a `.eval` file in the order of its data. Missing samples are
    left out.

    All samples are read with one reader. `read_eval_log_samples` would read the list of
    entries again for each sample.
    """
    from inspect_ai._util.async_zip import AsyncZipReader
    from inspect_ai._util.asyncfiles import AsyncFilesystem

    ids = header.eval.dataset.sample_ids
    if ids is None:
        raise ValueError("the log does not list its samples")
    epochs = header.eval.config.epochs or 1
    reader = AsyncZipReader(AsyncFilesystem(), path)
    with asyncio.Runner() as runner:
        for id in ids:
            for epoch in range(1, epochs + 1):
                reading = log_module.read_eval_log_sample_async(
                    path,
                    id,
                    epoch,
                    resolve_attachments="core",
                    reader=reader,
                )
                # Samples that a run did not reach are not in the file.
                with contextlib.suppress(IndexError):
                    yield runner.run(reading)


if __name__ == "__main__":
    sys.exit(main())
