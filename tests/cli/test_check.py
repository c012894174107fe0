"""`assay check`: what passes, and ten and more planted faults for each kind of file."""

import planted_faults
import pytest
from planted_faults import Planted

PLANTED = [
    *((".py", case) for case in planted_faults.BENCHMARKS),
    *((".yaml", case) for case in planted_faults.YAML),
    *((".jsonl", case) for case in planted_faults.DATA),
    *((".py", case) for case in planted_faults.MODELS),
    *((".py", case) for case in planted_faults.SCORERS),
]


@pytest.mark.parametrize(("suffix", "case"), PLANTED, ids=lambda v: v.fault if isinstance(v, Planted) else v)
def test_a_planted_fault_is_explained_in_one_line(assay, folder, suffix, case):
    file = folder / f"case{suffix}"
    file.write_bytes(case.text.encode("utf-8", "surrogateescape"))

    said = assay("check", str(file))

    assert said.code == 1, said.out
    assert said.err.count("\n") == 1 and "Traceback" not in said.err
    assert case.says in said.err
    assert "fix: " in said.err
    assert file.name in said.err
    if case.line is not None:
        assert f"{file}:{case.line}:" in said.err


def test_there_are_ten_faults_and_more_for_each_kind_of_file():
    kinds = (planted_faults.BENCHMARKS, planted_faults.YAML, planted_faults.DATA, planted_faults.MODELS,
             planted_faults.SCORERS)  # fmt: skip

    assert all(len({case.fault for case in kind}) >= 10 for kind in kinds)


def test_a_sound_benchmark_shows_its_prompt_and_its_scores(assay, folder):
    (folder / "bench.py").write_text(
        "dataset = 'sums.jsonl'\n"
        "def prompt(sample):\n    return f'Compute {sample.input}'\n"
        "def score(sample, output):\n    return output.text == sample.target\n"
    )

    said = assay("check", "bench.py")

    assert said.code == 0
    assert "Compute 2+2?" in said.out
    assert "score: 1.0 for the target" in said.out and "score: 0.0 for 'I do not know.'" in said.out


def test_a_task_in_a_variable_is_a_benchmark(assay, folder):
    (folder / "bench.py").write_text(
        "from assay import Task\nmine = Task('mine', dataset=[{'question': 'a?', 'answer': 'b'}], scorers='includes')\n"
    )

    said = assay("check", "bench.py:mine")

    assert said.code == 0 and "includes: 1.0 for the target" in said.out


def test_a_yaml_benchmark_passes(assay, folder):
    (folder / "bench.yaml").write_text("dataset: sums.jsonl\ntemplate: 'Q: {{ question }}'\nscorer: exact_match\n")

    said = assay("check", "bench.yaml")

    assert said.code == 0 and "Q: 2+2?" in said.out


def test_only_the_first_three_samples_are_shown(assay, folder):
    rows = "".join(f'{{"question": "q{i}?", "answer": "{i}"}}\n' for i in range(5))
    (folder / "five.jsonl").write_text(rows)

    said = assay("check", "five.jsonl")

    assert said.code == 0 and "5 rows" in said.out
    assert "q2?" in said.out and "q3?" not in said.out


def test_a_model_is_asked_a_tiny_question(assay):
    said = assay("check", "adder.py:generate", "--as", "model")

    assert said.code == 1  # `int("W")`: the model only knows sums
    assert "adder.py:2: ValueError" in said.err


def test_a_class_that_weighs_is_asked_to_weigh(assay, folder):
    (folder / "weigher.py").write_text(
        "class Weigher:\n"
        "    def generate(self, messages):\n        return '4'\n"
        "    def likelihood(self, requests):\n        return [[-1.0, -2.0] for _ in requests]\n"
    )

    said = assay("check", "weigher.py:Weigher")

    assert said.code == 0 and "continuation 2: log-probability -2.0000" in said.out


def test_a_scorer_that_cannot_tell_right_from_wrong_is_noted(assay, folder):
    (folder / "kind.py").write_text("def score(sample, output):\n    return 1\n")

    said = assay("check", "kind.py")

    assert said.code == 0 and "does not tell the target from" in said.out


def test_a_scorer_that_waits_is_awaited(assay, folder):
    (folder / "late.py").write_text("async def score(sample, output):\n    return output.text == sample.target\n")

    assert "score: 1.0 for the target" in assay("check", "late.py").out


def test_a_template_is_rendered_with_the_rows_it_is_given(assay, folder):
    (folder / "ask.jinja").write_text("Please: {{ question }}")

    said = assay("check", "ask.jinja", "--data", "sums.jsonl")

    assert said.code == 0 and "Please: 3+3?" in said.out


def test_a_template_function_is_told_from_a_scorer(assay, folder):
    (folder / "ask.py").write_text("def prompt(sample):\n    return sample.input.upper()\n")

    said = assay("check", "ask.py")

    assert said.code == 0 and "WHAT IS 2 + 2?" in said.out


def test_a_file_that_is_not_there_is_a_usage_error(assay):
    said = assay("check", "nope.py")

    assert said.code == 2 and "no such file" in said.err


def test_a_picture_task_is_tried_with_a_picture(assay, folder):
    (folder / "draw.py").write_text(
        "dataset = [{'prompt': 'a white square'}]\nproduces = ('image',)\n"
        "def score(sample, output):\n    return len(output.media)\n"
    )

    said = assay("check", "draw.py")

    assert said.code == 0 and "score: 1.0 for a scripted image" in said.out


def test_what_a_row_says_reaches_the_terminal_without_its_escapes(assay, folder):
    (folder / "rows.jsonl").write_text('{"question": "\\u001b[31mred\\u001b[0m?", "answer": "x"}\n')

    said = assay("check", "rows.jsonl")

    assert said.code == 0 and "\x1b" not in said.out and "[31mred" in said.out


def test_a_file_for_another_system_is_tried_as_its_dialect_reads_it(assay, folder, monkeypatch):
    from assay import Task

    (folder / "guest.py").write_text("import some_other_system\n")
    task = Task("guest", dataset=[{"question": "a?", "answer": "b"}])
    monkeypatch.setattr("assay.registry.recognisers", lambda: iter([lambda reference, run: [task]]))

    said = assay("check", "guest.py")

    assert said.code == 0 and "task guest: 1 rows" in said.out


def test_a_task_that_drives_the_model_itself_is_not_tried(assay, folder):
    (folder / "bench.py").write_text(
        "from assay import Task\nmine = Task('mine', dataset=[{'question': 'a?'}], driver=lambda engine: {'x': 1})\n"
    )

    assert "drives the model by itself" in assay("check", "bench.py").out
