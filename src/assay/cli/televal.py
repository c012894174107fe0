"""`assay televal`: run inference and evaluation of a TELEVAL registry, with the options of TELEVAL's `main.py`."""

from collections.abc import Sequence
from dataclasses import fields

from .arguments import Parser
from .run import stdout_for_people
from .run_flags import add_some, settings_of

OPTIONS = ("limit", "judges", "concurrency", "on_error", "fresh")


def command(arguments: Sequence[str]) -> int:
    """Run inference or evaluation, print the table or one JSON document, and return the exit code."""
    if arguments[:1] == ["parquet2jsonl"]:
        return _convert(arguments[1:])
    from ..dialects.option_tables import add_options
    from ..dialects.televal import televal_command as dialect

    p = Parser(
        prog="assay televal",
        description="Ask a model (--mode infer) or judge its predictions (--mode eval). Tasks and "
        "models are names of a registry.",
        epilog="`assay televal parquet2jsonl --help`: write the audio clips of a Parquet file as\nWAV files and JSONL.",
    )
    add_options(p, "televal")
    add_some(p, *OPTIONS)
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    with stdout_for_people(options.json) as stdout:
        from ..runner.options import RunOptions
        from .display import finish, watcher

        names = [f.name for f in fields(dialect.CommandLine)]
        request = dialect.CommandLine(
            **{name: getattr(options, name) for name in names}
        )
        result, files = dialect.execute(
            request,
            RunOptions(**settings_of(options, *OPTIONS)),
            watcher(options.json),
        )
        finish(result, stdout, options.json)
        if not options.json:
            stdout.writelines(f"wrote {file}\n" for file in files)
        return result.exit_code


def _convert(arguments: Sequence[str]) -> int:
    from ..dialects.televal.parquet2jsonl import convert

    p = Parser(
        prog="assay televal parquet2jsonl",
        description="Parquet with audio clips as JSONL and WAV files.",
    )
    p.add_argument("source", help="a Parquet file or folder")
    p.add_argument(
        "--root",
        "--save_dir",
        dest="root",
        default="test_data",
        help="the folder for <name>/",
    )
    p.add_argument(
        "--name",
        default=None,
        help="name of the data (default: that of the source)",
    )
    p.add_argument("--key_col", default="key")
    options = p.parse(arguments)
    file, rows, clips = convert(
        options.source,
        options.root,
        name=options.name,
        key_col=options.key_col,
    )
    print(f"{rows} rows, {clips} audio clips: {file}")
    return 0
