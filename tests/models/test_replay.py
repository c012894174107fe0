"""Answers from an earlier run."""

import hashlib
import json
from zlib import crc32

import pytest

from assay.core import (
    Image,
    Likelihood,
    Message,
    Output,
    Prompt,
    Request,
    StoreError,
    UsageError,
)
from assay.core.record import output_to_plain, prompt_to_plain
from assay.models import build_model


def ask(text: str, **more) -> Request:
    return Request(Prompt((Message.of("user", text),)), **more)


def record(request: Request, output: Output, **more) -> str:
    line = {
        "kind": "output",
        "task": "t",
        "model": "m",
        "id": request.id,
        "key": request.key,
        "epoch": request.repeat,
        "prompt": prompt_to_plain(request.prompt),
        "output": output_to_plain(output),
        **more,
    }
    body = json.dumps(line)
    return f'{body[:-1]},"crc":"{crc32(body.encode()):08x}"}}\n'


def run_folder(folder, *lines: str):
    (folder / "records.jsonl").write_text("".join(lines))
    return build_model(f"replay/{folder}")


def test_an_answer_is_found_by_its_key(tmp_path):
    model = run_folder(
        tmp_path,
        record(ask("q", key="k1", id="a"), Output.of("one")),
        '{"kind":"score","id":"a","values":{"x":1}}\n',
        record(ask("q", key="k2", id="b"), Output.of("two", stop_reason="stop")),
    )

    [output] = model.generate([ask("anything", key="k2", id="z")])

    assert (output.text, output.stop_reason) == ("two", "stop")


def test_without_its_key_an_answer_is_found_by_sample_and_repeat(tmp_path):
    model = run_folder(
        tmp_path,
        record(ask("q", key="k1", id="a"), Output.of("first")),
        record(ask("q", key="k2", id="a", repeat=1), Output.of("second")),
    )

    outputs = model.generate([ask("q", key="new", id="a", repeat=1), ask("q", id="a")])

    assert [output.text for output in outputs] == ["second", "first"]


def test_of_two_tasks_with_the_same_ids_the_one_with_the_same_prompt_answers(tmp_path):
    model = run_folder(
        tmp_path,
        record(ask("2+2?", key="k1", id="0"), Output.of("4"), task="sums"),
        record(ask("capital?", key="k2", id="0"), Output.of("Rome"), task="cities"),
    )

    outputs = model.generate([ask("2+2?", id="0"), ask("capital?", id="0")])

    assert [output.text for output in outputs] == ["4", "Rome"]


def test_a_prompt_never_asked_is_one_clear_error_and_hurts_no_neighbour(tmp_path):
    model = run_folder(tmp_path, record(ask("q", key="k1", id="a"), Output.of("one")))

    known, other, unknown = model.generate(
        [ask("q", id="a"), ask("changed", id="a"), ask("q", id="b")]
    )

    assert known.text == "one"
    assert (
        "sample 'a' was asked something else in that run; fix: give the model"
        in other.error.message
    )
    assert "sample 'b' was never asked in that run" in unknown.error.message
    assert (unknown.error.kind, unknown.error.retryable) == ("not_recorded", False)


def test_an_answer_counts_more_than_a_failure_before_or_after_it(tmp_path):
    request = ask("q", key="k", id="a")
    failed = record(request, Output.failed("timeout", "slow"))
    good = record(request, Output.of("fine"))

    model = run_folder(tmp_path, failed, good, failed)

    assert [output.text for output in model.generate([request, ask("q", id="a")])] == [
        "fine",
        "fine",
    ]


def test_likelihoods_are_replayed(tmp_path):
    request = Request(
        Prompt((Message.of("user", "q"),), continuations=("x", "y")), id="a"
    )
    weighed = Output(
        likelihoods=(Likelihood(-1.0, True, 1), Likelihood(-2.0, False, 1))
    )
    model = run_folder(tmp_path, record(request, weighed, continuations=["x", "y"]))

    [output] = model.likelihood([request])

    assert [entry.logprob for entry in output.likelihoods] == [-1.0, -2.0]


def test_media_are_taken_from_the_run_folder(tmp_path):
    data = b"\x89PNG\r\n\x1a\n...."
    digest = hashlib.sha256(data).hexdigest()
    file = tmp_path / "media" / digest[:2] / f"{digest}.png"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    model = run_folder(tmp_path, record(ask("draw", key="k"), Output.of(Image(data))))

    [output] = model.generate([ask("draw", key="k")])

    assert output.media == (Image(data),)


def test_only_the_named_models_answers_are_used(tmp_path):
    (tmp_path / "records.jsonl").write_text(
        record(ask("q", id="a", key="k1"), Output.of("of m"))
        + record(ask("q", id="a", key="k2"), Output.of("of n"), model="n")
    )

    model = build_model("replay", {"run": str(tmp_path), "model": "n"})

    assert model.generate([ask("q", id="a")])[0].text == "of n"


def test_a_run_of_two_models_is_refused_until_one_is_named(tmp_path):
    model = run_folder(
        tmp_path,
        record(ask("q", id="a", key="k1"), Output.of("of m")),
        record(ask("q", id="a", key="k2"), Output.of("of n"), model="n"),
    )

    with pytest.raises(
        UsageError, match=r"the run asked 2 models; fix: .* -a model=NAME, one of m, n$"
    ):
        model.load()


def test_a_model_that_the_run_did_not_ask_is_refused_with_those_it_asked(tmp_path):
    (tmp_path / "records.jsonl").write_text(
        record(ask("q", id="a", key="k1"), Output.of("of m"))
    )

    with pytest.raises(
        UsageError, match=r"the run asked no model 'o'; fix: .*one of m$"
    ):
        build_model("replay", {"run": str(tmp_path), "model": "o"}).load()


def test_a_judge_does_not_count_as_a_second_model(tmp_path):
    model = run_folder(
        tmp_path,
        record(ask("q", id="a", key="k1"), Output.of("of m")),
        record(ask("grade q", key="k2"), Output.of("5"), model="j", task="t#judge"),
    )

    outputs = model.generate([ask("q", id="a"), ask("grade q")])

    assert [output.text for output in outputs] == ["of m", "5"]


@pytest.mark.parametrize(
    "more", [(), ("t#2",)], ids=["alone", "beside the task it is named after"]
)
def test_a_mark_in_the_name_of_a_task_makes_no_judge_of_its_models(tmp_path, more):
    lines = [
        record(ask("q", id="a", key="k1"), Output.of("of m"), task="t#2"),
        record(ask("q", id="a", key="k2"), Output.of("of n"), task="t#2", model="n"),
    ]
    if more:
        lines.append(record(ask("r", id="b", key="k3"), Output.of("of m"), task="t"))
        cells = [
            {"task": task, "model": model}
            for task in ("t", "t#2")
            for model in ("m", "n")
        ]
        (tmp_path / "run.json").write_text(json.dumps({"cells": cells, "options": {}}))

    with pytest.raises(
        UsageError, match=r"the run asked 2 models; fix: .* -a model=NAME, one of m, n$"
    ):
        run_folder(tmp_path, *lines).load()


@pytest.mark.parametrize("first", ["judge", "model"])
def test_a_judge_of_a_task_with_a_mark_in_its_name_is_not_a_second_model(
    tmp_path, first
):
    lines = [
        record(ask("grade q", key="k2"), Output.of("5"), model="j", task="t#2#judge"),
        record(ask("q", id="a", key="k1"), Output.of("of m"), task="t#2"),
    ]

    model = run_folder(tmp_path, *(lines if first == "judge" else reversed(lines)))

    assert model.generate([ask("q", id="a")])[0].text == "of m"


@pytest.mark.parametrize(
    "manifest", ['{"cells": [{"task": "t", "model": "m"}]}', "{", '{"cells": 3}', None]
)
def test_the_judges_task_may_be_known_from_the_manifest_alone(tmp_path, manifest):
    if manifest is not None:
        (tmp_path / "run.json").write_text(manifest)
    lines = [
        record(ask("q", id="a", key="k1"), Output.of("of m"), task="u"),
        record(ask("grade q", key="k2"), Output.of("5"), model="j", task="t#judge"),
    ]

    model = run_folder(tmp_path, *lines)

    if manifest is not None and "task" in manifest:
        assert model.generate([ask("q", id="a")])[0].text == "of m"
    else:
        with pytest.raises(UsageError, match="the run asked 2 models"):
            model.load()


def test_a_torn_last_line_is_passed_over_and_a_damaged_one_is_located(tmp_path):
    line = record(ask("q", id="a"), Output.of("one"))

    torn = run_folder(tmp_path, line, line[:40])

    assert torn.generate([ask("q", id="a")])[0].text == "one"
    with pytest.raises(StoreError, match=r"records\.jsonl:1: not a record"):
        run_folder(tmp_path, "garbage\n", line).generate([ask("q", id="a")])


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(
        UsageError, match=r"it has no records\.jsonl; fix: give the folder of a run"
    ):
        build_model("replay", {"run": str(tmp_path)})
