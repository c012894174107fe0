"""Run options: the only list of them, read by Python, YAML and the command line alike."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from ..core import EMPTY, AssayError, PlanError, UsageError, digest_of, nearest, shorten
from ..core.secrets import left_out, veiled
from ..userfiles import one_spelling

DEFAULT_MODEL = "smollm2"
_LISTS = ("tasks", "models", "ids", "scorers", "register", "tags")
SANDBOX = "sandbox"
"""The role of whatever runs programs: every run has one."""
_MAPPINGS = ("model_args", "columns", "generation", "judges", "judge_args")
CLOSE_KEY = 0.7
"""How alike two keys are when one may be a slip for the other."""
OF_MODELS = ("device", "dtype", "revision", "base_url", "pretrained", "adapter", "chat_template")
"""What people write beside the options of a run, and is one of a model's."""
REFERRING = ("base_url", "body", "headers")
"""Options of models behind a URL, in which `${env:NAME}` is filled from the environment."""


class PartlyRead(PlanError):
    """The faults of a file of settings, and what the rest of it says: whoever lists faults goes on with that."""

    def __init__(self, faults: Sequence[AssayError], made: Any) -> None:
        super().__init__(faults)
        self.made = made


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to run, on what, and how."""

    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Empty: what each task names itself, else the default model."""
    model_args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    data: str | None = None
    """A file or folder in place of the task's own data."""
    split: str | None = None
    limit: str | int | float | None = None
    """How many samples: a number, a fraction, or a range `a-b`."""
    ids: tuple[str, ...] = ()
    shuffle: bool = False
    shuffle_choices: int | None = None
    """The seed of another order of each sample's options; `None` keeps the order of the data."""
    shard: str | None = None
    """`i/n`: this part of n."""
    num_fewshot: int | None = None
    fewshot_data: str | None = None
    fewshot_as_multiturn: bool | None = None
    """Shots as turns of a chat, or as one text before the question; `None` as the task has it."""
    apply_chat_template: bool | None = None
    """Every prompt as a chat, or none; `None` as the task has it."""
    template: str | None = None
    """A template's name, a Jinja file or text, or `file.py:function`, in place of the task's."""
    scorers: tuple[str, ...] = ()
    measure: str | None = None
    """How choices are measured: `letter_likelihood`, `text_likelihood`, `first_token`, `letter`; by default the best
    each model can serve."""
    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    tags: tuple[str, ...] = ()
    """Columns to break the result down by, beside those the task names."""
    system: str | None = None
    """The system text in place of the task's; an empty one takes that away."""
    generation: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Generation options over those of the task: temperature, max_tokens, …"""
    epochs: int | None = None
    reducer: str | None = None
    seed: int | None = None
    judges: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Helper models by role: `{"judge": "openai/…"}`."""
    judge_args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    on_error: str = "0.05"
    """The error budget: `stop`, `continue`, a fraction, or a count of infrastructure errors."""
    give_up_after: float = 30.0
    """Seconds after which an endpoint that gave only wrong replies, from the first on, ends the run."""
    scorer_seconds: float = 30.0
    """CPU time a scorer may take for one answer; 0 sets no limit."""
    on_duplicate: Literal["error", "first", "suffix"] = "error"
    on_data_error: Literal["continue", "stop"] = "continue"
    batch_size: int | Literal["auto"] | None = None
    """Requests handed over at once; `auto` is what memory has room for."""
    concurrency: int | None = None
    replicas: int | None = None
    """The model in so many copies, each in a process of its own."""
    executor: Literal["local", "ray"] | None = None
    """Where replicas run: processes of this machine, or actors of a Ray cluster."""
    gpus_per_replica: float | None = None
    address: str | None = None
    """The Ray cluster: `HOST:PORT` or `auto`; by default one is started for the run."""
    output: str | None = None
    cache: str | None = None
    fresh: bool = False
    predict_only: bool = False
    """Answers are kept and not scored; `assay score` scores them."""
    dialect: str | None = None
    """Which system guest files were written for, where it cannot be told from the file."""
    register: tuple[str, ...] = ()
    """Guest files to load before the tasks are looked up."""
    trust_code: bool = False
    """Code that the `run.json` of somebody else names may run; never kept."""
    trust_pickle: bool = False
    trust_remote_code: bool = False
    allow_private_urls: bool = False
    allow_urls: bool = False
    """Media that rows name by URL are fetched."""
    media_root: str | None = None
    """A folder that may hold the media which rows name, in place of the data's own."""

    def but(self, **changes: Any) -> "RunOptions":
        """A copy with some options changed."""
        return replace(self, **changes)

    def with_one_spelling(self, given: Container[str] = ()) -> "RunOptions":
        """A copy in which each file of a model, a judge or a scorer has one name, however it was typed: its answers are
        kept under it. Names in `given` stand for objects and stay."""
        return replace(
            self,
            models=tuple(dict.fromkeys(name if name in given else _one_spelling(name) for name in self.models)),
            judges={role: _one_spelling(name) for role, name in self.judges.items()},
            scorers=tuple(_one_spelling(name) for name in self.scorers),
        )

    def helper_of(self, role: str) -> str | None:
        """The model under a role: the one that was named, else the one that every run has."""
        return self.judges.get(role) or (role if role == SANDBOX else None)

    def judge_args_of(self, role: str) -> dict[str, Any]:
        """The options of one helper model: those for all, then those that bear its role, `detector.model=…`."""
        shared: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for name, value in self.judge_args.items():
            prefix, dot, rest = name.partition(".")
            if role == SANDBOX and prefix != SANDBOX:
                continue  # it is no model: what judges are given means nothing to it
            if name in self.judges and isinstance(value, Mapping):
                own.update(value if name == role else {})
            elif dot and (prefix in self.judges or prefix == SANDBOX):
                own.update({rest: value} if prefix == role else {})
            else:
                shared[name] = value
        return {**shared, **own}

    def to_plain(self) -> dict[str, Any]:
        """What was set, as JSON, secrets and all: for a process that builds the same model."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        defaults = {f.name: getattr(_DEFAULTS, f.name) for f in fields(self)}
        return {
            name: dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
            for name, value in plain.items()
            if value != defaults[name] or name in ("tasks", "models")
        }

    def kept(self) -> dict[str, Any]:
        """What was set, as `run.json` has it: the run can be repeated from it, given its secrets again."""
        # Only the options of models are named after what they hold: a column may well be called `key`.
        return {
            name: veiled(value) if name in ("model_args", "judge_args") or not isinstance(value, Mapping) else value
            for name, value in self.to_plain().items()
            if name != "trust_code"  # whoever reads `run.json` must agree for themselves
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], *, where: str) -> "RunOptions":
        """Options from a config file; raises `PartlyRead`, with the nearest known key for each that is unknown."""
        known = {f.name for f in fields(cls)}
        given = {str(name).replace("-", "_"): value for name, value in plain.items()}
        for alias, name in (("model", "models"), ("task", "tasks"), ("judge", "judges"), ("scorer", "scorers")):
            if alias in given and name not in given:
                given[name] = given.pop(alias)
        faults: list[AssayError] = []
        for name in [name for name in given if name not in known]:
            close = nearest(name, known, CLOSE_KEY)
            if name in OF_MODELS:
                fix = f"an option of the model: model_args: {{{name}: …}}"
                faults.append(UsageError(f"unknown key {name!r}", where=where, fix=fix))
                del given[name]
                continue
            fix = f"did you mean {close!r}?" if close else f"known keys: {', '.join(sorted(known))}"
            faults.append(UsageError(f"unknown key {name!r}", where=where, fix=fix))
            del given[name]
        if isinstance(given.get("judges"), str):
            given["judges"] = {"judge": given["judges"]}
        for name in [name for name in (*_LISTS, *_MAPPINGS) if name in given]:
            value = given[name]
            if value is None:
                del given[name]
            elif name in _LISTS and isinstance(value, (str, Sequence)):
                given[name] = (value,) if isinstance(value, str) else tuple(str(v) for v in value)
            elif name in _LISTS or not isinstance(value, Mapping):
                wanted = "a name, or a list of them" if name in _LISTS else "keys and values"
                faults.append(UsageError(f"key {name!r} holds {shorten(value)}", where=where, fix=f"write {wanted}"))
                del given[name]
        made = cls(**given)
        if faults:
            raise PartlyRead(faults, made)
        return made

    def folder_digest(self) -> str:
        """What tells two run folders apart; how the work is spread does not count."""
        bare = replace(
            self,
            models=self.models or (DEFAULT_MODEL,),
            output=None,
            batch_size=None,
            concurrency=None,
            give_up_after=_DEFAULTS.give_up_after,
            replicas=None,
            executor=None,
            gpus_per_replica=None,
            address=None,
            fresh=False,
            predict_only=False,
            cache=None,
        )
        return digest_of(bare.kept())[:8]


def _one_spelling(name: Any) -> Any:
    return one_spelling(name) if isinstance(name, str) else name


def check_secrets(args: Mapping[str, Any], flag: str) -> None:
    """Raises for options whose values `run.json` did not keep, being secrets, and that were not given again."""
    places = list(dict.fromkeys(left_out(args)))
    if not places:
        return
    options = list(dict.fromkeys(place.partition(".")[0] for place in places))
    fix = f"give {'them' if len(places) > 1 else 'it'} again: {' '.join(f'{flag} {option}=…' for option in options)}"
    if any(option in REFERRING for option in options):
        fix += "; ${env:NAME} in place of a secret is read from the environment, and kept"
    what = "are secrets" if len(places) > 1 else "is a secret"
    raise UsageError(f"{', '.join(places)} {what}, which run.json does not keep", where=flag, fix=fix)


_DEFAULTS = RunOptions()
