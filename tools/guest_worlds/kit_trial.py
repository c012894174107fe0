"""One dataset class of a kit, tried with rows until its `evaluate` gives a number; then run as a user would run it."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.guest_worlds import hints, synthetic
from tools.guest_worlds.alone import DATA, fault, limited
from tools.guest_worlds.blame import lines_of, paths_in
from tools.guest_worlds.kit_facts import DRAWING_FACTS, FACTS, IMAGE
from tools.guest_worlds.kit_objects import (
    DRAWN,
    Way,
    built,
    evaluated,
    is_video,
    plain,
    predicted,
)

ATTEMPT_SECONDS = 6
TRIAL_SECONDS = 10
MOST_COLUMNS = 60
MOST_OTHERS = 12
_QUOTED = re.compile(r"'([^'\n]{1,60})'")
_FIXED = ("index", "question", "image", "video")
MODEL = """
from {dialect}.{package}.base import BaseModel


class Scripted(BaseModel):
    '''Answers every question alike.'''
    INTERLEAVE = True
    def generate_inner(self, message, dataset=None):
        return {says!r}
    def chat_inner(self, message, dataset=None):
        return {says!r}
"""
PAINTER = """
from {dialect}.{package}.base import BaseModel


class Scripted(BaseModel):
    '''Draws the same for every question.'''
    INTERLEAVE = True
    def generate_inner(self, message, dataset=None):
        from PIL import Image
        return Image.new("RGB", (64, 48), (40, 90, 160))
"""
JUDGE = """
def judge(messages):
    return {reply!r}
for name in {names!r}:
    globals()[name] = judge
"""


class Trial:
    """One class with the rows that are tried with it."""

    def __init__(self, dialect: str, file: Path, cls: Any, folder: Path) -> None:
        self.dialect, self.file, self.cls, self.folder = dialect, file, cls, folder
        facts = {**FACTS, **DRAWING_FACTS}.get(file.stem)
        self.facts = (
            facts if facts is not None and facts.cls in (None, cls.__name__) else None
        )
        named = self.facts.name if self.facts else None
        self.names = [named] if named else dataset_names(cls)
        self.name = self.names[0]
        self.columns: dict[str, list[Any]] = {}
        self.extra: list[str] = []
        self.judge: str | None = synthetic.JUDGES[0]
        files = [file, *helpers(file)]
        self.compared = hints.values_of_columns(files)
        self.tables = hints.tables(files)
        self.silent = hints.asked_columns(files)
        self.keys = hints.reply_keys(files)
        self.others: dict[str, list[Any]] = {}
        """Values of columns whose first ones could not be read."""
        self.tried: dict[str, int] = {}

    def run(self) -> dict[str, Any]:
        """Return the outcome; the number is that of the run."""
        last: dict[str, Any] = {"state": "LOADS", "detail": ""}
        end = time.process_time() + TRIAL_SECONDS
        seen: dict[str, int] = {}
        for way, name in self._ways():
            if time.process_time() > end:
                break
            self.name = name
            self._set_columns(way)
            found = self._with(way, end)
            if "value" in found:
                way = found.pop("way")
                recipe = {
                    **found,
                    "class": self.cls.__name__,
                    "name": self.name,
                    **vars_of(way),
                }
                (self.folder / "recipe.json").write_text(
                    synthetic.as_json({**recipe, "columns": self.columns})
                )
                return self._as_a_user(way, found)
            last = {
                **found,
                "detail": f"{self.cls.__name__}: {found.get('detail', '')}",
            }
            if last.get("state") == "PACKAGE":
                return last
            seen[last["detail"]] = seen.get(last["detail"], 0) + 1
            if last.get("state") == "NETWORK" and seen[last["detail"]] > 1:
                return last
        return {"state": "FAILS", **last}

    def _ways(self) -> Iterator[tuple[Way, str]]:
        if self.facts is not None:
            facts = self.facts
            os.environ.update(
                {
                    name: str(self.folder / DATA / path)
                    for name, path in facts.environment.items()
                }
            )
            says = facts.says if facts.says is not None else str(facts.answer)
            way = Way(facts.answer, says, facts.reply, facts.judge, facts.options)
            self._set_columns(way)
            for path in facts.files:
                self._made_file(Path(os.environ[DATA]) / path)
            yield way, self.name
            return
        ways = list(synthetic.variants(str(getattr(self.cls, "TYPE", "")), self.keys))
        for number, (answer, reply) in enumerate(ways):
            way = Way(answer, answer, reply, self.judge)
            for name in self.names if number == 0 else self.names[:1]:
                yield way, name

    def _set_columns(self, way: Way) -> None:
        first = synthetic.first_columns(way.answer, is_video(self.cls))
        self.columns = synthetic.of_one_length(
            {**first, **self._asked(way.answer), **self._of_facts()}
        )

    def _of_facts(self) -> dict[str, list[Any]]:
        if self.facts is None:
            return {}
        image = synthetic.picture(1)
        columns = [
            (k, image if v == IMAGE else v) for k, v in self.facts.columns.items()
        ]
        return {k: v if isinstance(v, list) else [v] for k, v in columns}

    def _asked(self, answer: str) -> dict[str, list[Any]]:
        compared = {
            name: synthetic.cycled(texts)
            for name, texts in self.compared.items()
            if name not in (*_FIXED, "answer", "prediction", *"ABCDEFGH")
            and (name in ("category", "l2-category", "split") or name in self.extra)
        }
        return {
            **{name: synthetic.column(name, answer) for name in self.extra},
            **compared,
            **self.others,
        }

    def _with(self, way: Way, end: float) -> dict[str, Any]:
        """One way: columns are added, and judges' names tried, for as long as that helps."""
        found: dict[str, Any] = {}
        for judge in dict.fromkeys([way.judge, *synthetic.JUDGES, None]):
            now = Way(way.answer, way.says, way.reply, judge, way.options)
            while time.process_time() < end:
                before = len(self.extra)
                try:
                    with limited(ATTEMPT_SECONDS):
                        value = attempt(self, now)
                    number = synthetic.finite_number(value)
                    if number is not None:
                        self.judge = judge
                        return {
                            "value": number[1],
                            "metric": number[0],
                            "whole": plain(value),
                            "way": now,
                        }
                    found = {
                        "state": "FAILS",
                        "detail": f"evaluate gave no finite number: {str(plain(value))[:120]}",
                    }
                except BaseException as error:  # noqa: BLE001
                    found = fault(error)
                    if self._helped(error, str(way.answer)):
                        continue
                if len(self.extra) == before:
                    break
            text = found.get("detail", "").lower()
            if "assert" not in text and "judge" not in text and "'model'" not in text:
                break
        return found

    def _helped(self, error: BaseException, answer: str) -> bool:
        """Whether something could be changed that the error speaks of: a missing column or file, a value."""
        at: BaseException | None = error
        while at is not None:
            is_unreadable = "rror reading" in str(at)
            is_about_a_file = (
                isinstance(at, (FileNotFoundError, AssertionError)) or is_unreadable
            )
            if is_about_a_file and any(
                self._made_file(path, is_unreadable) for path in paths_in(at)
            ):
                return True
            names = [str(at.args[0])] if isinstance(at, KeyError) and at.args else []
            names += _QUOTED.findall(str(at)) + re.findall(
                r"(?:colume|column)[: ]+(\w+)", str(at)
            )
            is_about_rows = (
                isinstance(at, (KeyError, AssertionError))
                or "Series" in str(at)
                or "column" in str(at)
            )
            for name in names:
                if self._changed_value(name) or (
                    is_about_rows and self._added(name, answer)
                ):
                    return True
            if self._changed_value_in(str(at)):
                return True
            in_code = [
                name
                for line in lines_of(at, self.file.parents[1])
                for name in hints.columns_in(line)
            ]
            for name in in_code:
                if self._added(name, answer) or (
                    name in self.columns and self._changed(name)
                ):
                    return True
            if (
                "NoneType" in str(at)
                and self.silent
                and sum(self._added(name, answer) for name in self.silent)
            ):
                return True
            at = at.__cause__ or at.__context__
        return False

    def _added(self, name: str, answer: str) -> bool:
        is_new = (
            name not in self.columns
            and len(name) < 40
            and name != "prediction"
            and "/" not in name
        )
        if (
            not is_new
            or len(self.extra) >= MOST_COLUMNS
            or self.tried.get(name, 0) >= 2
        ):
            return False
        self.tried[name] = self.tried.get(name, 0) + 1
        self.extra.append(name)
        self.columns = synthetic.of_one_length(
            {**self.columns, **self._asked(answer), **self._of_facts()}
        )
        return True

    def _changed_value(self, value: str) -> bool:
        """Other values for the column that has this one."""
        return any(
            value in map(str, cells) and self._changed(name)
            for name, cells in self.columns.items()
        )

    def _changed_value_in(self, text: str) -> bool:
        """Return the same for a value somewhere in a message."""
        for name, cells in self.columns.items():
            words = {str(cell) for cell in cells if 4 < len(str(cell)) < 60}
            if any(word in text for word in words) and self._changed(name):
                return True
        return False

    def _changed(self, name: str) -> bool:
        """Other values for a column: keys of a table in the code, or another kind of literal."""
        if name in _FIXED or (self.facts is not None and name in self.facts.columns):
            return False
        number = self.tried[f"value {name}"] = self.tried.get(f"value {name}", 0) + 1
        known = [self.compared[name]] if name in self.compared else []
        choices: list[list[Any]] = [
            *map(synthetic.cycled, [*known, *self.tables[:MOST_OTHERS]]),
            *synthetic.OTHERS,
        ]
        if number > len(choices):
            return False
        self.others[name] = choices[number - 1]
        self.columns = synthetic.of_one_length(
            {**self.columns, name: choices[number - 1]}
        )
        return True

    def _made_file(self, path: Path, is_a_video: bool = False) -> bool:
        """Write a file that the class looks for in its own folders."""
        full = Path(os.path.normpath(path if path.is_absolute() else Path.cwd() / path))
        if (
            self.folder not in full.parents
            or full.exists()
            or self.tried.get(str(full), 0)
        ):
            return False
        self.tried[str(full)] = 1
        if is_a_video:
            return synthetic.write_video(full)
        rows = zip(*self.columns.values(), strict=True)
        return synthetic.write_file(
            full, [dict(zip(self.columns, row, strict=True)) for row in rows]
        )

    def _reference(self, way: Way) -> str:
        """Return what a user types for the dataset. A video's frames are named in a config, as in upstream's list."""
        if self.dialect == "ulmeval":
            return f"{self.file}:{self.name}"
        if not is_video(self.cls) and not way.options:
            return f"{self.file}:{self.cls.__name__}@{self.name}"
        frames = (
            {"nframe": 4} if is_video(self.cls) and "fps" not in way.options else {}
        )
        entry = {
            "class": self.cls.__name__,
            "dataset": self.name,
            **frames,
            **way.options,
        }
        config = self.folder / "config.json"
        config.write_text(json.dumps({"model": {}, "data": {"survey": entry}}))
        return f"{config}#survey"

    def _as_a_user(self, way: Way, found: dict[str, Any]) -> dict[str, Any]:
        """Try the same through a whole run of assay."""
        import assay
        from assay.dialects.ulmeval import ulmeval_tables as tables

        # The rows are the survey's own: they have no declared checksum.
        tables.fetch_declared = lambda url, path, **more: path  # type: ignore[assignment]
        model, judge = self.folder / "scripted.py", self.folder / "judges.py"
        package = "ulm" if self.dialect == "ulmeval" else "vlm"
        source = (
            PAINTER if str(getattr(self.cls, "TYPE", "")).upper() in DRAWN else MODEL
        )
        model.write_text(
            source.format(dialect=self.dialect, package=package, says=way.says)
        )
        judge.write_text(JUDGE.format(reply=way.reply, names=synthetic.JUDGES))
        judges = (
            {"judge": f"{judge}:{way.judge}"}
            if way.judge not in ("exact_matching", None)
            else {}
        )
        title = f"{self.cls.__name__}: evaluate gives {found['value']:.4g}"
        try:
            with limited(120):
                result = assay.run(
                    self._reference(way),
                    model=f"{model}:Scripted",
                    judges=judges,
                    output=str(self.folder / "run"),
                    dialect=self.dialect,
                    register=(str(self.file),),
                    on_error="continue",
                    fresh=True,
                )
        except BaseException as error:  # noqa: BLE001
            return {
                "state": "LOADS",
                "detail": f"{title}, the run: {fault(error)['detail']}",
            }
        own = ("evaluate.rows", "images", "answered")
        numbers = [
            (r.metric, r.value)
            for r in result.results
            if r.value is not None and r.value == r.value
        ]
        numbers = [(metric, value) for metric, value in numbers if metric not in own]
        if not numbers:
            return {"state": "LOADS", "detail": f"{title}, the run no number"}
        return {
            "state": "RUNS",
            "detail": f"{self.cls.__name__}@{self.name} {numbers[0][0]}={numbers[0][1]:.4g}",
        }


def vars_of(way: Way) -> dict[str, Any]:
    """Return a way as plain data."""
    return {
        name: getattr(way, name)
        for name in ("answer", "says", "reply", "judge", "options")
    }


def dataset_names(cls: Any) -> list[str]:
    """Up to four names that the class knows, spread over all it knows."""
    try:
        names = [str(name) for name in cls.supported_datasets()]
    except Exception:  # noqa: BLE001
        names = []
    return names[:: max(1, len(names) // 4)][:4] or [cls.__name__]


def helpers(file: Path) -> list[Path]:
    """Return the modules of the checkout that a file takes names from, below its own folder."""
    from assay.dialects.source_names import names_in

    found = []
    root = next(
        (parent for parent in file.parents if parent.name in ("vlmeval", "ulmeval")),
        file.parent,
    )
    for node in names_in(file).imports:
        parts = node.module.split(".") if node.module else []
        places = [file.parent.joinpath(*parts)] if node.level == 1 else []
        if node.level == 0 and parts[:2] == [root.name, "dataset"]:
            places = [root.joinpath(*parts[1:])]
        for place in places:
            if place.with_suffix(".py").is_file() and not place.stem.endswith("_base"):
                found.append(place.with_suffix(".py"))
    return found


def attempt(trial: Trial, way: Way) -> Any:
    """Return what `evaluate` of the class returns for these rows."""
    from assay.dialects.kits.judging import JudgePool
    from assay.dialects.kits.state import around, of_process

    instance = built(trial.cls, trial.name, trial.columns, trial.folder, way.options)
    judges = trial.folder / "judges.py"
    judges.write_text(JUDGE.format(reply=way.reply, names=synthetic.JUDGES))
    eval_file = predicted(instance, way.says, trial.name, trial.folder)
    process = of_process()
    process.trust_pickle = True  # the survey's own predictions
    scripted = f"{judges}:judge"

    class OneJudge(JudgePool):
        """Asks the scripted judge, whatever name the class asks for."""

        def ask(self, name: str, prompt: Any, options: Any) -> Any:
            return super().ask(scripted, prompt, options)

    judge_pool = OneJudge(None, "survey")
    with (
        closing(judge_pool),
        around(replace(process, judge=scripted, judge_pool=judge_pool)),
    ):
        return evaluated(instance, eval_file, way.judge)
