"""The protocol id is a function of what was done: equal ids, equal prompts, keys and scoring."""

import json
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.cli.main import main
from assay.core import DEFAULT_OPTIONS, KeyMaker, Message, Prompt, Sample, Task
from assay.runner.options import RunOptions
from assay.runner.plan.planning import make_plan

ROWS = [
    {
        "id": str(n),
        "question": f"What is {n} + {n}?",
        "right": str(2 * n),
        "answer": str(2 * n),
        "topic": "sums",
    }
    for n in range(6)
]
OWN = Task(
    "sums",
    dataset=ROWS,
    template="{{ question }}",
    scorers=("exact_match",),
    options={"temperature": 0.0, "max_tokens": 16},
    system="Be brief.",
    epochs=2,
    protocol="sums@0shot-own",
)


def planned(task=OWN, **changes):
    options = RunOptions.from_plain(
        {"models": ["scripted"], **changes}, where="test"
    ).but(tasks=(task,))
    (cell,) = make_plan(options)
    return cell


def protocol(task=OWN, **changes):
    return planned(task, **changes).task.protocol


def measurement(cell):
    """All that a number is made of: what is asked, under which key, how often, and who judges it how."""
    keys = KeyMaker({})
    prompts = [
        (
            sample.target,
            keys.key_of(cell.template(sample), cell.options, cell.options.seed),
        )
        for sample in islice(cell.view(), 6)
        if isinstance(sample, Sample)
    ]
    scorers = [(scoring.name, scoring.digest) for scoring in cell.scorings]
    return prompts, cell.task.epochs, cell.task.reducer, scorers


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "num_fewshot": st.sampled_from([0, 1, 2]),
        "template": st.sampled_from(["{{ question }}", "Q: {{ question }}"]),
        "system": st.sampled_from(["", "Be brief.", "Answer in French."]),
        "epochs": st.sampled_from([1, 2, 3]),
        "reducer": st.sampled_from(["mean", "max"]),
        "seed": st.sampled_from([0, 1]),
        "apply_chat_template": st.sampled_from([True, False]),
        "fewshot_as_multiturn": st.sampled_from([True, False]),
        "columns": st.sampled_from([{"target": "right"}, {"target": "answer"}]),
        "scorers": st.sampled_from(
            [["exact_match"], ["includes"], ["exact_match", "includes"]]
        ),
        "generation": st.fixed_dictionaries(
            {},
            optional={
                "temperature": st.sampled_from([0, 0.0, 0.5]),
                "max_tokens": st.sampled_from([16, 32]),
                "top_p": st.sampled_from([0.5, 1.0]),
                "stop": st.sampled_from([["\n"], ["Q:"]]),
                "n": st.sampled_from([1, 2]),
            },
        ),
    },
)


@given(one=SETTINGS, other=SETTINGS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_equal_ids_mean_equal_measurements_and_the_other_way_round(one, other):
    first, second = planned(**one), planned(**other)
    # Two columns that hold the same answers give the same numbers and are named apart all the same.
    named = [cell.samples.head.columns.target for cell in (first, second)]

    is_same = measurement(first) == measurement(second) and named[0] == named[1]

    assert (first.task.protocol == second.task.protocol) == is_same


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "sums@0shot-own"),
        (
            {"num_fewshot": 0, "system": "Be brief.", "epochs": 2, "limit": 3},
            "sums@0shot-own",
        ),
        (
            {"shuffle": True, "ids": ["1", "2"], "tags": ["topic"], "shard": "1/2"},
            "sums@0shot-own",
        ),
        (
            {"batch_size": 4, "generation": {"temperature": 0, "max_tokens": 16}},
            "sums@0shot-own",
        ),
        ({"num_fewshot": 2}, "sums@2shot-own+shots_from_evaluated_data-"),
        ({"system": "Answer in French"}, "sums@0shot-own+system-"),
        ({"system": ""}, "sums@0shot-own+no_system-"),
        ({"template": "{{ question }} ??"}, "sums@0shot-own+template-"),
        (
            {"generation": {"max_tokens": 64, "stop": ["x"]}},
            "sums@0shot-own+max_tokens=64+stop-",
        ),
        (
            {"epochs": 3, "reducer": "majority"},
            "sums@0shot-own+epochs=3+reducer=majority-",
        ),
        ({"columns": {"target": "right"}}, "sums@0shot-own+columns-"),
        ({"columns": {"target": "answer"}}, "sums@0shot-own"),
        ({"scorers": ["includes"]}, "sums@0shot-own+scorer=includes-"),
        (
            {"apply_chat_template": True, "fewshot_as_multiturn": False},
            "sums@0shot-own",
        ),
        ({"apply_chat_template": False}, "sums@0shot-own+no_chat-"),
        (
            {"num_fewshot": 2, "fewshot_as_multiturn": False},
            "sums@2shot-own+shots+shots_from_evaluated_data-",
        ),
        ({"predict_only": True}, "sums@0shot-own+scorer=answered-"),
    ],
    ids=str,
)
def test_the_id_contains_differences_from_the_task(changes, expected):
    name = protocol(**changes)

    head, dash, digest = (
        name.rpartition("-") if expected.endswith("-") else (name, "", "")
    )
    assert head + dash == expected and len(digest) in (0, 6)


def test_the_same_words_for_two_texts_have_two_digests():
    names = {protocol(system=text) for text in ("Be kind.", "Be rude.")}

    assert len(names) == 2 and all(
        name.startswith("sums@0shot-own+system-") for name in names
    )


def test_an_id_without_a_protocol_gets_one():
    assert protocol(Task("plain", dataset=ROWS), system="Be brief.").startswith(
        "plain@system-"
    )


def test_an_empty_system_text_takes_the_tasks_own_away():
    cell = planned(system="")

    assert [
        message.role for message in cell.template(cell.first_sample()).messages
    ] == ["user"]


def test_a_system_text_that_no_prompt_shows_is_reported_and_not_in_the_id():
    own = OWN.but(
        template=[
            {"role": "system", "content": "Mine."},
            {"role": "user", "content": "{{ question }}"},
        ]
    )

    cell = planned(own, system="Yours.")

    assert cell.task.protocol == "sums@0shot-own"
    assert any("--system is not shown" in note for note in cell.notes())


def test_an_option_that_overrides_those_of_prompts_is_in_the_id():
    def warm(sample):
        return Prompt(
            (Message.of("user", sample.input),),
            options=DEFAULT_OPTIONS.set(temperature=0.9),
        )

    own = OWN.but(template=warm)

    assert protocol(own) == "sums@0shot-own"
    assert protocol(own, generation={"temperature": 0.0}).startswith(
        "sums@0shot-own+temperature=0-"
    )


def test_two_files_of_shots_have_two_ids(tmp_path):
    for name, answer in (("one", "1"), ("two", "2")):
        (tmp_path / f"{name}.jsonl").write_text(
            json.dumps({"question": "1 * 1?", "answer": answer}) + "\n"
        )

    names = [
        protocol(num_fewshot=1, fewshot_data=str(tmp_path / f"{name}.jsonl"))
        for name in ("one", "two")
    ]

    assert (
        names[0].startswith("sums@1shot-own+shots=one.jsonl-") and names[0] != names[1]
    )


def test_the_number_of_shots_behind_a_bar_is_named():
    assert protocol("gsm8k|0", data="mini").startswith("gsm8k@0shot-chat+mini-")


def test_shots_that_fall_back_on_the_test_file_are_reported(
    tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "gsm8k"
    folder.mkdir()
    rows = [
        {"question": f"What is {n} + 1?", "answer": f"It is {n + 1}.\n#### {n + 1}"}
        for n in range(8)
    ]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)

    def run(output):
        return assay.run(
            "gsm8k",
            "scripted",
            model_args={"answers": "4"},
            data=str(tmp_path),
            output=output,
        )

    alone = run("alone")
    (folder / "train.jsonl").write_text(
        (folder / "test.jsonl").read_text().replace("What is", "How much is")
    )
    beside = run("beside")

    assert alone.results[0].protocol.startswith(
        "gsm8k@5shot-chat+shots_from_evaluated_data-"
    )
    assert any(
        "the 5 shots are drawn from the evaluated samples" in note
        for note in alone.notes
    )
    assert {r.protocol for r in beside.results} == {
        "gsm8k@5shot-chat"
    } and not beside.notes


def test_shots_from_the_same_rows_are_known_by_whatever_name(tmp_path):
    rows = [{**row, "split": "train" if int(row["id"]) < 3 else "test"} for row in ROWS]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    path = str(tmp_path / "rows.jsonl")

    def is_named(task, **changes):
        return "shots_from_evaluated_data" in protocol(task, **changes)

    assert is_named(Task("t", dataset=rows, fewshot={"num": 1, "source": rows}))
    assert is_named(Task("t", dataset=path, fewshot={"num": 1, "source": path}))
    assert is_named(Task("t", dataset=path, fewshot={"num": 1, "split": "train"}))
    assert not is_named(
        Task("t", dataset=path, fewshot={"num": 1, "split": "train"}), split="test"
    )
    assert not is_named(
        Task(
            "t",
            dataset=rows,
            fewshot={"num": 1, "source": [dict(rows[0], question="1 * 1?")]},
        )
    )


def test_the_id_is_the_same_in_table_json_summary_and_export(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    command = [
        "run",
        "sums.jsonl",
        "--model",
        "scripted",
        "-a",
        "answers=4",
        "--system",
        "Be brief.",
        "-o",
        "run",
    ]

    main(command)
    table = capsys.readouterr().out
    main([*command, "--json"])
    document = json.loads(capsys.readouterr().out)
    main(["export", "run", "--to", "lm-eval-json", "-o", "out.json"])
    main(["export", "run", "--to", "csv", "-o", "out.csv"])

    (name,) = {row["protocol"] for row in document["results"]}
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    exported = [(tmp_path / file).read_text() for file in ("out.json", "out.csv")]
    assert name.startswith("sums@system-")
    assert name in table and {row["protocol"] for row in summary["results"]} == {name}
    assert all(name in text for text in exported)


def test_scoring_again_has_the_id_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    first = assay.run(
        "sums.jsonl",
        "scripted",
        model_args={"answers": "4"},
        system="Be brief.",
        output="run",
    )

    again = assay.score("run")

    assert [r.protocol for r in again.results] == [r.protocol for r in first.results]
