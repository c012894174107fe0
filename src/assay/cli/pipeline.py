"""`assay pipeline`: evaluators and datasets of `register_*.py` files, with the options they are used to."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .arguments import Parser, key_values
from .run import stdout_for_people


def command(arguments: Sequence[str]) -> int:
    """Runs one evaluation, prints the table or one JSON document, and returns the exit code."""
    from ..dialects.pipeline import command as dialect
    from ..dialects.protocol import UPSTREAM, choose, is_upstream

    p = Parser(
        prog="assay pipeline",
        description="Run an evaluator on a dataset, as run_pipeline.py does; a name alone is run_NAME.py.",
        epilog="`register_*.py` files of the working folder are found by themselves.",
    )
    dialect.add_options(p)
    p.add_argument("-a", "--model_args", action="append", default=None, metavar="K=V,…", help="options of the model")
    p.add_argument("--base_url", default=None, help="an OpenAI-compatible endpoint")
    p.add_argument("--temperature", type=float, default=None)
    p.add_argument("--template", default=None, help="completion: send prompts as plain text, not as a chat turn")
    p.add_argument("--concurrency", type=int, default=None)
    p.add_argument("--on_error", default=None, help="stop, continue, a fraction or a count (default 0.05)")
    p.add_argument("-o", "--output", default=None, metavar="DIR", help="the run folder")
    p.add_argument("--fresh", action="store_true", help="forget what the run folder holds")
    p.add_argument("--json", action="store_true", help="exactly one JSON document on stdout")
    p.add_argument("--debug", action="store_true")
    given = p.parse(arguments)
    if given.upstream:
        choose("pipeline", UPSTREAM)
    with stdout_for_people(given.json) as stdout:
        register = dialect.register_all(given.register, Path())
        if given.list:
            sys.stdout.write("\n".join(dialect.listing()) + "\n")
            return 0
        from ..store import read_json
        from .display import finish, watcher

        evaluation = dialect.evaluation_of(given, register, _base(given))
        result, file = dialect.run_evaluation(evaluation, watcher(given.json))
        finish(result, stdout, given.json)
        if file is not None and not given.json:
            stdout.write(f"result file: {file}\n")
            if is_upstream("pipeline"):
                stdout.write("\n".join(dialect.final_lines(read_json(file))) + "\n")
        return result.exit_code


def _base(given: Any) -> Any:
    from ..runner.options import RunOptions

    args = key_values(given.model_args, option="--model_args")
    if given.base_url is not None:
        args["base_url"] = given.base_url
    generation = {} if given.temperature is None else {"temperature": given.temperature}
    base = RunOptions(model_args=args, generation=generation, template=given.template, concurrency=given.concurrency)
    changes = {name: getattr(given, name) for name in ("on_error", "output") if getattr(given, name) is not None}
    return base.but(fresh=given.fresh, **changes)
