"""Outputs that exist: a file of predictions is scored as a model's answers are."""

import json
import wave
from pathlib import Path

import pytest

import assay
from assay.core import UsageError
from assay.core.output import MISSING
from assay.predictions import Predictions

ROWS = [
    {"id": "a", "question": "2+2?", "answer": "4"},
    {"id": "b", "question": "2+3?", "answer": "5"},
    {"id": "c", "question": "2+2?", "answer": "4"},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("sums.jsonl", ROWS)
    return tmp_path


def write(name: str, rows: list) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def predict(name: str = "out.jsonl", **answers) -> str:
    write(name, [{"id": id, "prediction": answer} for id, answer in answers.items()])
    return f"predictions/{name}"


def run(model: str, **settings) -> assay.RunResult:
    return assay.run(
        "sums.jsonl", model, scorers=["exact_match"], output="run", **settings
    )


def journal() -> list[dict]:
    return [
        json.loads(line) for line in Path("run/records.jsonl").read_text().splitlines()
    ]


def answers() -> dict[str, str]:
    return {
        line["id"]: line["output"]["candidates"][0]["text"]
        for line in journal()
        if line["kind"] == "output" and line["output"].get("candidates")
    }


def test_predictions_are_scored_by_id_whatever_the_prompt():
    result = run(predict(a="4", b="6", c="5"))

    assert (result.status, result.results[0].value) == (
        "complete",
        pytest.approx(1 / 3),
    )
    assert answers() == {"a": "4", "b": "6", "c": "5"}, (
        "a and c have one prompt and two answers"
    )


def test_two_samples_with_one_prompt_keep_their_own_answers_when_a_run_continues():
    run(predict(a="4", b="5"), generation={"temperature": 0})

    run(predict(a="4", b="5", c="wrong"), generation={"temperature": 0})

    assert answers() == {"a": "4", "b": "5", "c": "wrong"}


@pytest.mark.parametrize(
    "name",
    ["out.jsonl", "out.csv", "out.tsv", "out.parquet", "out.json", "out.jsonl.gz"],
)
def test_every_format_of_data_is_read(name):
    import gzip

    import pyarrow
    import pyarrow.parquet

    rows = [{"id": row["id"], "prediction": row["answer"]} for row in ROWS]
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), name)
    elif name.endswith(".json"):
        Path(name).write_text(json.dumps(rows))
    elif name.endswith(".gz"):
        Path(name).write_bytes(
            gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
        )
    else:
        mark = "," if name.endswith(".csv") else "\t"
        lines = [mark.join(row.values()) for row in rows]
        Path(name).write_text(
            "\n".join([mark.join(("id", "prediction")), *lines]) + "\n"
        )
        if name == "out.jsonl":
            write(name, rows)

    assert run(f"predictions/{name}").results[0].value == 1


def test_missing_predictions_are_outcomes_and_both_sides_are_reported():
    rows = [{"id": f"q{n}", "question": f"{n}?", "answer": "x"} for n in range(40)]
    write("sums.jsonl", rows)

    result = run(predict(**{f"q{n}": "x" for n in range(20)}, other="x"))

    assert result.results[0].outcomes == {"scored": 20, "model_error": 20}, (
        "far over the error budget, and no fault"
    )
    assert result.results[0].value == 1
    assert (
        "sums: 20 of 40 samples without a prediction: 'q20', 'q21', 'q22', …"
        in result.notes
    )
    assert (
        "sums: 1 of 21 ids of the predictions belong to no sample: 'other'"
        in result.notes
    )
    assert (
        f"sums: 20 model_error; first: q20: {MISSING}: out.jsonl has no prediction for 'q20'"
        in result.notes
    )


def test_a_part_of_the_data_leaves_the_other_predictions_unmentioned():
    result = run(predict(a="4", b="5", c="4"), limit=1)

    assert result.notes == ()


def test_null_is_not_a_prediction_and_an_empty_text_is_one():
    result = run(predict(a=None, b="", c="4"))

    assert result.results[0].n == 2
    assert sum(result.results[0].outcomes[name] for name in ("model_error",)) == 1


def test_an_edited_file_asks_again_for_what_changed_and_for_nothing_else():
    run(predict(a="4", b="6", c="4"))
    before = len(journal())

    result = run(predict(a="4", b="5", c="4"))

    asked = [line["id"] for line in journal()[before:] if line["kind"] == "output"]
    assert (asked, result.results[0].value) == (["b"], 1)
    assert any("model changed: samples whose" in note for note in result.notes)


def test_repeats_of_an_id_are_its_epochs_in_the_order_of_the_file():
    rows = [("a", "4"), ("a", "5"), ("b", "5"), ("b", "5"), ("c", "1"), ("c", "4")]
    write("out.jsonl", [{"id": id, "prediction": answer} for id, answer in rows])

    with pytest.raises(
        UsageError,
        match="2 predictions for 'a', and each sample is asked once; fix: --epochs 2",
    ):
        run("predictions/out.jsonl")
    result = run("predictions/out.jsonl", epochs=2)

    assert result.results[0].value == pytest.approx((0.5 + 1 + 0.5) / 3)


def test_a_list_is_the_candidates_of_one_answer():
    result = run(predict(a=["4", "5"], b=["5", "5"], c=["1", "4"]))

    assert result.results[0].value == pytest.approx((0.5 + 1 + 0.5) / 3)


def test_numbers_and_objects_are_read_as_they_are_written():
    write("sums.jsonl", [*ROWS[:2], {"id": "c", "question": "?", "answer": '{"x":1}'}])

    result = run(predict(a=4, b=5, c={"x": 1}))

    assert result.results[0].value == 1


def test_other_columns_can_be_named():
    write("out.jsonl", [{"key": row["id"], "pred": row["answer"]} for row in ROWS])

    result = run(
        "predictions/out.jsonl", model_args={"id": "key", "prediction": "pred"}
    )

    assert result.results[0].value == 1


def test_rounds_of_a_dialogue_have_a_column_of_their_own():
    write("sums.jsonl", [{"id": "a", "turns": ["hello", "and then?"], "answer": "bye"}])
    write(
        "out.jsonl",
        [
            {"id": "a", "prediction": "hi", "round": 0},
            {"id": "a", "prediction": "bye", "round": 1},
        ],
    )

    assert run("predictions/out.jsonl").results[0].value == 1


def test_a_dialogue_without_rounds_in_the_file_says_what_is_missing():
    write("sums.jsonl", [{"id": "a", "turns": ["hello", "and then?"], "answer": "bye"}])

    result = run(predict(a="hi"))

    assert any(
        "has no answer of 'a' in round 1; fix: a column `round`" in note
        for note in result.notes
    )


def wav(path: Path, value: int = 0) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 8000, "NONE", ""))
        file.writeframes(value.to_bytes(2, "little") * 8000)


TALKS = """
dataset = [{"id": "a", "question": "Say one."}]
produces = ("audio",)

def score(sample, output):
    return float(len(output.media[0].data()))
"""


def test_media_are_named_by_paths_and_a_changed_file_is_asked_for_again(folder):
    Path("talk.py").write_text(TALKS)
    wav(folder / "one.wav")
    model = predict(a="one.wav")

    first = assay.run("talk.py", model, output="run")
    wav(folder / "one.wav", 5)
    second = assay.run("talk.py", model, output="run")

    assert (first.status, first.results[0].value) == ("complete", 16044)
    assert second.status == "complete"
    assert sum(line["kind"] == "output" for line in journal()) == 2


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("../one.wav", "the folder that holds it: -a media_root=DIR"),
        ("none.wav", "out.jsonl, row 1:"),
        ("https://example.com/one.wav", "the audio is a URL, which is not fetched"),
        ("text.wav", "out.jsonl, row 1:"),
    ],
)
def test_media_that_cannot_be_had_are_outcomes(folder, cell, said):
    inner = folder / "inner"
    inner.mkdir()
    Path("talk.py").write_text(TALKS)
    wav(folder / "one.wav")
    (inner / "text.wav").write_text("no audio at all")
    write("inner/out.jsonl", [{"id": "a", "prediction": cell}])

    result = assay.run("talk.py", "predictions/inner/out.jsonl", output="run")

    assert any(said in note for note in result.notes), result.notes


def test_media_root_names_the_folder_of_the_media(folder):
    (folder / "inner").mkdir()
    Path("talk.py").write_text(TALKS)
    wav(folder / "one.wav")
    write("inner/out.jsonl", [{"id": "a", "prediction": "one.wav"}])

    result = assay.run(
        "talk.py",
        "predictions/inner/out.jsonl",
        model_args={"media_root": "."},
        output="run",
    )

    assert result.status == "complete"


def test_text_and_media_are_in_separate_columns(folder):
    Path("talk.py").write_text(
        TALKS.replace('("audio",)', '("text", "audio")').replace(
            "len(output.media[0].data())",
            'output.text == "one" and len(output.media) == 1',
        )
    )
    wav(folder / "one.wav")
    write("out.jsonl", [{"id": "a", "prediction": "one", "audio": "one.wav"}])

    assert (
        assay.run("talk.py", "predictions/out.jsonl", output="run").results[0].value
        == 1
    )


def test_a_choice_task_that_would_weigh_its_options_is_asked_by_letter():
    options = {"options": ["2", "4"], "answer": "B"}
    write(
        "sums.jsonl",
        [
            {"id": "a", "question": "2+2?", **options},
            {"id": "b", "question": "1+3?", **options},
        ],
    )

    result = assay.run("sums.jsonl", predict(a="B", b="A"), output="run")

    assert result.results[0].value == 0.5


FAULTS = [
    (
        "out.csv",
        "id,pred\na,4\n",
        "out.csv:2: no column 'prediction'; fix: did you mean 'pred'? -a prediction=pred",
    ),
    (
        "out.csv",
        "x,prediction\na,4\n",
        "out.csv:2: no column 'id'; fix: -a id=COLUMN names it; columns: x, prediction",
    ),
    (
        "out.csv",
        "id,prediction\n1,4\n",
        "no id of the predictions is one of the task's samples: they have '1', ",
    ),
    ("out.csv", "", "out.csv: the file is empty; fix: write at least one row"),
    ("out.csv", "id,prediction\n", "out.csv: the file has no rows"),
    (
        "out.csv",
        "id,prediction\né,4\n".encode("latin-1"),
        "out.csv:2:id: byte 0xe9 is not UTF-8",
    ),
    ("out.jsonl", '{"id": "a"\n', "out.jsonl:1"),
    (
        "out.jsonl",
        '{"id": "a", "prediction": "x", "round": "one"}\n',
        "the round is not a whole number from 0",
    ),
    ("out.jsonl", '{"id": null, "prediction": "x"}\n', "out.jsonl:1:id"),
    ("out.txt", "a\t4\n", "cannot tell the format of out.txt"),
    ("gone.csv", None, "gone.csv: no predictions: no such file or folder"),
]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    FAULTS,
    ids=[f"{n}-{at}" for at, (n, _, _) in enumerate(FAULTS)],
)
def test_a_file_that_cannot_be_used_is_one_line(name, content, said):
    if content is not None:
        Path(name).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )

    with pytest.raises(assay.AssayError) as caught:
        run(f"predictions/{name}")

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not Path("run").exists(), "nothing was written"


def test_a_folder_is_not_a_file_of_predictions(folder):
    with pytest.raises(UsageError, match="a folder, not a file"):
        Predictions(str(folder))


def test_a_file_in_a_folder_called_predictions_is_found_by_its_path():
    Path("predictions").mkdir()
    write(
        "predictions/mine.jsonl",
        [{"id": row["id"], "prediction": row["answer"]} for row in ROWS],
    )

    assert run("predictions/mine.jsonl").results[0].value == 1


def test_a_file_next_to_the_folder_and_one_in_it_with_one_name_are_refused():
    Path("predictions").mkdir()
    write("both.jsonl", [{"id": row["id"], "prediction": "?"} for row in ROWS])
    write(
        "predictions/both.jsonl",
        [{"id": row["id"], "prediction": row["answer"]} for row in ROWS],
    )

    with pytest.raises(UsageError, match="there are two files of predictions"):
        run("predictions/both.jsonl")
    assert run("predictions/./both.jsonl").results[0].value == 0
    inner = run("predictions/./predictions/both.jsonl", fresh=True)
    assert inner.results[0].value == 1


def test_a_task_that_asks_by_calls_cannot_be_answered_by_ids():
    from assay.core import Task

    task = Task("driven", dataset=ROWS, driver=lambda *a, **k: None)

    with pytest.raises(
        UsageError, match="calls the model itself, without ids of samples"
    ):
        assay.run(task, predict(a="4"))


def test_two_files_are_compared_as_runs_are():
    from assay.comparison.comparing import compare_runs

    assay.run(
        "sums.jsonl",
        predict("old.jsonl", a="4", b="1", c="4"),
        output="old",
        scorers=["exact_match"],
    )
    assay.run(
        "sums.jsonl",
        predict("new.jsonl", a="4", b="5", c="4"),
        output="new",
        scorers=["exact_match"],
    )

    [row] = compare_runs("old", "new").rows

    assert row.paired is not None and (
        row.paired.wins,
        row.paired.losses,
        row.paired.n,
    ) == (1, 0, 3)


def test_cells_of_every_kind_are_read_or_counted_as_missing(folder):
    import pyarrow
    import pyarrow.parquet

    rows = [{"id": name, "question": name, "answer": "4"} for name in "abcdef"]
    write("sums.jsonl", rows)
    write(
        "lists.jsonl",
        [
            {"id": "a", "prediction": []},
            {"id": "b", "prediction": [None]},
            {"id": "c", "prediction": ["4", None]},
            {"id": "d", "prediction": 4.0},
        ],
    )
    lists = assay.run(
        "sums.jsonl", "predictions/lists.jsonl", output="lists", scorers=["exact_match"]
    )
    table = pyarrow.table(
        {
            "id": ["a", "b", "c"],
            "prediction": pyarrow.array([b"4", b"\xff", None], pyarrow.binary()),
        }
    )
    pyarrow.parquet.write_table(table, "bytes.parquet")
    packed = assay.run(
        "sums.jsonl",
        "predictions/bytes.parquet",
        output="bytes",
        scorers=["exact_match"],
    )

    assert (lists[0].n, lists[0].value) == (2, 0.5), (
        "c is right, d says 4.0; a and b have nothing"
    )
    assert (packed[0].n, packed[0].value) == (1, 1)
    assert any(
        "the prediction is bytes that are not UTF-8" in str(line)
        for line in journal_of("bytes")
    )


def journal_of(run: str) -> list[dict]:
    return [
        json.loads(line) for line in Path(run, "records.jsonl").read_text().splitlines()
    ]


def test_the_file_of_the_questions_may_hold_the_predictions_too():
    write("sums.jsonl", [{**row, "prediction": row["answer"]} for row in ROWS])

    assert run("predictions/sums.jsonl").results[0].value == 1


def test_a_chat_message_is_its_content():
    message = {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}
    pieces = [{"type": "text", "text": "<think>9?</think>5"}]
    question = {"role": "user", "content": "2+2?"}

    result = run(
        predict(
            a=message,
            b=[question, {"role": "assistant", "content": pieces}],
            c=[message, {"role": "assistant", "content": "5"}],
        )
    )

    assert result.results[0].value == pytest.approx((1 + 1 + 0.5) / 3)
    assert any("3 answers" in note and "had reasoning" in note for note in result.notes)


def test_only_messages_of_the_model_are_read_as_messages():
    question = {"role": "user", "content": "4"}
    write("sums.jsonl", [{**ROWS[0], "answer": '{"role":"user","content":"4"}'}])

    assert run(predict(a=question)).results[0].value == 1.0
