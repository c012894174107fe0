"""`register_*.py` files run unchanged: by `assay run`, row by row, exactly once."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pipeline_files import exam_rows, make_exam, write_rows

import assay
from assay.cli.main import main
from assay.core import AssayError, DataError, ModalityMismatch, UnknownName, UsageError
from assay.dialects.pipeline.claims import NAMES, claims
from assay.dialects.recognise import dialect_of
from assay.models.scripted import Scripted
from assay.runner.options import RunOptions
from assay.store import RunReader


def run_exam(folder: Path, model: object, **settings: object) -> assay.RunResult:
    options = RunOptions(
        tasks=(str(folder / "register_exam.py"),), data=str(folder / "exam.jsonl")
    )
    return assay.run(
        model=model, options=options.but(output=str(folder / "run"), **settings)
    )


def test_a_file_is_recognised_by_what_it_imports_and_nothing_of_it_is_run(
    tmp_path: Path,
):
    make_exam(tmp_path)
    (tmp_path / "evil.py").write_text(
        "from pipeline import quick_eval\nraise SystemExit('was run')\n"
    )
    (tmp_path / "other.py").write_text("import pipeline\nimport tasks\n")

    assert dialect_of(str(tmp_path / "register_exam.py")) == (
        "pipeline",
        "it imports dataset_registry",
    )
    assert dialect_of(str(tmp_path / "evil.py")) == (
        "pipeline",
        "it imports pipeline.quick_eval",
    )
    assert claims(tmp_path / "other.py", frozenset({"pipeline", "tasks"})) is None
    assert dialect_of(str(tmp_path / "model.py")) is None


def test_a_register_file_runs_unchanged_and_gives_its_own_numbers(tmp_path: Path):
    make_exam(tmp_path)

    result = run_exam(tmp_path, Scripted("B"))

    assert [(r.metric, r.value) for r in result] == [
        ("accuracy", 0.5),
        ("correct", 5.0),
        ("total", 10.0),
    ]
    assert (result.status, result[0].n, result[0].n_expected) == ("complete", 10, 10)
    assert result[0].ci == pytest.approx((0.1871, 0.8129), abs=1e-4)


def test_the_prompt_is_one_user_turn_and_greedy(tmp_path: Path):
    make_exam(tmp_path, 1)
    model = Scripted("B")

    run_exam(tmp_path, model)

    [request] = model.calls
    assert [(m.role, m.text) for m in request.messages] == [
        ("user", "Question: number 0?\n\nA. w\nB. x\nC. y\nD. z\n\nAnswer:")
    ]
    assert (request.options.max_tokens, request.options.temperature) == (10, 0.0)


def test_prompts_are_plain_text_where_the_user_or_the_model_asks_for_it(tmp_path: Path):
    make_exam(tmp_path, 1)
    model = Scripted("B")

    run_exam(tmp_path, model, template="completion")

    assert [message.role for message in model.calls[0].messages] == [""]


def test_rows_the_prompt_function_cannot_handle_are_listed_counted_and_in_the_denominator(
    tmp_path: Path,
):
    make_exam(tmp_path, 10, too_many=(3, 8))

    result = run_exam(tmp_path, Scripted("B"))

    accuracy = result[0]
    assert (result.status, accuracy.n, accuracy.n_expected) == ("partial", 8, 10)
    assert accuracy.outcomes == {"data_error": 2}
    assert accuracy.bounds == (0.4, 0.6)
    [first, second] = RunReader(tmp_path / "run").scores(
        "exam/exam", "Scripted", "exam/exam"
    )
    assert (first.id, second.id) == ("row-4", "row-9")
    assert (
        "exam.jsonl:4: exam_prompt failed: IndexError: list index out of range (register_exam.py:14)"
        in str(first.details["error"])
    )
    head, frame, *_ = first.details["traceback"].splitlines()
    assert head == "Traceback (most recent call last):"
    assert frame.endswith('register_exam.py", line 14, in exam_prompt')


def test_evaluators_of_pairs_and_of_triples_run_side_by_side_in_one_run(tmp_path: Path):
    make_exam(tmp_path, 4)
    file = tmp_path / "register_exam.py"
    file.write_text(
        file.read_text() + "\ndef newer(engine, data, batch_size=64, **kwargs):\n"
        "    tokens, seconds, stats = engine.generate_batch([item['prompt'] for item in data], max_length=10)\n"
        "    assert stats is None and tokens.shape == (len(data), 10)\n"
        "    return {'written': sum(text.strip()[:1] == 'B' for text in engine.decode_tokens(tokens))}\n"
        "EvaluatorRegistry.register('newer', newer)\n"
    )
    options = RunOptions(
        tasks=tuple(f"{file}:exam/{name}" for name in ("exam", "newer")),
        output=str(tmp_path / "run"),
    )

    result = assay.run(
        model=Scripted("B"), options=options.but(data=str(tmp_path / "exam.jsonl"))
    )

    assert (result.status, result.value("total"), result.value("written")) == (
        "complete",
        4.0,
        4.0,
    )


def test_answer_zero_is_kept_as_the_reference(tmp_path: Path):
    from assay.dialects.pipeline.dataset_registry import DatasetRegistry

    rows = [
        {"question": "q", "answer": 0},
        {"question": "q", "answer": False},
        {"question": "q", "reference": "r"},
    ]
    path = write_rows(
        tmp_path / "rows.jsonl",
        [*rows, {"question": "q", "answer": None, "reference": ""}],
    )

    data = DatasetRegistry.load_dataset("qa", str(path))

    assert [item["reference"] for item in data] == [0, False, "r", ""]


def test_a_loaded_row_has_exactly_prompt_reference_and_raw(tmp_path: Path):
    from assay.dialects.pipeline.dataset_registry import DatasetRegistry

    path = write_rows(
        tmp_path / "rows.jsonl",
        [{"question": f"q{n}", "answer": "a"} for n in range(9)],
    )

    data = DatasetRegistry.load_dataset(name="qa", path=str(path), limit=5)

    assert (
        len(data) == 5
        and len(DatasetRegistry.load_dataset("qa", str(path), limit=0)) == 9
    )
    assert data[0] == {
        "prompt": "Q: q0\nA:",
        "reference": "a",
        "raw": {"question": "q0", "answer": "a"},
    }
    with pytest.raises(ValueError, match="'nope' is not registered"):
        DatasetRegistry.load_dataset("nope", str(path))


def test_load_dataset_warns_of_rows_it_leaves_out(tmp_path: Path):
    from assay.dialects.pipeline.dataset_registry import DatasetRegistry

    path = write_rows(
        tmp_path / "rows.jsonl",
        [{"question": "q"}, {"no": "question"}, {"question": "r"}],
    )

    with pytest.warns(
        UserWarning,
        match="qa: 1 of 3 rows left out; the first, row 2: KeyError: 'question'",
    ):
        data = DatasetRegistry.load_dataset("qa", str(path))

    assert [item["prompt"] for item in data] == ["Q: q\nA:", "Q: r\nA:"]


def test_flat_and_packaged_module_names_are_one_object(tmp_path: Path):
    from assay.dialects.guest import Guest

    (tmp_path / "names.py").write_text(
        "import dataset_registry as flat\nimport tasks.dataset_registry\n"
        "from tasks import DatasetRegistry, dataset_registry\nfrom pipeline import DatasetRegistry as c\n"
        "from evaluators.evaluator_registry import EvaluatorRegistry as a\n"
        "from evaluator_registry import EvaluatorRegistry as b\nfrom batch_engine import RWKVInferenceEngine\n"
        "same = flat is dataset_registry is tasks.dataset_registry and DatasetRegistry is c and a is b\n"
    )

    module = Guest("pipeline", NAMES, tmp_path).load(tmp_path / "names.py")

    assert module.same
    assert "dataset_registry" not in sys.modules and "batch_engine" not in sys.modules


def forgotten_afterwards(monkeypatch: pytest.MonkeyPatch, module: str) -> str:
    """The name of a module that is as it was before, or not there, when the test has ended."""
    monkeypatch.setitem(sys.modules, module, sys.modules.get(module))
    return module


@pytest.mark.parametrize("taken", ["tasks.py", "tasks/__init__.py", "tasks/notes.py"])
@pytest.mark.parametrize("is_imported", [False, True])
def test_modules_beside_a_loaded_file_do_not_shadow_those_of_another_file(
    taken: str, is_imported: bool, tmp_path: Path, monkeypatch
):
    from assay.code.userfiles import load_file
    from assay.dialects.guest import Guest

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, forgotten_afterwards(monkeypatch, "tasks"))
    for file, text in {
        f"elsewhere/{taken}": "",
        "elsewhere/mine.py": "import tasks\n" if is_imported else "",
        "guest/names.py": "from tasks import DatasetRegistry\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    load_file(tmp_path / "elsewhere" / "mine.py")
    assert importlib.util.find_spec("tasks") is not None

    module = Guest("pipeline", NAMES, tmp_path / "guest").load(
        tmp_path / "guest" / "names.py"
    )

    assert module.DatasetRegistry.__module__.startswith("assay.")


def test_a_module_on_the_users_own_path_is_not_hidden(tmp_path: Path, monkeypatch):
    from assay.code.userfiles import load_file
    from assay.dialects.guest import Guest

    for folder in ("library", "guest", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "library" / "tasks.py").write_text("Checklist = 'the installed one'\n")
    (tmp_path / "guest" / "names.py").write_text("from tasks import Checklist\n")
    (tmp_path / "elsewhere" / "mine.py").write_text("")
    monkeypatch.delitem(sys.modules, forgotten_afterwards(monkeypatch, "tasks"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "library"), *sys.path])
    load_file(tmp_path / "elsewhere" / "mine.py")

    module = Guest("pipeline", NAMES, tmp_path / "guest").load(
        tmp_path / "guest" / "names.py"
    )

    assert module.Checklist == "the installed one"


def test_an_unknown_name_says_the_dialect(tmp_path: Path):
    (tmp_path / "wrong.py").write_text("from dataset_registry import DatasetRegister\n")

    with pytest.raises(
        UsageError,
        match="the pipeline dialect has no 'DatasetRegister' in 'dataset_registry'",
    ):
        assay.run(options=RunOptions(tasks=(str(tmp_path / "wrong.py"),)))


def test_after_a_kill_finished_prompts_are_not_asked_again_and_the_numbers_are_the_same(
    tmp_path: Path, monkeypatch
):
    make_exam(tmp_path, 40)
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "calls.log"
    command = [
        "run",
        "register_exam.py",
        "--data",
        "exam.jsonl",
        "--model",
        "model.py:generate",
        "-b",
        "4",
    ]
    program = [sys.executable, "-m", "assay.cli.main", *command, "-o", "run"]
    monkeypatch.setenv("CALL_LOG", str(log))
    for point in (9, 22):
        process = subprocess.Popen(
            program, env={**os.environ, "CALL_DELAY": "0.02"}, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and (
            not log.exists() or log.read_text().count("\n") < point
        ):
            time.sleep(0.005)
        process.kill()
        process.wait()
    kept = {record.id for record in RunReader(tmp_path / "run").outputs()}
    before = len(log.read_text().splitlines())

    assert main([*command, "-o", "run"]) == 0
    lines = log.read_text().splitlines()
    assert main([*command, "-o", "clean"]) == 0

    assert len(kept) >= 15
    assert len(lines) - before == 40 - len(kept)
    assert (
        len(lines) - len(set(lines)) <= 2 * 2
    )  # one in flight for each kill, and one handed over
    first, second = (
        json.loads(Path(f, "summary.json").read_text())["results"]
        for f in ("run", "clean")
    )
    assert [(r["metric"], r["value"]) for r in first] == [
        (r["metric"], r["value"]) for r in second
    ]


def test_a_run_is_scored_again_after_its_evaluator_was_fixed(tmp_path: Path):
    make_exam(tmp_path)
    model = f"{tmp_path / 'model.py'}:generate"
    run_exam(tmp_path, model)
    file = tmp_path / "register_exam.py"
    file.write_text(file.read_text().replace('== item["reference"]', '== "B"'))
    (tmp_path / "model.py").write_text(
        "def generate(messages):\n    raise RuntimeError('was asked')\n"
    )

    result = assay.score(tmp_path / "run")

    assert result.value("accuracy") == 1.0


def test_the_samples_of_a_run_can_be_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    from assay.cli.show import command

    make_exam(tmp_path, 10, too_many=(3,))
    run_exam(tmp_path, Scripted("B"))

    command([str(tmp_path / "run"), "--sample", "2"])
    shown = capsys.readouterr().out
    command([str(tmp_path / "run"), "--failures"])
    failed = capsys.readouterr().out

    assert "Question: number 2?" in shown and "target: A" in shown
    assert (
        "sample row-4" in failed
        and "exam_prompt failed" in failed
        and "number 2?" not in failed
    )


def test_rows_keep_their_own_ids_where_each_has_one(tmp_path: Path):
    make_exam(tmp_path)
    write_rows(
        tmp_path / "exam.jsonl",
        [{**row, "question_id": 70 + n} for n, row in enumerate(exam_rows(3))],
    )

    run_exam(tmp_path, Scripted("B"))

    assert [record.id for record in RunReader(tmp_path / "run").outputs()] == [
        "70",
        "71",
        "72",
    ]


def test_changed_data_is_seen_though_the_loader_is_the_users_own(tmp_path: Path):
    make_exam(tmp_path)
    model = Scripted("B")
    run_exam(tmp_path, model)
    write_rows(
        tmp_path / "exam.jsonl", [{**row, "answer": "B"} for row in exam_rows(12)]
    )

    result = run_exam(tmp_path, model)

    assert result.value("accuracy") == 1.0
    assert len(model.calls) == 12


def test_a_limit_and_single_samples_work_as_everywhere(tmp_path: Path):
    make_exam(tmp_path)

    assert run_exam(tmp_path, Scripted("B"), limit=3)[0].n == 3
    assert run_exam(tmp_path, Scripted("B"), ids=("1", "5"))[0].value == 1.0


def test_a_dataset_without_an_evaluator_is_generated_and_another_can_be_asked_for(
    here: Path,
):
    make_exam(here)
    source = (here / "register_exam.py").read_text()
    (here / "register_exam.py").write_text(
        source.partition("EvaluatorRegistry.register(")[0]
    )

    generated = run_exam(here, Scripted("B"))
    matched = run_exam(here, Scripted("B"), scorers=("exact_match",), fresh=True)

    assert generated[0].task == "exam/generation"
    assert (matched[0].task, matched.value("accuracy")) == ("exam/exact_match", 0.5)


def test_one_dataset_of_a_file_is_named_behind_a_colon(tmp_path: Path):
    make_exam(tmp_path)
    options = RunOptions(
        data=str(tmp_path / "exam.jsonl"), output=str(tmp_path / "run")
    )

    result = assay.run(
        model=Scripted("B"),
        options=options.but(
            tasks=(f"{tmp_path / 'register_exam.py'}:exam/exact_match",)
        ),
    )

    assert result[0].task == "exam/exact_match"


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        (
            "register_exam.py:exm",
            UnknownName,
            "unknown dataset 'exm'; fix: did you mean 'exam'",
        ),
        (
            "register_exam.py:exam/xact_match",
            UnknownName,
            "unknown evaluator 'xact_match'; fix: did you mean 'exact_m",
        ),
        (
            "script.py",
            UsageError,
            "script.py: registers no dataset; fix: `assay python FILE` runs a script",
        ),
        ("broken.py", UsageError, r"broken.py:2: ZeroDivisionError: division by zero"),
    ],
)
def test_each_fault_is_one_line_with_its_place(
    here: Path, reference: str, error: type[Exception], message: str
):
    make_exam(here)
    (here / "script.py").write_text("from pipeline import quick_eval\n")
    (here / "broken.py").write_text(
        "from dataset_registry import DatasetRegistry\n1 / 0\n"
    )

    with pytest.raises(error, match=message):
        assay.run(
            options=RunOptions(
                tasks=(reference,), data="exam.jsonl", models=("scripted",)
            )
        )


def test_missing_data_is_reported_before_anything_runs(tmp_path: Path):
    make_exam(tmp_path)
    task = str(tmp_path / "register_exam.py")

    with pytest.raises(
        UsageError,
        match="dataset 'exam' reads a file and none is given; fix: --data FILE",
    ):
        assay.run(options=RunOptions(tasks=(task,), models=("scripted",)))
    with pytest.raises(UsageError, match=r"nowhere.jsonl: no such file"):
        assay.run(
            options=RunOptions(
                tasks=(task,), data="nowhere.jsonl", models=("scripted",)
            )
        )


def test_a_file_none_of_whose_rows_can_be_asked_names_the_first_fault(tmp_path: Path):
    make_exam(tmp_path, 2, too_many=(0, 1))

    said = (
        r"none of the 2 rows can be used; the first: exam.jsonl:1: exam_prompt failed"
    )
    with pytest.raises(DataError, match=rf"^dataset 'exam' of task 'exam.*': {said}"):
        run_exam(tmp_path, Scripted("B"))


def test_an_evaluator_without_numbers_is_named_in_the_error(tmp_path: Path):
    make_exam(tmp_path)
    file = tmp_path / "register_exam.py"
    file.write_text(
        file.read_text()
        .replace("return {", "return [{")
        .replace("len(data)}\n", "len(data)}]\n")
    )

    with pytest.raises(
        assay.AssayError,
        match=r"evaluator 'exam', register_exam.py:18: returned .*fix: return a dict of numbers",
    ):
        run_exam(tmp_path, Scripted("B"))


def test_an_evaluator_without_kwargs_gets_only_what_it_takes(tmp_path: Path):
    make_exam(tmp_path)
    file = tmp_path / "register_exam.py"
    file.write_text(
        file.read_text().replace("batch_size=64, **kwargs", "batch_size=64")
    )

    assert run_exam(tmp_path, Scripted("B")).value("total") == 10


def test_a_model_without_likelihood_is_refused_by_perplexity_before_any_work(
    tmp_path: Path,
):
    make_exam(tmp_path)
    model = Scripted("B", weighs=False)
    options = RunOptions(
        tasks=(f"{tmp_path / 'register_exam.py'}:exam/perplexity",),
        data=str(tmp_path / "exam.jsonl"),
    )

    with pytest.raises(
        ModalityMismatch,
        match=r"task 'exam/perplexity' needs likelihoods, which model 'Scr.*' does not have",
    ):
        assay.run(model=model, options=options.but(output=str(tmp_path / "run")))

    assert model.calls == [] and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "1 / 0",
            "evaluator 'odd': ZeroDivisionError: division by zero (register_exam.py:",
        ),
        (
            "exit(3)",
            "evaluator 'odd': called sys.exit(3) (register_exam.py:",
        ),
        (
            "[1, 2]",
            "evaluator 'odd', register_exam.py:36: returned a list: [1, 2]; fix: return a dict of numbers",
        ),
        (
            "'good'",
            "evaluator 'odd', register_exam.py:36: returned a str: 'good'; fix: return a dict of numbers",
        ),
        (
            "{'mode': 'fast'}",
            "evaluator 'odd', register_exam.py:36: returned no numbers: {'mode': 'fast'}; fix: return a dict of",
        ),
        (
            "{'n': engine.speed_of_light}",
            "evaluator 'odd': AttributeError: the engine of the pipeline dialect has no ",
        ),
    ],
)
def test_an_evaluator_that_goes_wrong_is_named_with_what_it_did(
    tmp_path: Path, body: str, said: str
):
    make_exam(tmp_path, 2)
    file = tmp_path / "register_exam.py"
    odd = (
        f"\nEvaluatorRegistry.register('odd', lambda engine, data, **kwargs: {body})\n"
    )
    file.write_text(file.read_text() + odd)
    options = RunOptions(
        tasks=(f"{file}:exam/odd",),
        data=str(tmp_path / "exam.jsonl"),
        output=str(tmp_path / "run"),
    )

    with pytest.raises(AssayError) as caught:
        assay.run(model=Scripted("B"), options=options)

    assert str(caught.value).startswith(said)


def test_a_loader_that_returns_nothing_is_named(tmp_path: Path):
    make_exam(tmp_path, 2)
    file = tmp_path / "register_exam.py"
    file.write_text(
        file.read_text()
        + "\nDatasetRegistry.register('none', lambda path: None, exam_prompt)\n"
    )
    options = RunOptions(
        tasks=(f"{file}:none/exam",),
        data=str(tmp_path / "exam.jsonl"),
        output=str(tmp_path / "run"),
    )

    with pytest.raises(
        UsageError,
        match=r"loader '<lambda>', register_exam.py:36: returned None; fix: return a list of dictionaries",
    ):
        assay.run(model=Scripted("B"), options=options)


def test_a_run_with_an_answer_that_never_came_is_scored_again_as_it_was(tmp_path: Path):
    make_exam(tmp_path, 4)

    def model(prompt: str) -> str:
        if "number 2?" in prompt:
            raise RuntimeError("too hard")
        return "B"

    file, data = tmp_path / "register_exam.py", tmp_path / "exam.jsonl"
    first = assay.run(
        str(file),
        model,
        data=str(data),
        output=str(tmp_path / "run"),
        on_error="continue",
    )

    again = assay.score(tmp_path / "run")

    assert [(r.metric, r.value, r.outcomes) for r in again] == [
        (r.metric, r.value, r.outcomes) for r in first
    ]
    assert first[0].outcomes == {"model_error": 1}
    assert any("too hard" in note for note in again.notes)


def test_modules_of_a_checkout_are_found_in_its_packages_whose_start_files_are_not_run(
    here: Path, capsys
):
    for part, kind in (("tasks", "Dataset"), ("evaluators", "Evaluator")):
        (here / part).mkdir()
        (here / part / f"{kind.lower()}_registry.py").write_text(
            f"class {kind}Registry:\n    pass\n"
        )
        (here / part / "__init__.py").write_text(
            f"from .{kind.lower()}_registry import {kind}Registry\nfrom . import register_mine\nraise RuntimeError\n"
        )
        (here / part / "register_mine.py").write_text(
            f"from .{kind.lower()}_registry import {kind}Registry\nVALUE = {kind}Registry.__module__\n"
        )
    (here / "script.py").write_text(
        "from tasks import register_mine\nfrom evaluators import register_mine as other\nimport tasks.register_mine\n"
        "print(register_mine.VALUE)\nprint(other.VALUE)\n"
    )

    assert main(["python", "script.py"]) == 0

    home = "assay.dialects.pipeline"
    expected = [f"{home}.dataset_registry", f"{home}.evaluator_registry"]
    assert capsys.readouterr().out.split() == expected
