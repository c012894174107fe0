"""One file of a VLMEvalKit or ULMEvalKit checkout, loaded and run in a process of its own; prints one line of JSON.

    python -m tools.guest_worlds.kit_worker DIALECT KIND FILE FOLDER [--upstream]

`KIND` is dataset, model or API. `FOLDER` is empty and may be written to: `$LMUData`, the run, and `recipe.json`, which
has the rows, the answers and the judge's words that led to a number, so that upstream's own code can be given the same.
With `--upstream` the recipe in `FOLDER` is given to the class of the checkout itself, with none of assay's names.
"""

import importlib
import inspect
import json
import os
import re
import signal
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.guest_worlds import hints, synthetic

DATA = "LMUData"
ATTEMPT_SECONDS = 20
TRIAL_SECONDS = 40
MOST_COLUMNS = 40
_NETWORK = re.compile(
    r"offline|network|connection|huggingface|urlopen|resolve host|download|LocalEntryNotFound|getaddrinfo|modelscope",
    re.I,
)
_PACKAGE = re.compile(r"(?:imports|No module named) '?([\w.]+)'?")
_QUOTED = re.compile(r"'([^'\n]{1,60})'")
MODEL = """
class Scripted{base}:
    '''Answers every question alike.'''
    INTERLEAVE = True
    VIDEO_LLM = True
    def generate_inner(self, message, dataset=None):
        return {answer!r}
    def chat_inner(self, message, dataset=None):
        return {answer!r}
"""
JUDGE = """
def judge(prompt):
    return {reply!r}
for name in {names!r}:
    globals()[name] = judge
"""


def main() -> None:
    """Does what the arguments say."""
    dialect, kind, file, folder = sys.argv[1:5]
    os.environ.update(LMUData=f"{folder}/LMUData", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HOME=folder)
    os.environ.setdefault("OPENAI_API_KEY", "sk-none")
    Path(os.environ[DATA]).mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    alone()
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.chdir(folder)
    if "--upstream" in sys.argv:
        found = upstreams(dialect, Path(file), Path(folder))
    else:
        found = {"dataset": dataset, "model": loaded, "API": loaded}[kind](dialect, Path(file), Path(folder))
    os.write(out, (synthetic.as_json(found) + "\n").encode())
    os._exit(0)


def alone() -> None:
    """No network beyond this machine, and no waiting between tries."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> Any:
        host = address[0] if isinstance(address, tuple) else str(address)
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in ("127.0.0.1", "localhost", "::1"):
            raise ConnectionError(f"no network in a survey: {host}")
        return connect(self, address)

    def nowhere(host: Any, *rest: Any, **more: Any) -> Any:
        raise ConnectionError(f"no network in a survey: {host}")

    socket.socket.connect = refuse  # type: ignore[method-assign, assignment]
    real = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *rest, **more: (  # type: ignore[assignment]
        real(host, *rest, **more) if host in ("127.0.0.1", "localhost", None) else nowhere(host)
    )
    time.sleep = lambda seconds: None  # type: ignore[assignment]
    import huggingface_hub

    # What a class downloads is stood in for by a folder; the files it then looks for there are made.
    place = os.path.join(os.environ[DATA], "hub")
    os.makedirs(place, exist_ok=True)
    huggingface_hub.snapshot_download = lambda *given, **more: place  # type: ignore[assignment]
    huggingface_hub.login = lambda *given, **more: None  # type: ignore[assignment]
    huggingface_hub.hf_hub_download = lambda repo_id="", filename="", *given, **more: os.path.join(place, filename)  # type: ignore[assignment]


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Ends what takes longer."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def fault(error: BaseException) -> dict[str, str]:
    """What a failure says: a package that is missing, a place on the network, or a plain error."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    text = " | ".join(dict.fromkeys(f"{type(e).__name__}: {e}".splitlines()[0][:200] for e in chain))
    for one in chain:
        spacy_data = re.search(r"nltk.download\\('(\w+)'\\)", str(one))
        if spacy_data:
            return {"state": "PACKAGE", "detail": f"nltk data {spacy_data[1]}"}
        if isinstance(one, ModuleNotFoundError) and str(one).startswith("No module named"):
            return {"state": "PACKAGE", "detail": str(one.name).partition(".")[0]}
    needed = next(
        (found for e in chain if (found := re.search(r"(?:install|requires?) [`'\"]?([\w-]+)", str(e)))), None
    )
    if any(isinstance(e, (ImportError,)) for e in chain) and needed:
        return {"state": "PACKAGE", "detail": needed[1]}
    hosts = re.search(r"no network in a survey: ([\w.-]+)", text)
    if hosts or any(isinstance(e, (ConnectionError, socket.gaierror)) for e in chain) or _NETWORK.search(text):
        return {"state": "NETWORK", "detail": hosts[1] if hosts else text[:160]}
    return {"state": "FAILS", "detail": text[:300]}


def guest(dialect: str, file: Path) -> Any:
    """The module of the file, as a run of assay loads it; what is slow to import is imported before the clock runs."""
    text = "".join(path.read_text("utf-8", "replace") for path in (file, *helpers(file)))
    for heavy in ("pandas", "torch", "transformers"):
        if heavy in text or heavy == "pandas":
            importlib.import_module(heavy)
    return importlib.import_module(f"assay.dialects.{dialect}.loading").load_guest(str(file))


def loaded(dialect: str, file: Path, folder: Path) -> dict[str, str]:
    """Whether a file of models can be loaded."""
    try:
        guest(dialect, file)
    except BaseException as error:  # noqa: BLE001 - whatever a guest raises is its outcome
        return fault(error)
    return {"state": "LOADS", "detail": ""}


def dataset(dialect: str, file: Path, folder: Path) -> dict[str, Any]:
    """How far the dataset classes of a file come; the best of them counts."""
    try:
        made = guest(dialect, file)
    except BaseException as error:  # noqa: BLE001
        return fault(error)
    module = getattr(made, "module", made)
    classes = [
        c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__ and is_dataset(c)
    ]
    if not classes:
        return {"state": "LOADS", "detail": "defines no dataset class"}
    best: dict[str, Any] | None = None
    for cls in classes[:4]:
        found = Trial(dialect, file, cls, folder).run()
        if found["state"] == "RUNS":
            return found
        best = best or found
    return best or {"state": "LOADS", "detail": ""}


def is_dataset(cls: Any) -> bool:
    evaluate = getattr(cls, "evaluate", None)
    return callable(getattr(cls, "build_prompt", None)) and callable(evaluate) and not hasattr(cls, "generate_inner")


class Trial:
    """One class, tried with rows until its `evaluate` gives a number; then run as a user would run it."""

    def __init__(self, dialect: str, file: Path, cls: Any, folder: Path) -> None:
        self.dialect, self.file, self.cls, self.folder = dialect, file, cls, folder
        self.is_video = str(getattr(cls, "MODALITY", "")).upper() == "VIDEO"
        self.names = dataset_names(cls)
        self.name = self.names[0]
        self.columns: dict[str, list[Any]] = {}
        files = [file, *helpers(file)]
        self.compared = hints.values_of_columns(files)
        self.tables = hints.tables(files)
        self.others: dict[str, list[Any]] = {}
        """Values of columns whose first ones could not be read."""
        self.tried: dict[str, int] = {}

    def run(self) -> dict[str, Any]:
        """The outcome; the number is that of the run."""
        last: dict[str, Any] = {"state": "LOADS", "detail": ""}
        end = time.monotonic() + TRIAL_SECONDS
        seen: dict[str, int] = {}
        ways = list(synthetic.variants(str(getattr(self.cls, "TYPE", ""))))
        tries = [(ways[0], name) for name in self.names] + [(way, self.names[0]) for way in ways[1:]]
        for (answer, reply), self.name in tries:
            if time.monotonic() > end:
                break
            self.columns = {**synthetic.first_columns(answer, self.is_video), **self._asked(answer)}
            found = self._with(answer, reply, end)
            if "value" in found:
                recipe = {**found, "class": self.cls.__name__, "name": self.name, "answer": answer, "reply": reply}
                (self.folder / "recipe.json").write_text(synthetic.as_json({**recipe, "columns": self.columns}))
                return self._as_a_user(answer, reply, found)
            last = {**found, "detail": f"{self.cls.__name__}: {found['detail']}"}
            if found["state"] in ("PACKAGE",):
                return last
            seen[found["detail"]] = seen.get(found["detail"], 0) + 1
            if found["state"] == "NETWORK" and seen[found["detail"]] > 1:
                return last
        return last

    def _asked(self, answer: str) -> dict[str, list[Any]]:
        compared = {
            name: synthetic.cycled(texts)
            for name, texts in self.compared.items()
            if name not in ("index", "question", "answer", "prediction", "image", "video", *"ABCDEFGH")
            and (name in ("category", "l2-category", "split") or name in getattr(self, "extra", ()))
        }
        return {
            **{name: synthetic.column(name, answer) for name in getattr(self, "extra", ())},
            **compared,
            **self.others,
        }

    def _with(self, answer: str, reply: str, end: float) -> dict[str, Any]:
        """One answer and one reply: columns are added, and judges' names tried, for as long as that helps."""
        self.extra: list[str] = getattr(self, "extra", [])
        judges = [getattr(self, "judge", None) or synthetic.JUDGES[0], *synthetic.JUDGES]
        found: dict[str, Any] = {}
        for judge in dict.fromkeys(judges):
            while time.monotonic() < end:
                before = len(self.extra)
                try:
                    with limited(ATTEMPT_SECONDS):
                        value = attempt(self, answer, reply, judge)
                    number = synthetic.finite_number(value)
                    if number is not None:
                        self.judge = judge
                        return {"value": number[1], "metric": number[0], "judge": judge, "whole": plain(value)}
                    found = {"state": "FAILS", "detail": f"evaluate gave no finite number: {str(plain(value))[:120]}"}
                except BaseException as error:  # noqa: BLE001
                    found = fault(error)
                    if self._helped(error, answer):
                        continue
                if len(self.extra) == before:
                    break
            if "assert" not in found.get("detail", "").lower() and "judge" not in found.get("detail", "").lower():
                break
        return found

    def _helped(self, error: BaseException, answer: str) -> bool:
        """Whether something could be changed that the error speaks of: a missing column or file, a value."""
        at: BaseException | None = error
        while at is not None:
            names = [str(at.args[0])] if isinstance(at, KeyError) and at.args else []
            names += _QUOTED.findall(str(at)) + re.findall(r"(?:colume|column)[: ]+(\w+)", str(at))
            if isinstance(at, FileNotFoundError) and at.filename and self._made_file(Path(str(at.filename)), answer):
                return True
            for name in names:
                if self._changed_value(name):
                    return True
                is_about_rows = isinstance(at, (KeyError, AssertionError)) or "Series" in str(at) or "column" in str(at)
                is_new = name not in self.columns and len(name) < 40 and name != "prediction" and "/" not in name
                if is_about_rows and is_new and len(self.extra) < MOST_COLUMNS and self.tried.get(name, 0) < 2:
                    self.tried[name] = self.tried.get(name, 0) + 1
                    self.extra.append(name)
                    self.columns |= self._asked(answer)
                    return True
            at = at.__cause__ or at.__context__
        return False

    def _changed_value(self, value: str) -> bool:
        """Other values for the column that has this one: keys of a table in the code, or another kind of literal."""
        for name, cells in self.columns.items():
            if value in map(str, cells) and name not in ("index", "question", "image", "video", "answer"):
                number = self.tried[f"value {name}"] = self.tried.get(f"value {name}", 0) + 1
                choices: list[list[Any]] = [*map(synthetic.cycled, self.tables[:4]), *synthetic.OTHERS]
                if number > len(choices):
                    return False
                self.others[name] = self.columns[name] = choices[number - 1]
                return True
        return False

    def _made_file(self, path: Path, answer: str) -> bool:
        """A file that the class looks for in its own folders."""
        full = path if path.is_absolute() else Path.cwd() / path
        if self.folder not in full.parents or full.exists() or self.tried.get(str(full), 0):
            return False
        self.tried[str(full)] = 1
        full.parent.mkdir(parents=True, exist_ok=True)
        rows = zip(*self.columns.values(), strict=True)
        records = [dict(zip(self.columns, row, strict=True)) for row in rows]
        if full.suffix in (".tsv", ".csv"):
            synthetic.write_table(full, self.columns)
        elif full.suffix == ".json":
            full.write_text(json.dumps(records, default=str))
        elif full.suffix == ".jsonl":
            full.write_text("\n".join(json.dumps(record, default=str) for record in records))
        elif full.suffix in (".png", ".jpg", ".jpeg"):
            import base64

            full.write_bytes(base64.b64decode(synthetic.picture(1)))
        elif full.suffix in (".mp4", ".avi", ".mkv"):
            synthetic.write_videos(full.parent, [full.stem])
        elif not full.suffix:
            full.mkdir(exist_ok=True)
        else:
            return False
        return True

    def _reference(self) -> str:
        """What is typed for the dataset; a video's frames are named in a config, as in upstream's own list of them."""
        if self.dialect == "ulmeval":
            return f"{self.file}:{self.name}"
        if not self.is_video:
            return f"{self.file}:{self.cls.__name__}@{self.name}"
        entry = {"class": self.cls.__name__, "dataset": self.name, "nframe": 4}
        config = self.folder / "config.json"
        config.write_text(json.dumps({"model": {}, "data": {"survey": entry}}))
        return f"{config}#survey"

    def _as_a_user(self, answer: str, reply: str, found: dict[str, Any]) -> dict[str, Any]:
        """The same through a whole run of assay."""
        import assay

        model, judge = self.folder / "scripted.py", self.folder / "judges.py"
        base, package = ("(BaseModel)", "ulm" if self.dialect == "ulmeval" else "vlm")
        source = MODEL.format(base=base, answer=answer)
        model.write_text(f"from {self.dialect}.{package}.base import BaseModel\n{source}")
        judge.write_text(JUDGE.format(reply=reply, names=synthetic.JUDGES))
        judges = {"judge": f"{judge}:{found['judge']}"} if found["judge"] != "exact_matching" else {}
        try:
            with limited(120):
                result = assay.run(
                    self._reference(),
                    model=f"{model}:Scripted",
                    judges=judges,
                    output=str(self.folder / "run"),
                    dialect=self.dialect,
                    register=(str(self.file),),
                    on_error="continue",
                )
        except BaseException as error:  # noqa: BLE001
            told = fault(error)
            return {
                "state": "LOADS",
                "detail": f"{self.cls.__name__}: evaluate gives {found['value']:.4g}, the run: {told['detail']}",
            }
        numbers = [(r.metric, r.value) for r in result.results if r.value is not None and r.value == r.value]
        numbers = [
            (metric, value) for metric, value in numbers if metric not in ("evaluate.rows", "images", "answered")
        ]
        if not numbers:
            return {
                "state": "LOADS",
                "detail": f"{self.cls.__name__}: evaluate gives {found['value']:.4g}, the run no number",
            }
        return {"state": "RUNS", "detail": f"{self.cls.__name__}@{self.name} {numbers[0][0]}={numbers[0][1]:.4g}"}


def dataset_names(cls: Any) -> list[str]:
    """Up to four names that the class knows, spread over all it knows."""
    try:
        names = [str(name) for name in cls.supported_datasets()]
    except Exception:  # noqa: BLE001
        names = []
    return names[:: max(1, len(names) // 4)][:4] or [cls.__name__]


def helpers(file: Path) -> list[Path]:
    """The modules of the checkout that a file takes names from, below its own folder."""
    from assay.dialects.source_names import names_in

    found = []
    for node in names_in(file).imports:
        place = file.parent.joinpath(*node.module.split(".")) if node.level == 1 and "." in node.module else None
        if place is not None and place.with_suffix(".py").is_file():
            found.append(place.with_suffix(".py"))
    return found


def attempt(trial: Any, answer: str, reply: str, judge: str) -> Any:
    """What `evaluate` of the class returns for the rows at hand."""
    from assay.dialects.kits.state import of_process
    from assay.runner.flow.desk import Desk

    instance = built(trial.cls, trial.name, trial.columns, trial.is_video, trial.folder)
    judges = trial.folder / "judges.py"
    judges.write_text(JUDGE.format(reply=reply, names=synthetic.JUDGES))
    eval_file = predicted(instance, answer, trial.name, trial.folder)
    desk = Desk(None, "survey")
    with of_process().judged_by(f"{judges}:judge", desk):
        return evaluated(instance, eval_file, judge)


def built(cls: Any, name: str, columns: dict[str, list[Any]], is_video: bool, folder: Path) -> Any:
    """The user's object over synthetic rows, which lie where the class looks for its table."""
    root = Path(os.environ[DATA])
    names = {name, *getattr(cls, "DATASET_URL", {})}
    for stem in {
        name,
        str((getattr(cls, "DATASET_URL", {}) or {}).get(name, "")).rpartition("/")[2].removesuffix(".tsv"),
    } - {""}:
        synthetic.write_table(root / f"{stem}.tsv", columns)
    cls.DATASET_MD5 = dict.fromkeys(names)
    if is_video:
        clips = sorted(set(map(str, columns["video"])))
        if not (folder / "clips" / clips[0]).exists():
            synthetic.write_videos(folder / "clips", clips)
        found = {"root": str(folder / "clips"), "data_file": str(root / f"{name}.tsv")}
        cls.prepare_dataset = lambda self, *given, **more: found
    parameters = inspect.signature(cls.__init__).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    given = {"dataset": name} if "dataset" in parameters or takes_any else {}
    if is_video and ("nframe" in parameters or takes_any):
        given["nframe"] = 4
    return cls(**given)


def predicted(instance: Any, answer: str, name: str, folder: Path) -> str:
    """A prediction file: the right answer for every other row; each prompt is built once."""
    data = instance.data
    is_video = str(getattr(instance, "MODALITY", "")).upper() == "VIDEO"
    for place in range(min(2, len(data))):
        build_prompt = instance.build_prompt
        build_prompt(place, False) if is_video and len(
            inspect.signature(build_prompt).parameters
        ) > 1 else build_prompt(place if is_video else data.iloc[place])
    frame = data.drop(columns=[c for c in ("image",) if c in data.columns]).copy()
    is_dialogue = str(getattr(instance, "TYPE", "")).upper() == "MT"
    given = [answer if place % 2 == 0 else "unsure" for place in range(len(frame))]
    frame["prediction"] = [repr([text]) for text in given] if is_dialogue else given
    target = folder / "out" / "Scripted" / f"Scripted_{name.replace('/', '_')}.xlsx"
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.iterdir():
        old.unlink() if old.is_file() else None
    frame.to_excel(target, index=False)
    return str(target)


def evaluated(instance: Any, eval_file: str, judge: str) -> Any:
    """What `evaluate` returns."""
    given = {"model": judge, "nproc": 1, "verbose": False, "retry": 1}
    parameters = inspect.signature(instance.evaluate).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return instance.evaluate(eval_file, **{k: v for k, v in given.items() if takes_any or k in parameters})


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if hasattr(value, "to_dict"):
        return plain(value.to_dict("list") if hasattr(value, "columns") else value.to_dict())
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value.item() if hasattr(value, "item") else value


def upstreams(dialect: str, file: Path, folder: Path) -> dict[str, Any]:
    """The number of upstream's own class for the rows, answers and judge's words of a recipe."""
    import types

    recipe = json.loads((folder / "recipe.json").read_text())
    root = next(parent for parent in file.parents if parent.name == dialect)
    sys.path.insert(0, str(root.parent))
    # The packages whose `__init__` imports every file of the checkout are left empty: no file needs all the others.
    for name in (dialect, f"{dialect}.dataset", f"{dialect}.api", f"{dialect}.vlm"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    try:
        judge_util = importlib.import_module(f"{dialect}.dataset.utils.judge_util")
        judge_util.build_judge = lambda **given: Judge(recipe["reply"])
        for part in ("utils",):
            importlib.import_module(f"{dialect}.dataset.{part}").build_judge = judge_util.build_judge
        name = ".".join([dialect, *file.relative_to(root).with_suffix("").parts])
        module = importlib.import_module(name)
        if hasattr(module, "build_judge"):
            module.build_judge = judge_util.build_judge
        cls = getattr(module, recipe["class"])
        is_video = str(getattr(cls, "MODALITY", "")).upper() == "VIDEO"
        instance = built(cls, recipe["name"], recipe["columns"], is_video, folder)
        eval_file = predicted(instance, recipe["answer"], recipe["name"], folder)
        return {"whole": plain(evaluated(instance, eval_file, recipe["judge"]))}
    except BaseException as error:  # noqa: BLE001
        return fault(error)


class Judge:
    """A judge that always says the same."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, reply: str) -> None:
        self.reply = reply

    def working(self) -> bool:
        """True."""
        return True

    def generate(self, *given: Any, **more: Any) -> str:
        """The reply."""
        return self.reply

    def generate_inner(self, *given: Any, **more: Any) -> tuple[int, str, str]:
        """The reply as API classes give it."""
        return 0, self.reply, ""


if __name__ == "__main__":
    main()
