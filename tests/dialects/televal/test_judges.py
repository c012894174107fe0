"""Judges and helpers, end to end: over HTTP with the key of the YAML file, or as models by `--judge ROLE=MODEL`."""

import importlib.util
import json
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

import pytest
from http_thread import in_a_thread

from assay.cli.main import main
from assay.core import UsageError
from assay.dialects.televal import judge_evaluators as llm
from assay.runner.run import run
from assay.scorers.speech import dnsmos

SECRET = "sk-do-not-keep-me-1234567890"
SPEAKER = """
    def generate_once(self, audio, **kwargs):
        import math, struct, wave
        path = kwargs["pred_audio"]
        with wave.open(path, "wb") as sound:
            sound.setnchannels(1); sound.setsampwidth(2); sound.setframerate(16000)
            wave_of = (int(9000 * math.sin(n / 9) * math.sin(n / 4000)) for n in range(32000))
            sound.writeframes(b"".join(struct.pack("<h", value) for value in wave_of))
        return {"pred": "今天天气很好", "pred_audio": path}
"""


class Judge:
    """An OpenAI-style endpoint that writes down who asked what, and how often."""

    def __init__(
        self, reply=lambda text: {"Explanation": "fine", "Score": 4.5}, status=200
    ):
        self.asked = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.asked.append((self.path, self.headers["Authorization"], body))
                content = reply(body["messages"][0]["content"])
                answer = json.dumps(
                    {"choices": [{"message": {"content": json.dumps(content)}}]}
                ).encode()
                self.send_response(
                    status,
                    f"refused {self.headers['Authorization']}"
                    if status != 200
                    else None,
                )
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.handler = Handler


@pytest.fixture
def served(request):
    with ExitStack() as servers:

        def serve(**settings):
            judge = Judge(**settings)
            judge.url = f"http://127.0.0.1:{servers.enter_context(in_a_thread(judge.handler)).server_port}/v1"
            return judge

        yield serve


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(llm, "PAUSE_SECONDS", 0.0)


def judged_by(project, url, **args):
    given = {"llm_name": "gpt4o", "judge_task": "humanlike", "base_url": url, **args}
    project.entry("evaluator", "contains", "src.evaluator.llm.LLMScorer", given)
    project.entry(
        "summarizer",
        "avg",
        "src.summarizer.summarizer.AvgThreshold",
        {"rescale": "linear"},
    )


def everything_under(folder):
    return "".join(
        file.read_text(encoding="utf-8", errors="replace")
        for file in folder.rglob("*")
        if file.is_file()
    )


def test_a_judge_over_http_is_asked_with_the_key_that_a_variable_holds(
    project, served, monkeypatch
):
    server = served()
    monkeypatch.setenv("JUDGE_API_KEY", SECRET)
    judged_by(project, server.url, key="JUDGE_API_KEY")

    result = project.run("task")

    assert {(path, key) for path, key, _ in server.asked} == {
        ("/v1/chat/completions", f"Bearer {SECRET}")
    }
    assert {body["model"] for _, _, body in server.asked} == {"gpt4o"} and len(
        server.asked
    ) == 2
    assert "echo is it 1949?" in server.asked[0][2]["messages"][0]["content"]
    assert result.results[0].value == 90.0
    assert SECRET not in everything_under(project.root / "out")


def test_a_variable_that_is_not_set_is_named_before_the_run(
    project, served, monkeypatch
):
    server = served()
    monkeypatch.delenv("JUDGE_API_KEY", raising=False)
    judged_by(project, server.url, key="JUDGE_API_KEY")

    with pytest.raises(
        UsageError, match=r"JUDGE_API_KEY is not set.*export JUDGE_API_KEY"
    ):
        project.run("task")
    assert server.asked == []


def test_a_key_written_in_the_yaml_file_works_and_reaches_no_file_of_the_run(
    project, served
):
    def reply(text):
        return {"Explanation": f"my key is {SECRET}", "Score": 3}

    server = served(reply=reply)
    judged_by(project, server.url, key=SECRET)

    with pytest.warns(UserWarning, match="holds a key; write"):
        result = project.run("task")

    assert {key for _, key, _ in server.asked} == {f"Bearer {SECRET}"}
    assert (result.results[0].value, result.status) == (60.0, "complete")
    assert SECRET not in everything_under(project.root / "out")


@pytest.mark.filterwarnings("ignore:.*holds a key")
def test_a_judge_that_refuses_the_key_does_not_put_it_into_the_record(project, served):
    server = served(status=401)
    judged_by(project, server.url, api_keys={"mine": SECRET})

    result = project.run("task")

    assert len(server.asked) == 2 * llm.TRIES
    assert result.results[0].outcomes == {"judge_error": 2}
    assert any(
        "the judge did not answer: HTTP Error 401" in note for note in result.notes
    )
    assert SECRET not in everything_under(project.root / "out")


@pytest.mark.parametrize("over_http", [True, False])
def test_upstream_cuts_the_decimals_off_a_judges_score(
    project, served, monkeypatch, over_http
):
    server = served()
    monkeypatch.setenv("JUDGE_API_KEY", SECRET)
    judged_by(project, server.url, key="JUDGE_API_KEY" if over_http else "xxx")
    judge = project.write(
        "judge.py",
        'def generate(messages):\n    return \'{"Explanation": "", "Score": 4.5}\'\n',
    )
    judges = {} if over_http else {"judge": f"{judge}:generate"}

    result = run(
        [f"{project.registry}@upstream", "task"],
        output=str(project.root / "out"),
        judges=judges,
    )

    protocol = (
        "task@upstream" if over_http else "task@upstream+judge=judge.py:generate-"
    )
    assert result.results[0].value == 80.0 and result.results[0].protocol.startswith(
        protocol
    )


@pytest.mark.filterwarnings("ignore:.*holds a key")
def test_several_keys_take_turns(project, served):
    server = served()
    judged_by(
        project, server.url, api_keys={"one": "key-a", "two": "key-b"}, max_workers=1
    )
    project.rows(*({"key": str(n), "query": "q", "answer": "r"} for n in range(4)))

    project.run("task")

    assert (
        sorted(key for _, key, _ in server.asked)
        == ["Bearer key-a"] * 2 + ["Bearer key-b"] * 2
    )


@pytest.fixture
def speaks(project):
    """A model that speaks, and a place for helpers."""
    project.model(SPEAKER)
    project.change("infer_task", "task", save_pred_audio=True)
    project.rows(
        {"key": "a", "query": "q", "answer": "happy"},
        {"key": "b", "query": "r", "answer": "sad"},
    )
    return project


def helper(project, body):
    """A model of the user's own that hears a sound; it fails where it is given none."""
    code = (
        "from assay import Message\n\n"
        "def hear(messages: list[Message]):\n"
        "    [sound] = [medium for message in messages for medium in message.media]\n"
        "    assert sound.kind == 'audio' and sound.data()[:4] == b'RIFF'\n"
        f"    return {body}\n"
    )
    return f"{project.write('helper.py', code)}:hear"


def televal(project, mode, *more):
    where = [
        "--registry",
        str(project.registry),
        "--save_dir",
        str(project.root / "save"),
    ]
    return main(["televal", "--mode", mode, "--task", "task", *where, *more])


@pytest.mark.parametrize(
    ("cls", "role", "heard", "answers", "expected"),
    [
        (
            "src.evaluator.emo2vec.Emo2vec",
            "emotion",
            '{"happy": 0.75, "sad": 0.2}',
            ["happy", "sad"],
            [0.75, 0.2],
        ),
        (
            "src.evaluator.dialect.DialectClassify",
            "dialect",
            '{"yue": 0.9, "wu": 0.1}',
            ["yue", "wu"],
            [1.0, 0.0],
        ),
    ],
)
def test_what_a_helper_hears_becomes_the_score(
    speaks, cls, role, heard, answers, expected
):
    speaks.rows(
        *(
            {"key": k, "query": "q", "answer": a}
            for k, a in zip("ab", answers, strict=True)
        )
    )
    speaks.entry("evaluator", "contains", cls, {"model": "some-weights"})

    assert televal(speaks, "infer") == 0
    assert (
        televal(speaks, "eval", "--judge", f"{role}={helper(speaks, repr(heard))}") == 0
    )

    assert [
        line["score"] for line in speaks.lines("save/result/echo/task_judge.jsonl")
    ] == expected
    mean = sum(expected) / 2
    assert speaks.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": f"AVG: {mean * 100:.2f}%"}
    ]


def test_a_recogniser_compares_speech_with_text(speaks):
    speaks.entry(
        "evaluator", "contains", "src.evaluator.asr.ASR", {"model": "paraformer-zh"}
    )
    speaks.entry(
        "summarizer", "avg", "src.summarizer.summarizer.AvgWER", {"reverse": True}
    )

    televal(speaks, "infer")
    code = televal(
        speaks, "eval", "--judge", f"asr={helper(speaks, repr('今天天气好'))}"
    )

    assert code == 0
    first = speaks.lines("save/result/echo/task_judge.jsonl")[0]["score"]
    assert first.pop("wer") == pytest.approx(1 / 6)
    assert first == {"subs": 0, "dele": 1, "inse": 0, "ref_len": 6}
    assert speaks.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "Consis: 83.33%"}
    ]


def test_a_judge_that_runs_here_is_any_model_of_assay(project):
    project.entry("model", "qwen", "", {"path": "weights"})
    project.write("registry/model/qwen.yaml", "qwen: {args: {path: weights}}\n")
    given = {"llm_name": "qwen", "judge_task": "value_align", "template": "ask"}
    project.entry("evaluator", "contains", "src.evaluator.llm.LLMOfflineScorer", given)
    project.entry(
        "summarizer",
        "avg",
        "src.summarizer.summarizer.AvgThreshold",
        {"rescale": "power"},
    )
    code = (
        "def generate(messages):\n"
        "    assert 'echo' in messages[0]['content']\n"
        '    return \'{"Explanation": "ok", "Score": "2.5"}\'\n'
    )
    judge = project.write("judge.py", code)

    assert televal(project, "infer") == 0
    assert televal(project, "eval", "--judge", f"judge={judge}:generate") == 0

    [summary] = project.lines("save/summary/echo/task_judge.jsonl")
    assert summary == {"score": "AVG: 25.00", "above_threshold": "above60: 0"}


def test_a_helper_that_hears_nothing_it_knows_is_counted_not_guessed(speaks):
    speaks.entry("evaluator", "contains", "src.evaluator.emo2vec.Emo2vec", {})

    result = speaks.run("task", judges={"emotion": helper(speaks, "'no idea'")})

    assert result.results[0].outcomes == {"judge_error": 2}


def test_dnsmos_rates_the_sound_a_model_made(speaks):
    if importlib.util.find_spec("speechmos") is None:
        pytest.skip("speechmos is not installed")
    pytest.importorskip("onnxruntime")
    speaks.model(
        SPEAKER.replace("range(32000)", "range(145600)")
    )  # one window of DNSMOS: a shorter clip has seven
    speaks.entry(
        "evaluator",
        "contains",
        "src.evaluator.dnsmos.DNSMOS",
        {"model": "sig_bak_ovr.onnx"},
    )
    speaks.entry("summarizer", "avg", "src.summarizer.summarizer.AvgMOS", {})

    televal(speaks, "infer")
    code = televal(speaks, "eval")

    from assay.core import Audio, Output, Sample

    file = speaks.root / "save/prediction/echo/task/a_pred.wav"
    alone = dnsmos.Dnsmos()(Sample("a"), Output.of(Audio(file))).value["ovrl"]
    assert 1.0 < alone < 5.0
    assert code == 0
    assert [
        line["score"] for line in speaks.lines("save/result/echo/task_judge.jsonl")
    ] == [alone, alone]
    assert speaks.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": f"DNSMOS: {alone:.2f}"}
    ]
