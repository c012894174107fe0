"""Dialogues: every rule of who hears, says and remembers what, proved by a model that echoes what it is given."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from assay.dialects.televal.televal_command import CommandLine, execute
from assay.runner.events import Silent
from assay.runner.options import RunOptions
from assay.runner.run import run, score

TEMPLATE = """{
  "nrounds": {{ nrounds }},
  "dialogue": [
    {% for i in range(1, nrounds + 1) %}
    {"role": "A", "round": "{{ i }}", "content": {
       "audio": {{ getvar("user_audio" ~ i) | tojson }}, "text": {{ getvar("user_text" ~ i) | tojson }}, "mood": "calm"
    }},
    {"role": "B", "round": "{{ i }}", "content": {"audio": {{ getvar("bot_audio" ~ i) | tojson }}, "text":
       {% if loop.last and answer is not none %}{{ answer | tojson }}
       {% else %}{{ getvar("bot_text" ~ i) | tojson }}{% endif %}
    }}
    {% if not loop.last %},{% endif %}
    {% endfor %}
  ]
}"""
MODEL = """
    def __init__(self, path=""):
        self.calls = open(path, "a")

    def generate_multiturn(self, audio, user_history, assistant_history, **kwargs):
        call = {"audio": audio, "users": list(user_history), "said": list(assistant_history), **kwargs}
        self.calls.write(json.dumps(call, default=repr) + "\\n")
        self.calls.flush()
        answer = {"pred": f"reply to {kwargs['user_query']}"}
        if RETURNS:
            answer.update({name: value(kwargs) for name, value in RETURNS.items()})
        return answer

RETURNS = {}
"""


@pytest.fixture
def talk(project):
    """Two dialogues of two rounds; the model writes down what it is told."""
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": TEMPLATE}
    )
    project.change("model", "echo", path=str(project.root / "calls.jsonl"))
    project.model(MODEL)
    rows = []
    for key in ("d1", "d2"):
        row = {"key": key, "nrounds": 2, "answer": None}
        for n in (1, 2):
            sound = project.wav(
                f"data/{key}_u{n}.wav", seconds=0.05 * n + (0.01 if key == "d2" else 0)
            )
            row |= {
                f"user_audio{n}": str(sound),
                f"user_text{n}": f"{key} asks {n}",
                f"bot_text{n}": f"{key} says {n}",
            }
            row[f"bot_audio{n}"] = None
        rows.append(row)
    project.rows(*rows)
    project.paths = {
        k: str((project.root / f"data/{k}.wav").resolve())
        for k in ("d1_u1", "d1_u2", "d2_u1", "d2_u2")
    }
    return project


def returns(project, text):
    file = project.root / "src/models/echo.py"
    file.write_text(file.read_text().replace("RETURNS = {}", f"RETURNS = {text}"))


def calls(project):
    return project.lines("calls.jsonl")


def test_each_round_hears_its_sound_with_the_models_own_history(talk):
    talk.run("task")

    first, second, third, _ = calls(talk)
    assert (first["audio"], first["users"], first["said"]) == (
        talk.paths["d1_u1"],
        [],
        [],
    )
    assert (first["user_query"], first["user_query_history"], first["instruct"]) == (
        "d1 asks 1",
        [],
        "",
    )
    assert (second["audio"], second["users"]) == (
        talk.paths["d1_u2"],
        [talk.paths["d1_u1"]],
    )
    assert second["said"] == ["reply to d1 asks 1"]
    assert second["user_query_history"] == ["d1 asks 1"]
    assert third["users"] == []


def test_a_dialogue_ends_before_the_next_begins(talk):
    talk.run("task")

    assert [call["user_query"] for call in calls(talk)] == [
        "d1 asks 1",
        "d1 asks 2",
        "d2 asks 1",
        "d2 asks 2",
    ]


def test_every_round_is_a_record_of_the_run_and_a_line_of_the_predictions(talk):
    talk.televal("infer")

    lines = talk.lines("save/prediction/echo/task.jsonl")
    assert [(line["key"], line["nround"], line["rounds"]) for line in lines] == [
        ("d1", 1, 2),
        ("d1", 2, 2),
        ("d2", 1, 2),
        ("d2", 2, 2),
    ]
    assert (lines[1]["query"], lines[1]["ref"], lines[1]["pred"]) == (
        "d1 asks 2",
        "d1 says 2",
        "reply to d1 asks 2",
    )
    assert lines[0]["history"] == []
    assert lines[1]["history"][0] == {
        "user": "d1 asks 1",
        "bot": "reply to d1 asks 1",
        "pred_audio": None,
        "user_meta_info": {"mood": "calm"},
        "bot_meta_info": None,
    }
    assert lines[1]["current_user_meta"] == {"mood": "calm"}
    assert [
        record.get("round", 0) for record in talk.records("save/run/echo/task")
    ] == [0, 1, 0, 1]


def test_without_model_history_the_reference_answers_are_the_history(talk):
    talk.change("infer_task", "task", use_model_history=False)

    talk.run("task")

    assert calls(talk)[1]["said"] == ["d1 says 1"]
    prompt = next(r for r in talk.records() if r.get("round") == 1)["prompt"]
    assert [turn["content"] for turn in prompt if turn["role"] == "assistant"] == [
        "d1 says 1"
    ]


@pytest.fixture
def swapped(talk):
    """The second speaker is the user."""
    rows = talk.lines("data/rows.jsonl")
    for row in rows:
        for n in (1, 2):
            row[f"bot_audio{n}"] = row[f"user_audio{n}"]
    talk.rows(*rows)
    talk.change("infer_task", "task", reverse_spkr=True)
    return talk


def test_reverse_spkr_swaps_the_speakers_and_the_reference_is_what_was_said_next(
    swapped,
):
    swapped.televal("infer")

    assert [call["user_query"] for call in calls(swapped)] == ["d1 says 1", "d2 says 1"]
    line = swapped.lines("save/prediction/echo/task.jsonl")[0]
    assert (line["query"], line["ref"], line["rounds"]) == ("d1 says 1", "d1 asks 2", 1)
    assert (line["current_user_meta"], line["current_bot_meta"]) == (
        None,
        {"mood": "calm"},
    )


def test_upstream_pairs_reversed_speakers_with_what_was_said_before_and_leaves_the_rest_in_place(
    swapped,
):
    given = CommandLine(
        "infer",
        "task",
        f"{swapped.registry}@upstream",
        save_dir=str(swapped.root / "save"),
        model=None,
    )

    execute(given, RunOptions(), Silent())

    assert [call["user_query"] for call in calls(swapped)][:2] == [
        "d1 says 1",
        "d1 says 2",
    ]
    first, second = swapped.lines("save/prediction/echo/data.jsonl")[:2]
    assert (first["query"], first["ref"]) == ("d1 says 1", "d1 asks 1")
    assert (second["query"], second["ref"], second["rounds"]) == (
        "d1 says 2",
        "d1 asks 2",
        2,
    )
    assert (first["current_user_meta"], first["current_bot_meta"]) == (
        {"mood": "calm"},
        None,
    )


def test_upstream_is_a_protocol_of_its_own_and_is_found_again(swapped):
    result = run(f"{swapped.registry}@upstream", output=str(swapped.root / "out"))
    again = score(swapped.root / "out")
    plain = swapped.run("task", output="plain")

    assert {row.protocol for row in (*result.results, *again.results)} == {
        "task@upstream"
    }
    assert (result.results[0].value, again.results[0].n) == (
        again.results[0].value,
        result.results[0].n,
    )
    assert (
        plain.results[0].protocol,
        plain.results[0].n_expected,
        result.results[0].n_expected,
    ) == ("task", 2, 4)


def test_a_reversed_dialogue_without_a_reply_is_a_fault_of_its_row(swapped):
    rows = swapped.lines("data/rows.jsonl")
    swapped.rows({**rows[0], "nrounds": 1}, rows[1])

    result = swapped.run("task", on_error="continue")

    assert result.results[0].outcomes["data_error"] == 1
    assert any("the first of which speaks again" in note for note in result.notes)


def test_save_latest_only_keeps_and_judges_the_last_round(talk):
    talk.change("infer_task", "task", save_latest_only=True)

    talk.televal("infer")
    result = talk.run("task")

    assert [
        line["nround"] for line in talk.lines("save/prediction/echo/task.jsonl")
    ] == [2, 2]
    assert result.results[0].n == 2


def test_his_takes_the_place_of_the_answer_in_the_history(talk):
    returns(talk, "{'his': lambda kwargs: ['tokens of', kwargs['user_query']]}")

    talk.televal("infer")

    assert calls(talk)[1]["said"] == [["tokens of", "d1 asks 1"]]
    line = talk.lines("save/prediction/echo/task.jsonl")[1]
    assert line["history"][0]["bot"] == "reply to d1 asks 1"
    assert "his" not in line


def test_cache_goes_to_the_next_round_of_the_same_dialogue_and_is_never_saved(talk):
    returns(
        talk,
        "{'cache': lambda kwargs: {'seen': (kwargs.get('cache') or {'seen': 0})['seen'] + 1, 'live': object()}}",
    )

    talk.televal("infer")

    given = [call.get("cache") for call in calls(talk)]
    assert given[0] is None and given[2] is None
    assert given[1]["seen"] == 1
    assert "cache" not in json.dumps(talk.lines("save/prediction/echo/task.jsonl"))


SPEAKS = """{'pred_audio': lambda kwargs: spoken(kwargs['pred_audio'])}

def spoken(path):
    import wave
    spoken.times = getattr(spoken, "times", 0) + 1
    with wave.open(path, "wb") as sound:
        sound.setnchannels(1); sound.setsampwidth(2); sound.setframerate(16000)
        sound.writeframes(b"\\x01\\x00" * 800 * spoken.times)
    return path
"""


@pytest.mark.parametrize("era", ["newest", "seed"])
def test_the_sound_a_model_made_is_kept_by_round_and_handed_to_the_next(talk, era):
    returns(talk, SPEAKS)
    talk.change("infer_task", "task", save_pred_audio=True)

    talk.televal("infer", era=era)

    made = [
        str(talk.root / f"save/prediction/echo/task/d1_pred_round{n}.wav")
        for n in (1, 2)
    ]
    lines = talk.lines("save/prediction/echo/task.jsonl")
    assert [line["pred_audio"] for line in lines[:2]] == made
    handed = [call.get("assistant_his_audio", "absent") for call in calls(talk)[:2]]
    digests = [sha(path) for path in made]
    assert digests[0] != digests[1]
    if era == "newest":
        assert handed[0] == [] and [sha(path) for path in handed[1]] == digests[:1]
    else:
        assert handed[0] == "absent" and sha(handed[1]) == digests[0]


def sha(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_the_newest_shape_hands_over_all_sounds_of_the_assistant_the_seed_shape_the_last(
    talk,
):
    returns(talk, "{'pred_audio': lambda kwargs: kwargs.get('pred_audio')}")
    talk.televal("infer", era="newest")
    newest = [call.get("assistant_his_audio", "absent") for call in calls(talk)]
    (talk.root / "calls.jsonl").write_text("")

    shutil.rmtree(talk.root / "save")
    talk.televal("infer", era="seed")
    seed = [call.get("assistant_his_audio", "absent") for call in calls(talk)]

    assert newest[:2] == [[], [None]]
    assert seed[:2] == ["absent", None]
    assert talk.lines("save/prediction/echo/task.jsonl")[1]["history"] == [
        "d1 asks 1",
        "reply to d1 asks 1",
    ]


def test_a_tree_of_the_seed_era_is_known_by_its_datasets(talk):
    talk.change("dataset", "data", is_local=True)

    talk.run("task")

    assert "assistant_his_audio" not in calls(talk)[0]


def test_each_round_is_judged_and_the_dialogue_is_the_unit_of_the_interval(talk):
    evaluator = "class Contains:\n    def evaluate(self, preds, refs, infos):\n        return [{'key': i['key'], 'score': i['nround'] - 1} for i in infos]\n"  # noqa: E501
    talk.write("src/evaluator/contains.py", evaluator)

    (row,) = talk.run("task").results

    assert (row.value, row.n, row.clusters) == (0.5, 4, 2)
    assert row.details["statistic"] == {"score": "AVG: 50.00%"}


def test_both_stages_and_one_run_give_the_same_summary(talk):
    talk.rows(
        *(
            {**row, "bot_text1": row["user_text1"]}
            for row in talk.lines("data/rows.jsonl")
        )
    )
    together = talk.run("task").results[0]

    talk.televal("infer")
    apart, _ = talk.televal("eval")

    assert apart.results[0].value == together.value == 0.5
    assert apart.results[0].details["statistic"] == together.details["statistic"]


def test_references_that_must_all_be_there_survive_the_template_of_a_dialogue(talk):
    talk.rows(
        {
            **talk.lines("data/rows.jsonl")[0],
            "answer": {"__tuple__": True, "items": ["reply", "asks"]},
        }
    )
    talk.entry("evaluator", "contains", "src.evaluator.base.ExistMatch", {})

    talk.change("infer_task", "task", save_latest_only=True)
    result = talk.run("task")

    assert result.results[0].value == 1.0


def test_a_dialogue_cut_by_a_failure_is_asked_again_from_its_beginning(talk):
    file = talk.root / "src/models/echo.py"
    good = file.read_text()
    file.write_text(
        good.replace(
            "answer = {",
            "assert kwargs['user_query'] != 'd2 asks 2', 'broken'\n        answer = {",
        )
    )
    talk.run("task", on_error="continue")
    (talk.root / "calls.jsonl").write_text("")

    file.write_text(good + "\n# mended\n")
    result = talk.run("task")

    assert result.status == "complete"
    assert [call["user_query"] for call in calls(talk)][-2:] == [
        "d2 asks 1",
        "d2 asks 2",
    ]


def test_a_model_without_generate_multiturn_fails_each_dialogue(talk):
    talk.model(
        "    def __init__(self, path=''):\n        pass\n\n    def generate_once(self, audio, **kwargs):\n        return {'pred': 'x'}\n"  # noqa: E501
    )

    result = talk.run("task", on_error="continue")

    assert result.status == "failed"
    assert any("generate_multiturn" in note for note in result.notes)
