"""Speech families: every task runs on its mini-set in each of its input modes, and rows are read by their rules."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from each_row import each

from assay.benchmarks import speech_tasks
from assay.benchmarks.speech_rows import ROUNDS, Heard, Spoken, reference_of
from assay.core import (
    AllOf,
    Audio,
    BadSample,
    Candidate,
    Output,
    Sample,
    Task,
    TemplateError,
    Text,
    UsageError,
)
from assay.media import audio_from
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.runner.tasks.locate import PACKAGE, find_data

TASKS = speech_tasks.TASKS
JUDGED = [
    name
    for name, task in TASKS.items()
    if any(
        isinstance(scorer, dict) and scorer["name"] == "judge"
        for scorer in task.scorers
    )
]
SPEAKING = [name for name, task in TASKS.items() if "audio" in task.produces]
ANSWERED = [name for name in TASKS if name not in (*JUDGED, *SPEAKING)]


ENCODER = """
from assay.core import Json

def generate(request):
    return Json([1.0, request.prompt.media[0].data()[-40] / 255])
"""


def samples_of(task: Task) -> list[Sample]:
    made = list(task.dataset.read(find_data(task, "mini")))
    assert made and all(isinstance(sample, Sample) for sample in made)
    return made


def right_answer(target) -> str:
    """What a perfect model would say."""
    if isinstance(target, AllOf):
        return " and ".join(right_answer(part) for part in target.parts)
    return right_answer(target[0]) if isinstance(target, tuple) else str(target)


def perfect(task: Task) -> Scripted:
    """A model that knows the answer by the sound or by the text of the last turn, as a real one would have to."""
    known = {}
    for sample in samples_of(task):
        said = right_answer(sample.target)
        if task.name == "mmau_official":
            said = sample.choices["ABCD".index(said)]
        if ROUNDS in sample.fields:
            known[sample.media[-1].digest] = known[sample.fields[ROUNDS][-1]] = said
        else:
            known[sample.media[0].digest] = known[sample.input] = said

    def answer(request):
        last = request.prompt.messages[-1]
        shown = [medium.digest for medium in last.media]
        if shown:
            return known.get(shown[0], "noted")
        return next(
            (said for asked, said in known.items() if asked and asked in last.text),
            "noted",
        )

    return Scripted(answer)


@each("name", TASKS)
def test_every_task_says_how_it_is_measured_and_where_its_data_is(name):
    task = TASKS[name]

    base, _, mode = task.protocol.removesuffix("-v2").partition("@")
    assert name.startswith(base) and (
        mode in ("audio", "audio+text", "text") or name == "mmau_official"
    )
    assert task.citation and task.licence and task.data_hint
    # `format-checked` where no official code could be had or run; else what of it is as published.
    assert (
        task.description.endswith(("(format-checked)", "as published)"))
        and len(task.description) < 90
    )
    assert task.dataset.local and (PACKAGE / task.dataset.mini).is_file()


def test_protocols_and_names_are_all_different():
    assert len({task.protocol for task in TASKS.values()}) == len(TASKS) == 78


@each("name", TASKS)
def test_the_mode_of_the_protocol_is_what_the_model_is_sent(name):
    task = TASKS[name]
    mode = (
        task.protocol.removesuffix("-v2")
        .partition("@")[2]
        .replace("official", "audio+text")
    )

    for sample in samples_of(task):
        prompt = task.template(sample)
        kinds = {type(part) for message in prompt.messages for part in message.parts}
        assert (
            kinds
            == {"audio": {Audio}, "audio+text": {Audio, Text}, "text": {Text}}[mode]
        )
    assert ("audio" in task.needs) == (mode != "text")


@pytest.mark.parametrize("name", ANSWERED)
def test_a_model_that_knows_the_answers_gets_full_marks_on_the_mini_set(name, tmp_path):
    task = TASKS[name]

    done = run(task, perfect(task), data="mini", output=str(tmp_path / "run"))

    assert done.status == "complete"
    values = {result.metric: result.value for result in done.results}
    best = {
        metric: 100.0 if metric == "bleu" else float(not is_rate(metric, name))
        for metric in values
    }
    assert values and values == pytest.approx(best), values


@pytest.mark.parametrize("name", ANSWERED)
def test_a_model_that_says_nothing_to_the_point_gets_nothing(name, tmp_path):
    done = run(
        TASKS[name],
        Scripted("unrelated mumbling"),
        data="mini",
        output=str(tmp_path / "run"),
    )

    values = {result.metric: result.value for result in done.results}
    for metric, value in values.items():
        if is_rate(metric, name):
            assert value >= 0.5 or metric.endswith(">1"), values
        else:
            assert value == pytest.approx(0.0, abs=5.0 if "bleu" in metric else 1e-6), (
                values
            )


def is_rate(metric: str, name: str) -> bool:
    return metric.startswith(("wer", "cer")) or (
        name.startswith("robust_asr") and "worst" in metric
    )


@pytest.fixture
def helper(tmp_path):
    """A model in a file, that always says the same."""

    def make(reply: str) -> str:
        path = tmp_path / "helper.py"
        path.write_text(
            f'accepts = ["text", "audio", "image"]\n\n\ndef generate(messages):\n    return {reply!r}\n'
        )
        return f"{path}:generate"

    return make


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_grades_what_was_said(name, helper, tmp_path):
    yes_no = name.startswith("voicebench_sd_qa")
    judge = helper('{"verdict": "yes"}' if yes_no else '{"score": 4}')

    done = run(
        TASKS[name],
        Scripted("a kind word"),
        data="mini",
        judge=judge,
        output=str(tmp_path / "run"),
    )

    values = {result.metric: result.value for result in done.results}
    if name.startswith("voicebench"):
        assert values == {"judge": 1.0 if yes_no else 4.0}
        return
    assert values == {
        "judge>3": 1.0,
        "judge": 4.0,
        "judge.rescaled": pytest.approx(64.0),
    }


@pytest.mark.parametrize(
    "name", [name for name in SPEAKING if name.startswith("speech_text")]
)
def test_a_models_speech_is_compared_with_its_own_text(name, helper, tmp_path):
    said = "海水是咸的" if "zh" in name else "the sea is salty"
    sound = (
        PACKAGE / "benchmarks" / "data" / "speech" / "sounds" / "tone0.wav"
    ).read_bytes()

    model = Scripted(lambda _: joined(said, sound))

    done = run(
        TASKS[name],
        model,
        data="mini",
        judge={"asr": helper(said)},
        output=str(tmp_path / "run"),
    )

    assert done.status == "complete"
    assert all(result.value == 0.0 for result in done.results)


def joined(said: str, sound: bytes) -> Output:
    return Output((Candidate((Text(said), Audio(sound))),))


@pytest.mark.parametrize(
    "name", [name for name in SPEAKING if name.startswith("speech_quality")]
)
def test_the_quality_of_a_models_speech_is_rated(name, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("speechmos")
    tone = 0.3 * np.sin(
        2 * np.pi * 220 * np.arange(int(9.1 * 16_000)) / 16_000
    )  # one window: a shorter clip has seven
    sound = audio_from(tone.astype(np.float32), 16_000).data()

    model = Scripted(lambda _: joined("a tone", sound))

    done = run(TASKS[name], model, data="mini", limit=1, output=str(tmp_path / "run"))

    values = {result.metric: result.value for result in done.results}
    assert set(values) == {"dnsmos.ovrl", "dnsmos.sig", "dnsmos.bak", "dnsmos.p808"}
    assert all(0 < value < 5 for value in values.values())


def test_the_voice_of_the_speech_is_compared_with_that_of_the_recording(tmp_path):
    encoder = tmp_path / "encoder.py"
    encoder.write_text(ENCODER)
    echo = Scripted(lambda request: Output.of(request.prompt.media[0]))
    other = Scripted(
        lambda request: Output.of(
            Audio(request.prompt.media[0].data()[:-40] + bytes([255] * 40))
        )
    )

    results = [
        run(
            TASKS["voice_similarity"],
            model,
            data="mini",
            judge={"speaker": f"{encoder}:generate"},
            output=str(folder),
        )
        for model, folder in ((echo, tmp_path / "same"), (other, tmp_path / "other"))
    ]

    (same,), (unlike,) = (done.results for done in results)
    assert same.metric == "sim[given]" and same.value == pytest.approx(1.0)
    assert 0.5 < unlike.value < 0.999


def test_a_voice_without_an_encoder_is_refused_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="needs a model as 'speaker'"):
        run(
            TASKS["voice_similarity"],
            Scripted("x"),
            data="mini",
            output=str(tmp_path / "run"),
        )


def test_what_is_said_in_a_given_voice_is_heard_and_rated_by_the_given_specialists(
    helper, tmp_path
):
    echo = Scripted(lambda request: Output.of(request.prompt.media[0]))

    heard = run(
        TASKS["voice_words"],
        echo,
        data="mini",
        limit=1,
        judge={"asr": helper("we walk home after the snow")},
        output=str(tmp_path / "words"),
    )
    rated = run(
        TASKS["voice_mos"],
        echo,
        data="mini",
        judge={"mos": helper('{"mos": 3.5}')},
        output=str(tmp_path / "mos"),
    )

    assert heard.results[0].value == pytest.approx(1 / 6)
    assert {result.metric: result.value for result in rated.results} == {"mos": 3.5}


def test_the_worst_level_of_each_family_is_reported_beside_the_mean(tmp_path):
    task = TASKS["robust_qa"]
    knows = perfect(task)
    loud = {s.media[0].digest for s in samples_of(task) if s.tags["level"] == "0 dB"}
    deaf = Scripted(
        lambda r: "what?" if r.prompt.media[0].digest in loud else knows.answers(r)
    )

    done = run(task, deaf, data="mini", output=str(tmp_path / "run"))

    values = {result.metric: result.value for result in done.results}
    assert values == {
        "exists_match": 0.75,
        "worst(exists_match)[babble]": 0.0,
        "worst(exists_match)[echo]": 1.0,
    }
    babble = next(result for result in done.results if "babble" in result.metric)
    assert (
        babble.details["worst"] == "0 dB"
        and babble.groups["level"]["10 dB"].value == 1.0
    )


def test_the_second_round_is_asked_after_the_models_own_answer(tmp_path):
    model = perfect(TASKS["spoken_memory_text"])

    run(
        TASKS["spoken_memory_text"],
        model,
        data="mini",
        limit=1,
        output=str(tmp_path / "run"),
    )

    first, second = (request.prompt.messages for request in model.calls)
    assert [message.role for message in second] == ["user", "assistant", "user"]
    assert (
        first[0].text.startswith("My cat is called Momo.") and second[1].text == "noted"
    )
    assert second[2].text == "What is my cat called?"


def test_references_keep_any_and_all():
    nested = {"__tuple__": True, "items": [["blue", "azure"], "yellow"]}

    assert reference_of(["a", "b"]) == ("a", "b")
    assert (
        reference_of(nested)
        == AllOf((("blue", "azure"), "yellow"))
        == reference_of(json.dumps(nested))
    )
    assert reference_of("[sic] he said") == "[sic] he said" and reference_of(8) == "8"


@pytest.mark.parametrize(
    ("row", "read", "what"),
    [
        ({"query": "Who?", "ref": "me"}, Spoken(), "the row has no audio"),
        (
            {"audio": "a.wav", "query": "Which?", "answer": "A"},
            Spoken(options=True),
            "the row has no options",
        ),
        (
            {"user_audio1": "a.wav", "user_text1": "Hi."},
            Spoken(rounds=True),
            "fewer than two rounds",
        ),
        (
            {"user_audio1": "a.wav", "user_text1": "Hi.", "user_text2": "Bye."},
            Spoken(rounds=True),
            "some rounds of the dialogue have audio and some have none",
        ),
    ],
)
def test_a_row_that_cannot_be_asked_is_listed_with_its_reason(
    row, read, what, tmp_path
):
    good = {
        "audio": "a.wav",
        "query": "Which?",
        "A": "x",
        "B": "y",
        "answer": "A",
        "user_audio1": "a.wav",
        "user_audio2": "b.wav",
        "user_text1": "x",
        "user_text2": "y",
    }
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(
            json.dumps({"key": str(n), **one}) + "\n"
            for n, one in enumerate([good, row])
        )
    )

    first, second = read(path)

    assert isinstance(first, Sample) and first.media[0].source == tmp_path / "a.wav"
    assert isinstance(second, BadSample) and what in second.error.what


def test_parquet_with_bytes_is_read_as_on_the_hub(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    sound = (
        PACKAGE / "benchmarks" / "data" / "speech" / "sounds" / "tone0.wav"
    ).read_bytes()
    rows = [
        {
            "id": "1",
            "audio": {"bytes": sound, "path": "1.wav"},
            "text": "the kettle is on the stove",
        }
    ]
    parquet.write_table(
        pyarrow.Table.from_pylist(rows), tmp_path / "librispeech.parquet"
    )

    (sample,) = TASKS["librispeech"].dataset.read(
        find_data(TASKS["librispeech"], str(tmp_path))
    )

    assert (sample.id, sample.target) == ("1", "the kettle is on the stove")
    assert sample.media[0].data() == sound


def test_readings_of_one_sentence_are_samples_of_one_cluster(tmp_path):
    rows = [{"id": 7, "audio": f"{n}.wav", "transcription": "rain"} for n in range(2)]
    (tmp_path / "fleurs_en.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )

    first, second = TASKS["fleurs_en"].dataset.read(tmp_path / "fleurs_en.jsonl")
    _, repeated = TASKS["librispeech"].dataset.read(tmp_path / "fleurs_en.jsonl")

    assert first.id != second.id and first.cluster == second.cluster == "7"
    assert isinstance(repeated, BadSample)


@pytest.mark.parametrize(
    ("mode", "what"),
    [
        ("text", "the row has no text of the speech"),
        ("audio", "the row has no audio"),
    ],
)
def test_a_mode_the_row_has_nothing_for_is_an_error_of_that_sample(mode, what):
    with pytest.raises(TemplateError, match=what):
        Heard(mode)(Sample(id="a"))


def test_the_mini_sets_are_what_their_script_makes(tmp_path):
    path = Path(__file__).parents[2] / "tools" / "make_sound_and_drawing_minisets.py"
    spec = importlib.util.spec_from_file_location(
        "make_sound_and_drawing_minisets", path
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    script.main(tmp_path)

    shipped = PACKAGE / "benchmarks" / "data" / "speech"
    made = {
        p.relative_to(tmp_path / "speech"): p.read_bytes()
        for p in (tmp_path / "speech").rglob("*.*")
    }
    assert made == {
        p.relative_to(shipped): p.read_bytes() for p in shipped.rglob("*.*")
    }
    assert all(len(data) < 20_000 for data in made.values())


def test_mmau_official_takes_the_words_of_an_option_and_no_others():
    sample = Sample(
        id="1", input="Which?", target="B", choices=("a red violin", "a piano")
    )

    said = ["piano", "It is a piano.", "a piano, not a violin", "B", ""]

    assert [
        speech_tasks.words_of_option(sample, Output.of(one)).value for one in said
    ] == [
        0.0,
        1.0,
        0.0,
        0.0,
        0.0,
    ]
