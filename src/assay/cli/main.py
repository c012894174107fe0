"""The command line: `assay VERB …`. Each verb (`run`, `show`, …) is a separate module,
which is imported when needed.
"""

import errno
import io
import os
import signal
import sys
import warnings
from importlib import import_module
from itertools import pairwise

VERBS = {
    "run": "run tasks on models (also: eval)",
    "score": "score a run again without asking the model",
    "ls": "list tasks, models, scorers, datasets, templates, summarizers",
    "show": "explain a name, or show the table and the samples of a run",
    "compare": "compare runs with a baseline: differences, intervals, changed samples",
    "leaderboard": "rank models over a suite, with intervals and ties",
    "view": "open runs in the browser: samples, media, comparisons, progress",
    "report": "write runs to one file: HTML, Markdown or CSV",
    "gate": "decide by a policy whether a run may pass: PASS, FAIL or INCONCLUSIVE",
    "power": "how small a difference N samples show, and how many you need",
    "label": "read labels of people: agreement with the judge, corrected value",
    "check": "try a file with three samples and explain the first fault",
    "new": "write a small benchmark, model or scorer to start from",
    "verify": "check a run folder against its digests and rebuild its table",
    "export": "write a run as CSV, Parquet or in the format of another tool",
    "merge": "join the shards of a run",
    "batches": "list, cancel or forget the batches of a run at a batch API",
    "completion": "print a completion script for bash, zsh or fish",
    "doctor": "show versions, extras and disk space",
    "demo": "measure one number for each modality",
    "conformance": "compare scorers with official code",
    "parity": "test whether answers depend on the batch size",
    "python": "run a script written against another system's package",
    "vlmeval": "VLMEvalKit's own command line",
    "pipeline": "rwkv-benchmark's own command line",
    "televal": "TELEVAL's own command line",
    "ulmeval": "ULMEvalKit's own command line",
    "lm_eval": "lm-eval's own command line: its tasks, through its package",
}
ALIASES = {
    "eval": "run",
    "eval-set": "run",
    "list": "ls",
    "validate": "check",
    "info": "doctor",
    "start": "view",
    "app": "view",
    "lm-eval": "lm_eval",
}
ANSWERS = {
    "log": "each run is a folder: `ls runs` lists them, `assay show RUN` prints one, `assay export RUN` writes a file",
    "log-list": "each run is a folder: `ls runs` lists them, `assay show RUN` prints one",
    "trace": "`assay show RUN` prints every prompt, answer and verdict",
    "cache": "--cache DIR shares answers between runs; remove the folder to forget them",
    "sandbox": "`assay doctor` names the sandbox of this machine; code benchmarks use it by themselves",
    "perf": "`assay run … -o RUN` keeps the seconds and tokens of every answer (summary.json, `usage`)",
    "benchmark": "`assay ls tasks` lists what ships, `assay run NAME` runs it",
    "tasks": "`assay ls tasks`",
    "models": "`assay ls models`",
}
"""Commands of other tools, with advice on what to use in assay."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Error numbers of failed writes to an output, for example because the disk is full."""
UNUSABLE = {
    errno.EACCES: "check who may read it",
    errno.EPERM: "check who may read it",
    errno.EROFS: "choose a folder that can be written",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "name the file itself, not a link",
}
"""The fix to suggest, by the error number that the operating system returned for a path."""

HELP = """\
usage: assay VERB [options]

Measure models of every kind: each number comes with its interval and with
counted failures.

{verbs}

Start here:
  assay run quickstart                     five small sets on the embedded model
  assay run data.jsonl --model my.py:fn    your rows, your function
  assay VERB --help                        all options of a verb
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code. If stdout cannot be written to, print one line about it."""
    if arguments is None:
        sys.unraisablehook = _interrupt_again
        _prepare_output()
    try:
        try:
            return _run(arguments)
        finally:  # `--help` raises SystemExit
            sys.stdout.flush()
            if arguments is None:
                _ignore_interrupts()
    except KeyboardInterrupt:  # while the modules of assay are imported
        print("assay: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has closed the pipe: `assay --help | head`
        _let_go_of_stdout()
        return 0
    except OSError as error:
        if not _is_full(error):
            raise
        print(
            f"assay: the output could not be written: {error.strerror}; fix: free space there",
            file=sys.stderr,
        )
        _let_go_of_stdout()
        return 74


def _prepare_output() -> None:
    """Make stdout and stderr accept every text, even if the terminal lacks characters or a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the end
        elif isinstance(stream, io.TextIOWrapper):
            is_utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            # UTF-8 cannot represent lone surrogates, which occur in file names of another encoding.
            stream.reconfigure(errors="backslashreplace" if is_utf8 else "replace")


def _interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Send Ctrl-C again if Python lost it, for example in a callback of the garbage collector."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        import threading

        # Interrupt a little later, because here the exception would be lost as well.
        again = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C while the process exits. Otherwise Python would print a traceback for its threads."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        return  # not the main thread


def _is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in FULL and not error.filename


def _let_go_of_stdout() -> None:
    """Replace stdout, so that Python does not try to flush a closed pipe at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return  # the stream has no file, as in a notebook


def _call(
    verb: str,
    words: list[str],
) -> int:
    """Import the module of a command, such as `run`, and call it. Raise for an unknown command."""
    from ..core.errors import UnknownName, UsageError

    for word in words:
        if not word.isascii() and word.encode("utf-8", "replace").decode() != word:
            text = word.encode("utf-8", "backslashreplace").decode()
            raise UsageError(
                "the name is not UTF-8, so no record can hold it",
                where=text,
                fix="rename the file or folder",
            )
    if verb == "help":
        verb, words = words[0], ["--help"]
    if verb in ANSWERS:
        raise UsageError(f"assay has no command {verb!r}", fix=ANSWERS[verb])
    if verb not in VERBS:
        names = [*VERBS, *ALIASES]
        raise UnknownName("command", verb, names, hint="`assay --help` lists them")
    command = import_module(f".{verb}", __package__).command
    if verb != "python":  # what follows `assay python SCRIPT` belongs to the script
        words = [word for word in words if word != "--debug"]
    return int(command(words))


def _run(arguments: list[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words in (["-h"], ["--help"], ["help"]):
        from ..report.grid import write_lines

        verbs = "\n".join(f"  {verb:<11}  {text}" for verb, text in VERBS.items())
        write_lines(HELP.format(verbs=verbs).split("\n"), sys.stdout)
        return 0
    if words[0] in ("-V", "--version", "version"):
        from .. import __version__

        print(f"assay {__version__}")
        return 0
    verb = ALIASES.get(words[0].replace("_", "-"), words[0])
    if verb.replace("_", "-") == "eval-retry":
        verb = "run"
        words = _retry_arguments(words)
    if verb.startswith("-"):
        verb, words = (
            "run",
            ["run", *words],
        )  # flags without a verb mean a run, as in other harnesses
    if "--debug" not in words:
        warnings.formatwarning = _note
    from ..core.errors import AssayError, users_line

    try:
        return _call(verb, words[1:])
    except AssayError as error:
        return _report_failure(
            error, error.exit_code, str(error).split("\n"), verb, words
        )
    except KeyboardInterrupt as error:
        return _report_failure(error, 130, ["interrupted"], verb, words)
    except SystemExit as error:
        location = users_line(error, libraries=False)
        if not location or verb == "python":
            raise  # `--help`, or a script that set its own exit code
        line = f"called sys.exit({error.code!r}){location}; fix: raise an error there, or return"
        return _report_failure(error, 1, [line], verb, words)
    except BrokenPipeError:
        raise
    except (
        Exception
    ) as error:  # the last boundary: report an error in assay itself in one line
        if _is_full(error):
            raise
        if isinstance(error, OSError) and error.errno in UNUSABLE:
            where = f"{error.filename}: " if error.filename else ""
            line = f"{where}{error.strerror}; fix: {UNUSABLE[error.errno]}"
            return _report_failure(error, 2, [line], verb, words)
        if isinstance(error, FileNotFoundError) and not _has_working_folder():
            line = "the working folder has been removed; fix: cd to another folder"
            return _report_failure(error, 2, [line], verb, words)
        message = " ".join(f"{type(error).__name__}: {error}".split())
        line = f"unexpected {message}; fix: run it again with --debug and report what it prints"
        return _report_failure(error, 1, [line], verb, words)


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _retry_arguments(words: list[str]) -> list[str]:
    """Translate inspect_ai's `eval-retry RUN` into `run` with the settings and folder of that run."""
    if len(words) < 2 or words[1].startswith("-"):
        return ["run", *words[1:]]
    folder = words[1].removesuffix("run.json").rstrip("/") or "."
    return ["run", "--config", f"{folder}/run.json", "-o", folder, *words[2:]]


def _report_failure(
    error: BaseException,
    exit_code: int,
    lines: list[str],
    verb: str,
    words: list[str],
) -> int:
    """Print why a command failed, also as JSON with `--json`, and return its exit code."""
    from .explain import shown_traceback, without_secrets

    lines = [without_secrets(line, words) for line in lines]
    if "--debug" in words:
        sys.stderr.write(shown_traceback(error, words))
    else:
        for line in lines:
            print(f"assay: {line}", file=sys.stderr)
    if (
        _wants_json(words) and verb != "python"
    ):  # what follows `assay python SCRIPT` belongs to the script
        import json

        print(json.dumps({"error": lines, "exit_code": exit_code}, ensure_ascii=False))
    return exit_code


def _wants_json(words: list[str]) -> bool:
    return (
        "--json" in words
        or "--format=json" in words
        or ("--format", "json") in pairwise(words)
    )


def _note(
    message: Warning | str,
    *where: object,
    **more: object,
) -> str:
    """Format a warning as one line. The line of code that caused it is left out."""
    from ..core.errors import note_line

    return f"{note_line(str(message))}\n"


if __name__ == "__main__":
    sys.exit(main())
