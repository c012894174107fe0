"""`assay pipeline`: run evaluators and datasets that are registered in `register_*.py`
files, with their usual options.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from .arguments import Parser
from .run import stdout_for_people
from .run_flags import add_some, settings_of

OPTIONS = (
    "model_args",
    "temperature",
    "template",
    "concurrency",
    "on_error",
    "output",
    "fresh",
)


def command(arguments: Sequence[str]) -> int:
    """Run one evaluation, print the table or one JSON document, and return the exit code."""
    from ..dialects.option_tables import add_options
    from ..dialects.pipeline import pipeline_command as dialect
    from ..dialects.protocol import UPSTREAM, choose, is_upstream

    p = Parser(
        prog="assay pipeline",
        description="Run an evaluator on a dataset, as run_pipeline.py does. A name alone does what\nrun_NAME.py does.",
        epilog="Files named `register_*.py` in the working folder are loaded automatically.",
    )
    add_options(p, "pipeline")
    add_some(p, *OPTIONS)
    p.add_argument("--base_url", default=None, help="an OpenAI-compatible endpoint")
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    if options.upstream:
        choose("pipeline", UPSTREAM)
    with stdout_for_people(options.json) as stdout:
        register = dialect.register_all(options.register, Path())
        if options.list:
            sys.stdout.write("\n".join(dialect.listing()) + "\n")
            return 0
        from ..runner.options import RunOptions
        from ..store import read_json
        from .display import finish, watcher

        settings = settings_of(options, *OPTIONS)
        # The evaluators of rwkv-benchmark continue with the next rows after failures.
        run = RunOptions(**{"on_error": "continue", **settings})
        evaluation = dialect.evaluation_of(options, register, run)
        result, file = dialect.run_evaluation(evaluation, watcher(options.json))
        finish(result, stdout, options.json)
        if file is not None and not options.json:
            stdout.write(f"result file: {file}\n")
            if is_upstream("pipeline"):
                stdout.write("\n".join(dialect.final_lines(read_json(file))) + "\n")
        return result.exit_code
