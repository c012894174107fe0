"""`assay ulmeval`: the command line of ULMEvalKit with its flags and files, on assay's runner."""

from collections.abc import Sequence

from ..core.errors import UsageError
from .arguments import Parser, key_values
from .run import stdout_for_people


def parser() -> Parser:
    """Return a parser with the original flags and a few of assay's own."""
    # Long because each of the toolkit's flags is declared here.
    p = Parser(
        prog="assay ulmeval",
        description="Run datasets and models written for ULMEvalKit. Rerun the command to resume.",
        epilog="examples:\n"
        "  assay ulmeval --data my_dataset.py --model my_model.py:MyModel\n"
        "  assay ulmeval --register mine/ --data MyBench --model MyModel\n"
        "  assay ulmeval --config run.json --register mine/",
    )
    selection = p.add_argument_group("what")
    selection.add_argument(
        "--data",
        nargs="+",
        default=[],
        help="datasets: names, file.py[:name], tables",
    )
    selection.add_argument(
        "--model",
        nargs="+",
        default=[],
        help="models: names, file.py:Class, or any model of assay",
    )
    selection.add_argument(
        "--config",
        default=None,
        metavar="JSON",
        help='{"model": {…}, "data": {…}}',
    )
    selection.add_argument(
        "--register",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="files or folders that define them",
    )
    selection.add_argument(
        "--num-generations",
        type=int,
        default=None,
        help="images for each prompt",
    )
    selection.add_argument(
        "--limit",
        default=None,
        help="a number, a fraction, or a range a-b of rows",
    )
    selection.add_argument("--mode", choices=("all", "infer", "eval"), default="all")
    selection.add_argument(
        "--result-file",
        default=None,
        metavar="PKL",
        help="evaluate these predictions (--trust-pickle)",
    )
    judge = p.add_argument_group("judge")
    judge.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="[ROLE=]MODEL",
        help="the model that judges; with a role, one that a benchmark of assay asks",
    )
    judge.add_argument(
        "--judge-args",
        default=None,
        metavar="JSON",
        help="further arguments of `evaluate`",
    )
    work = p.add_argument_group("work")
    work.add_argument("--work-dir", default="./outputs")
    work.add_argument(
        "--api-nproc",
        type=int,
        default=4,
        help="calls of an API at once",
    )
    work.add_argument("--retry", type=int, default=None)
    work.add_argument("--verbose", action="store_true")
    work.add_argument(
        "--ignore",
        action="store_true",
        help="do not ask again for what failed",
    )
    work.add_argument(
        "--reuse",
        action="store_true",
        help="always so: finished prompts are not asked again",
    )
    work.add_argument(
        "--reuse-aux",
        type=int,
        default=1,
        help="0: forget what an earlier evaluation wrote",
    )
    work.add_argument("--use-vllm", action="store_true")
    work.add_argument(
        "--fresh",
        action="store_true",
        help="forget what the run folders hold",
    )
    work.add_argument(
        "--upstream",
        action="store_true",
        help="ULMEvalKit's own rules where assay's differ",
    )
    work.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    trust = p.add_argument_group("trust")
    trust.add_argument("--trust-pickle", action="store_true")
    trust.add_argument("--allow-private-urls", action="store_true")
    return p


def command(arguments: Sequence[str]) -> int:
    """Run every model on every dataset, print the tables, and return the worst exit code."""
    options = parser().parse(arguments)
    with stdout_for_people(options.json) as stdout:
        from ..dialects.ulmeval.ulmeval_command import run_pairs
        from ..dialects.ulmeval.ulmeval_pairs import Settings
        from .display import finish_all, watcher

        extra = key_values(options.judge_args, option="--judge-args")
        settings = Settings(
            data=tuple(options.data),
            model=tuple(options.model),
            config=options.config,
            work_dir=options.work_dir,
            mode=options.mode,
            num_generations=_positive(options.num_generations),
            judge=next(
                (judge for judge in reversed(options.judge) if not _role(judge)), None
            ),
            helpers={
                role: judge.partition("=")[2]
                for judge in options.judge
                if (role := _role(judge))
            },
            upstream=options.upstream,
            judge_args={
                "nproc": options.api_nproc,
                "verbose": options.verbose,
                "retry": options.retry or 3,
                **extra,
            },
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
        return max(
            finish_all(
                run_pairs(settings, lambda: watcher(options.json)),
                stdout,
                options.json,
            )
        )


def _positive(number: int | None) -> int | None:
    if number is not None and number < 1:
        if number == -1:
            return None  # the original's way to say: what the dataset wants
        raise UsageError(f"--num-generations {number}", fix="give 1 or more")
    return number


def _role(judge: str) -> str | None:
    """Return the role in `role=model`; `None` without a role."""
    role, equals, _ = judge.partition("=")
    return role if equals and role.isidentifier() else None
