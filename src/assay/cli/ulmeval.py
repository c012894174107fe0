"""`assay ulmeval`: ULMEvalKit's command line, with its flags and files, run by assay."""

from collections.abc import Sequence

from ..core.errors import UsageError
from .arguments import Parser, key_values
from .run import stdout_for_people


def parser() -> Parser:
    """Return a parser with ULMEvalKit's flags and a few of assay's own."""
    from ..dialects.option_tables import add_options

    p = Parser(
        prog="assay ulmeval",
        description="Run datasets and models written for ULMEvalKit. Rerun the command to resume.",
        epilog="examples:\n"
        "  assay ulmeval --data my_dataset.py --model my_model.py:MyModel\n"
        "  assay ulmeval --register mine/ --data MyBench --model MyModel\n"
        "  assay ulmeval --config run.json --register mine/",
    )
    add_options(p, "ulmeval")
    return p


def command(arguments: Sequence[str]) -> int:
    """Run every model on every dataset, print the tables, and return the worst exit code."""
    options = parser().parse(arguments)
    with stdout_for_people(options.json) as stdout:
        from ..dialects.ulmeval.ulmeval_command import run_pairs
        from ..dialects.ulmeval.ulmeval_pairs import Settings
        from .display import finish_all, watcher

        judge = None
        helpers = {}
        for typed in options.judge:
            role = _role(typed)
            if role:
                helpers[role] = typed.partition("=")[2]
            else:
                judge = typed
        judge_args = {
            "nproc": options.api_nproc,
            "verbose": options.verbose,
            "retry": options.retry or 3,
            **key_values(options.judge_args, option="--judge-args"),
        }
        settings = Settings(
            data=tuple(options.data),
            model=tuple(options.model),
            config=options.config,
            work_dir=options.work_dir,
            mode=options.mode,
            num_generations=_positive(options.num_generations),
            judge=judge,
            helpers=helpers,
            upstream=options.upstream,
            judge_args=judge_args,
            api_nproc=options.api_nproc,
            ignore=options.ignore,
            reuse_aux=bool(options.reuse_aux),
            use_vllm=options.use_vllm,
            result_file=options.result_file,
            register=tuple(options.register),
            limit=options.limit,
            fresh=options.fresh,
            trust_pickle=options.trust_pickle,
            allow_private_urls=options.allow_private_urls,
        )
        results = run_pairs(settings, lambda: watcher(options.json))
        return max(finish_all(results, stdout, options.json))


def _positive(number: int | None) -> int | None:
    if number is not None and number < 1:
        if number == -1:
            return None  # the original's word for the dataset's default
        raise UsageError(f"--num-generations {number}", fix="give 1 or more")
    return number


def _role(judge: str) -> str | None:
    """Return the role in `role=model`; `None` without a role."""
    role, equals, _ = judge.partition("=")
    if equals and role.isidentifier():
        return role
    return None
