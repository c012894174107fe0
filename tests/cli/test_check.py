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


@pytest.mark.parametrize(
    ("suffix", "case"), PLANTED, ids=lambda v: v.fault if isinstance(v, Planted) else v
)
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
    kinds = (
        planted_faults.BENCHMARKS,
        planted_faults.YAML,
        planted_faults.DATA,
        planted_faults.MODELS,
        planted_faults.SCORERS,
    )

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
    assert (
        "score: 1.0 for the target" in said.out
        and "score: 0.0 for 'I do not know.'" in said.out
    )


def test_a_task_in_a_variable_is_a_benchmark(assay, folder):
    (folder / "bench.py").write_text(
        "from assay import Task\nmine = Task('mine', dataset=[{'question': 'a?', 'answer': 'b'}], scorers='includes')\n"
    )

    said = assay("check", "bench.py:mine")

    assert said.code == 0 and "includes: 1.0 for the target" in said.out


def test_a_yaml_benchmark_passes(assay, folder):
    (folder / "bench.yaml").write_text(
        "dataset: sums.jsonl\ntemplate: 'Q: {{ question }}'\nscorer: exact_match\n"
    )

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
    (folder / "late.py").write_text(
        "async def score(sample, output):\n    return output.text == sample.target\n"
    )

    assert "score: 1.0 for the target" in assay("check", "late.py").out


def test_a_template_is_rendered_with_the_rows_it_is_given(assay, folder):
    (folder / "ask.jinja").write_text("Please: {{ question }}")

    said = assay("check", "ask.jinja", "--data", "sums.jsonl")

    assert said.code == 0 and "Please: 3+3?" in said.out


def test_a_template_function_is_distinguished_from_a_scorer(assay, folder):
    (folder / "ask.py").write_text(
        "def prompt(sample):\n    return sample.input.upper()\n"
    )

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
    (folder / "rows.jsonl").write_text(
        '{"question": "\\u001b[31mred\\u001b[0m?", "answer": "x"}\n'
    )

    said = assay("check", "rows.jsonl")

    assert said.code == 0 and "\x1b" not in said.out and "[31mred" in said.out


def test_a_file_for_another_system_is_tried_as_its_dialect_reads_it(
    assay, folder, monkeypatch
):
    from assay import Task

    (folder / "guest.py").write_text("import some_other_system\n")
    task = Task("guest", dataset=[{"question": "a?", "answer": "b"}])
    monkeypatch.setattr(
        "assay.registry.recognisers", lambda: iter([lambda reference, run: [task]])
    )

    said = assay("check", "guest.py")

    assert said.code == 0 and "task guest: 1 row," in said.out


def test_a_task_that_drives_the_model_itself_is_not_tried(assay, folder):
    (folder / "bench.py").write_text(
        "from assay import Task\nmine = Task('mine', dataset=[{'question': 'a?'}], driver=lambda engine: {'x': 1})\n"
    )

    assert "calls the model itself" in assay("check", "bench.py").out


@pytest.mark.parametrize(
    ("rows", "scorers", "says"),
    [
        (
            [{"question": "q", "answer": {"a": 1}}],
            "exact_match",
            "cannot score the target {'a': 1} of sample 0",
        ),
        (
            [{"question": "q", "answer": ""}],
            "includes",
            "includes cannot score the target ''",
        ),
        (
            [{"question": "q", "answer": "x"}] * 20 + [{"question": "q", "answer": {}}],
            "exact_match",
            "of sample 20",
        ),
        (
            [{"question": "q"}],
            "number",
            "sample 0 has no answer to compare with, and number needs one",
        ),
    ],
    ids=("structure", "empty", "a later row", "none"),
)
def test_a_target_that_cannot_be_scored_is_a_fault(assay, folder, rows, scorers, says):
    (folder / "bench.py").write_text(f"dataset = {rows!r}\nscorers = {scorers!r}\n")

    said = assay("check", "bench.py")

    assert said.code == 1 and says in said.err and "no fault found" not in said.out


def test_columns_that_nothing_uses_are_listed(assay, folder):
    row = '{"question": "q?", "answer": "x", "passage": "long ago", "body": "told", "level": 3, "note": "n"}\n'
    (folder / "read.jsonl").write_text(row)
    shows = "template: '{{ body | upper }} {{ question }}'"
    (folder / "read.yaml").write_text(f"dataset: read.jsonl\n{shows}\ntags: [level]\n")

    plain, shown = assay("check", "read.jsonl"), assay("check", "read.yaml")

    assert (
        "columns that nothing uses: passage, body, level, note; a template shows one as {{ passage }}"
        in plain.out
    )
    assert (
        "note: columns that nothing uses: passage, note;" in shown.out
        and plain.code == shown.code == 0
    )


def test_targets_that_are_all_one_are_worth_a_line(assay, folder):
    row = '{"question": "q%d?", "options": ["x", "y"], "answer": "A"}\n'
    (folder / "same.jsonl").write_text("".join(row % n for n in range(6)))

    checked, ran = (
        assay("check", "same.jsonl"),
        assay("run", "same.jsonl", "--model", "four.py", "-o", "run"),
    )

    assert (
        "note: all 6 samples have the target 'A': one answer to everything scores 1; --shuffle_choices"
        in checked.out
    )
    assert "same: all 6 samples have the target 'A'" in ran.out


def test_every_turn_of_a_dialogue_is_shown(assay, folder):
    (folder / "talk.jsonl").write_text(
        '{"turns": ["First?", "Second?", "Third?"], "answer": "x"}\n'
    )

    said = assay("check", "talk.jsonl")

    assert all(f"    {turn}?" in said.out for turn in ("First", "Second", "Third"))
    assert said.out.count("(the model's answer)") == 2


def test_columns_can_be_mapped_for_a_trial(assay, folder):
    (folder / "own.jsonl").write_text('{"q": "2+2?", "gold": "4"}\n')

    said = assay("check", "own.jsonl", "--columns", "input=q,target=gold")

    assert said.code == 0 and "2+2?" in said.out


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "def generate(text: str) -> str:\n    return '4'\n",
            "model m.py:generate: text → text",
        ),
        (
            "def generate(messages):\n    return '4'\n",
            "takes anything, since it declares nothing; what it makes",
        ),
        (
            "def generate(messages) -> str:\n    return '4'\n",
            "takes anything, since it declares nothing; makes text",
        ),
    ],
)
def test_what_a_function_does_not_say_of_itself_is_not_made_up(
    assay, folder, code, says
):
    (folder / "m.py").write_text(code)

    assert says in assay("check", "m.py:generate").out
