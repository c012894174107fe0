"""The command line: `assay VERB …`. Each verb is a file of its own, imported when it is used."""

import sys
import warnings
from importlib import import_module
from typing import Any

VERBS = {
    "run": "run tasks on models (also: eval)",
    "score": "score a run again without asking the model",
    "ls": "list tasks, models, scorers, datasets, templates, summarizers",
    "show": "what a name or a run is: where it is defined, its options, an example",
    "check": "try a file with three samples and explain the first fault",
    "new": "write a benchmark, model or scorer to start from",
    "export": "a run as csv, parquet or lm-eval JSON",
    "doctor": "versions, extras, disk",
    "demo": "one real number for each modality",
    "conformance": "whether scorers say what official code says",
    "parity": "whether answers depend on batch size or order",
    "python": "run a script written against another system's package",
    "vlmeval": "VLMEvalKit's own command line",
    "pipeline": "rwkv-benchmark's own command line",
    "televal": "TELEVAL's own command line",
    "ulmeval": "ULMEvalKit's own command line",
}
ALIASES = {"eval": "run", "list": "ls"}

HELP = """\
usage: assay VERB [options]

One evaluation system for every kind of model: every number with its interval, its failures counted.

{verbs}

Start here:
  assay run quickstart                     five small sets on the embedded model
  assay run data.jsonl --model my.py:fn    your rows, your function
  assay VERB --help                        everything a verb takes
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        verbs = "\n".join(f"  {verb:<11} {text}" for verb, text in VERBS.items())
        print(HELP.format(verbs=verbs))
        return 0
    if given[0] in ("-V", "--version", "version"):
        from .. import __version__

        print(f"assay {__version__}")
        return 0
    verb = ALIASES.get(given[0], given[0])
    if verb.startswith("-"):
        verb, given = "run", ["run", *given]  # bare flags mean a run, as other harnesses have it
    debug = "--debug" in given
    if not debug:
        warnings.formatwarning = _note
    from ..core.errors import AssayError, UnknownName

    try:
        if verb not in VERBS:
            raise UnknownName("command", verb, [*VERBS, *ALIASES], hint="`assay --help` lists them")
        command = import_module(f".{verb}", __package__).command
        # What follows `assay python SCRIPT` belongs to the script.
        return int(command(given[1:] if verb == "python" else [a for a in given[1:] if a != "--debug"]))
    except AssayError as error:
        if debug:
            raise
        lines = [_without_secrets(line, given) for line in str(error).split("\n")]
        for line in lines:
            print(f"assay: {line}", file=sys.stderr)
        return _ended(error.exit_code, lines, verb, given)
    except KeyboardInterrupt:
        if debug:
            raise
        print("assay: interrupted", file=sys.stderr)
        return _ended(130, ["interrupted"], verb, given)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:  # the last boundary: a fault of assay itself, said in one line
        if debug:
            raise
        what = _without_secrets(" ".join(f"{type(error).__name__}: {error}".split()), given)
        line = f"unexpected {what}; fix: run it again with --debug and report what it prints"
        print(f"assay: {line}", file=sys.stderr)
        return _ended(1, [line], verb, given)


def _ended(exit_code: int, lines: list[str], verb: str, given: list[str]) -> int:
    """The exit code of a command that failed; under `--json` the one document on stdout says why."""
    if "--json" in given and verb != "python":  # what follows `assay python SCRIPT` belongs to the script
        import json

        print(json.dumps({"error": lines, "exit_code": exit_code}, ensure_ascii=False))
    return exit_code


def _without_secrets(line: str, given: list[str]) -> str:
    """A line without the keys of the environment and of the command: it may show what its author was given."""
    from ..store.secrets import Redactor
    from .arguments import typed_options

    return Redactor.of(*typed_options(given)).text(line)


def _note(message: Warning | str, *where: Any, **more: Any) -> str:
    """A warning as people read it: what is said, without the line of code that said it."""
    return f"note: {message}\n"


if __name__ == "__main__":
    sys.exit(main())
