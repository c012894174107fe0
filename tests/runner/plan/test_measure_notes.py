"""How plain choices are measured, and which scorer or normalizer fits the targets."""

import json
import wave

import pytest

import assay
from assay.cli.main import main
from assay.core.spec import Spec

CHOICES = [
    {
        "id": str(n),
        "question": f"Question {n}?",
        "options": ["one", "two"],
        "answer": "B",
    }
    for n in range(4)
]


class Weighing:
    """Weighs the second option higher; writes nothing that can be read."""

    def generate(self, messages):
        return "well"

    def likelihood(self, requests):
        return [
            [
                -0.5 if text.strip() in ("B", "two") else -2.0
                for text in request.prompt.continuations
            ]
            for request in requests
        ]


def run(tmp_path, model, **settings):
    data = tmp_path / "mc.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in CHOICES))
    return assay.run(str(data), model=model, output=str(tmp_path / "run"), **settings)


def test_plain_choices_of_a_model_with_likelihoods_are_weighed(tmp_path):
    result = run(tmp_path, Weighing())

    assert result.value("choice_likelihood.acc") == 1.0
    assert result.results[0].protocol == "mc@letter_likelihood"
    assert any("measured by letter_likelihood" in note for note in result.notes)


def test_plain_choices_of_a_chat_model_are_asked_by_letter_and_a_note_says_so(tmp_path):
    from assay.models.scripted import Scripted

    result = run(tmp_path, Scripted("B", weighs=True))

    assert result.value("choice") == 1.0
    assert any(
        "has a chat template; --measure letter_likelihood" in note
        for note in result.notes
    )


def test_a_model_without_likelihoods_is_asked_by_letter_without_a_note(tmp_path):
    result = run(tmp_path, lambda messages: "B")

    assert result.value("choice") == 1.0
    assert not any("measure" in note for note in result.notes)


@pytest.mark.parametrize(
    "settings",
    [{"measure": "letter"}, {"scorers": ["choice"]}, {"epochs": 2}, {"template": "{{ question }} A or B?"}],
)  # fmt: skip
def test_what_the_run_says_decides(tmp_path, settings):
    result = run(tmp_path, Weighing(), **settings)

    assert result.results[0].metric == "choice"


def hf_model(tmp_path, template):
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    from assay.models.local_transformers.loading import Source

    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    settings = {"chat_template": template} if template else {}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    return Source(str(tmp_path)).has_chat_template()


def test_a_local_model_says_whether_it_has_a_chat_template(tmp_path):
    assert hf_model(tmp_path, "") is False
    assert hf_model(tmp_path, "{{ messages }}") is True


def test_a_gguf_file_says_whether_it_has_a_chat_template(tmp_path):
    from assay.models.gguf import holds_template

    base, chat = tmp_path / "base.gguf", tmp_path / "chat.gguf"
    base.write_bytes(b"GGUF" + b"x" * (1 << 20))
    # The key lies across the border of two chunks.
    chat.write_bytes(b"x" * ((1 << 20) - 5) + b"tokenizer.chat_template" + b"y" * 99)

    assert (holds_template(base), holds_template(chat)) == (False, True)


def write_rows(tmp_path, rows):
    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(data)


GSM = [
    {
        "question": f"{n} + 3?",
        "answer": f"{n} + 3 is <<{n}+3={n + 3}>>{n + 3}\n#### {n + 3}",
    }
    for n in range(5)
]


def test_gsm8k_targets_get_the_advice_to_read_the_number(tmp_path, capsys):
    data = write_rows(tmp_path, GSM)
    advice = "--scorer number reads the number"

    assert main(["check", data]) == 0
    assert advice in capsys.readouterr().out
    result = assay.run(data, model=lambda messages: "13", output=str(tmp_path / "a"))
    assert any(advice in note for note in result.notes)
    followed = assay.run(
        data,
        model=lambda m: f"The answer is {int(m[-1]['content'][0]) + 3}",
        scorers=["number"],
        output=str(tmp_path / "b"),
    )
    assert followed.value("number") == 1.0
    assert not any("####" in note for note in followed.notes)


@pytest.mark.parametrize(
    ("targets", "advice"),
    [
        (["12", "1,234", "$5.50"], "--scorer number compares their values"),
        (["$x=\\boxed{5}$.", "\\frac{1}{2}"], "--scorer math compares their values"),
        (["yes", "No"], "--scorer yes_no reads which of them is said"),
        (["A", "(C)"], "--scorer choice:letters=ABC reads the chosen letter"),
    ],
)
def test_targets_of_a_known_form_get_the_advice_to_use_its_scorer(
    tmp_path, capsys, targets, advice
):
    rows = [{"question": f"q{n}", "answer": text} for n, text in enumerate(targets)]
    data = write_rows(tmp_path, rows)

    assert main(["check", data]) == 0
    assert advice in capsys.readouterr().out
    main(["check", data, "--scorer", "exact_match"])
    assert advice not in capsys.readouterr().out


def test_targets_that_are_words_or_dates_get_no_advice(tmp_path, capsys):
    rows = [
        {"question": f"q{n}", "answer": text}
        for n, text in enumerate(["Paris", "2020-01-05"])
    ]
    data = write_rows(tmp_path, rows)

    main(["check", data])

    assert "--scorer" not in capsys.readouterr().out


def transcripts(tmp_path, text):
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(b"\0\1" * 1600)
    return write_rows(tmp_path, [{"audio": "a.wav", "transcript": text}] * 2)


def test_transcripts_with_case_and_punctuation_get_the_advice_to_normalize(
    tmp_path, capsys
):
    data = transcripts(tmp_path, "Mister Quilter is the apostle, he said.")

    assert main(["check", data]) == 0
    assert (
        "--scorer wer:normalize=whisper-en counts word errors"
        in capsys.readouterr().out
    )
    result = assay.run(
        data,
        model=lambda m: "mister quilter",
        scorers=["wer"],
        output=str(tmp_path / "a"),
    )
    assert any(
        "wer:normalize=whisper-en leaves them out" in note for note in result.notes
    )


def test_transcripts_without_marks_need_no_advice(tmp_path):
    data = transcripts(tmp_path, "mister quilter is the apostle")

    result = assay.run(
        data,
        model=lambda m: "mister quilter",
        scorers=["wer"],
        output=str(tmp_path / "a"),
    )

    assert not any("normalize" in note for note in result.notes)


@pytest.mark.parametrize(
    "typed",
    ["wer:normalize=seed-tts-en", '{"name": "wer", "normalize": "seed-tts-en"}'],
)
def test_a_scorers_options_can_be_typed(tmp_path, typed):
    data = write_rows(tmp_path, [{"question": "Say hello.", "answer": "Hello, you!"}])

    result = assay.run(
        data, model=lambda m: "hello you", scorers=[typed], output=str(tmp_path / "a")
    )

    assert result.results[0].metric.startswith("wer[seed-tts-en]")
    assert result.results[0].value == 0.0


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("wer", "wer", {}),
        ("mine.py:score", "mine.py:score", {}),
        ("mine.py:score:limit=3,word=a,b", "mine.py:score", {"limit": 3, "word": "a,b"}),
        ("regex:pattern=a=(b)", "regex", {"pattern": "a=(b)"}),
        ("judge:scale=1-10,rounds=all", "judge", {"scale": "1-10", "rounds": "all"}),
    ],
)  # fmt: skip
def test_specs_as_text(text, name, options):
    assert Spec.of(text) == Spec(name, options)


@pytest.mark.parametrize(
    ("row", "left_out"),
    [
        ({"question": "Who?", "context": "Bob did it."}, ["context"]),
        ({"question": "Who?", "passage": "Bob.", "story": "Al."}, ["passage", "story"]),
        ({"instruction": "Translate.", "input": "cat"}, ["instruction"]),
        ({"question": "Who?", "context": ""}, []),
        ({"question": "Bob did it. Who?", "context": "Bob did it."}, []),
        ({"question": "Who?", "level": "hard"}, []),
    ],
)
def test_a_note_names_columns_of_the_question_that_the_prompt_leaves_out(
    tmp_path, row, left_out
):
    rows = [{"id": "1", "answer": "Bob", **row}]
    task = assay.Task("t", dataset=rows)

    result = assay.run(task, lambda messages: "Bob", output=str(tmp_path / "run"))

    notes = [note for note in result.notes if "is not shown" in note]
    assert len(notes) == bool(left_out)
    assert all(", ".join(left_out) in note for note in notes)


@pytest.mark.parametrize(
    "names",
    [("option1", "option2"), ("sol1", "sol2"), ("Incorrect Answer 1", "choice_2")],
)
def test_a_note_names_numbered_options_that_the_prompt_leaves_out(tmp_path, names):
    row = {
        "id": "1",
        "question": "Who?",
        "answer": "Bob",
        names[0]: "Al",
        names[1]: "X",
    }
    task = assay.Task("t", dataset=[row])

    result = assay.run(task, lambda messages: "Bob", output=str(tmp_path / "run"))

    (note,) = [note for note in result.notes if "is not shown" in note]
    assert f"--columns 'choices={names[0]},{names[1]}'" in note


@pytest.mark.parametrize(("golds", "start"), [((1, 2), 1), ((1, 0), 0)])
def test_a_note_says_how_answers_count_numbered_options(tmp_path, golds, start):
    rows = [
        {"id": str(n), "question": "Who?", "option1": "Al", "option2": "X", "answer": n}
        for n in golds
    ]
    data = write_rows(tmp_path, rows)

    result = assay.run(
        str(data),
        model=lambda messages: "A",
        columns={"choices": "option1,option2"},
        output=str(tmp_path / "run"),
    )

    (note,) = [note for note in result.notes if "counts the options" in note]
    assert f"from {start} (1 is {['X', 'Al'][start]!r})" in note


def test_a_note_names_options_that_are_letters_of_other_options(tmp_path):
    row = {"id": "1", "question": "Type?", "options": ["O", "A", "AB"], "answer": "AB"}
    task = assay.Task("t", dataset=[row])

    result = assay.run(task, lambda messages: "C", output=str(tmp_path))

    assert result.value("choice") == 1.0
    assert any("'A' are letters themselves" in note for note in result.notes)


@pytest.mark.parametrize(
    ("row", "advice"),
    [
        ({"image_1": "a.png", "image_2": "b.png"}, "image=image_1,image_2"),
        ({"picture": "a.png"}, "image=picture"),
        ({"wav": "a.wav"}, "audio=wav"),
        ({"speech": "We shall fight on the beaches."}, None),
        ({"image_1": ""}, None),
    ],
)
def test_a_note_names_columns_of_media_that_are_not_sent(tmp_path, row, advice):
    task = assay.Task("t", dataset=[{"question": "Who?", "answer": "Bob", **row}])

    result = assay.run(task, lambda messages: "Bob", output=str(tmp_path / "run"))

    notes = [note for note in result.notes if "is not sent" in note]
    assert len(notes) == bool(advice)
    assert all(f"--columns '{advice}'" in note for note in notes)


def test_a_template_that_shows_the_context_needs_no_note(tmp_path):
    rows = [{"id": "1", "question": "Who?", "context": "Bob did it.", "answer": "Bob"}]
    task = assay.Task("t", dataset=rows, template="{{ context }}\n{{ question }}")

    result = assay.run(task, lambda messages: "Bob", output=str(tmp_path / "run"))

    assert not any("is not shown" in note for note in result.notes)


def test_options_that_name_files_are_noted_unless_the_files_are_sent(tmp_path, capsys):
    row = {"question": "Which is red?", "options": ["red.png", "b.png"], "answer": "A"}
    data = write_rows(tmp_path, [row])

    assert main(["check", data]) == 0
    assert "options such as 'red.png' are names of files" in capsys.readouterr().out
    plain = write_rows(tmp_path, [{**row, "options": ["red", "b"]}])
    assert main(["check", plain]) == 0
    assert "names of files" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scorer", "target", "advice"),
    [
        ("rouge", "Москва — столица", "rouge:words=cjk"),
        ("rouge", "北京 2019", "rouge:words=cjk"),
        ("bleu", "今天天气很好", "bleu:tokenize=zh"),
        ("bleu", "今日はいい天気です", "bleu:tokenize=ja-mecab"),
        ("f1", "今天天气很好", "f1:tokens=cjk"),
        ("bleu", "Москва — столица", None),
        ("rouge", "“Zürich” – œuvre 😀", None),
        ("rouge:words=cjk", "Москва — столица", None),
    ],
)
def test_a_note_names_the_option_for_targets_in_another_script(
    tmp_path, scorer, target, advice
):
    data = write_rows(tmp_path, [{"question": "?", "answer": target}])

    result = assay.run(
        str(data),
        model=lambda messages: target,
        scorer=scorer,
        output=str(tmp_path / "run"),
    )

    notes = [note for note in result.notes if "in another script" in note]
    assert [f"--scorer {advice} " in note for note in notes] == [True] * bool(advice)


@pytest.mark.parametrize("scorer", ["f1", "quasi_exact"])
def test_targets_without_words_are_scored_as_by_squad_and_noted(tmp_path, scorer):
    # compute_f1 and compute_exact of SQuAD's evaluate-v2.0.py: 1 if both have no words.
    data = write_rows(tmp_path, [{"question": "Article?", "answer": "The"}])

    def value(answer):
        folder = str(tmp_path / answer.strip("?"))
        return assay.run(
            str(data), model=lambda messages: answer, scorer=scorer, output=folder
        )

    assert value("an").value(scorer) == 1.0
    assert value("word").value(scorer) == 0.0
    assert any("'The' have no words" in note for note in value("the").notes)


@pytest.mark.parametrize(("limit", "noted"), [(3, True), (4, False), (None, False)])
def test_a_note_says_if_a_limit_takes_a_part_of_a_group(tmp_path, limit, noted):
    rows = [{"question": f"{n}?", "answer": "x", "pair": n // 2} for n in range(6)]
    data = write_rows(tmp_path, rows)

    result = assay.run(
        str(data),
        model=lambda messages: "x",
        columns={"group": "pair"},
        limit=limit,
        output=str(tmp_path / "run"),
    )

    notes = [note for note in result.notes if "values over groups" in note]
    assert len(notes) == noted
    assert all("--limit 3 takes only a part of 1 of 2 groups" in note for note in notes)
