"""Twelve secrets, the texts that would show them, and code of a user that shows them wherever it may fail.

`say(place)` gives the text a place shows; `FAULTS` in the environment says which places fail: of a model its making,
its loading, its answers and failures; a template, a scorer, a judge, a summarizer.
"""

import base64
import json
from pathlib import Path
from urllib.parse import quote

ENVIRONMENT = {
    "MY_SERVICE_TOKEN": 'sk-"env\\é-4711',
    "DB_PASSWORD": "p/w?d&4712%",
    "CLIENT_SECRET": "secret-of-a-client-4713",
    "VENDOR_API_KEY": "vendor-key-4714",
}
IN_OPTIONS = "opt-secret-4721"
IN_NESTED_OPTIONS = "nested-secret-4722"
IN_JUDGE_OPTIONS = "judge-secret-4723"
IN_URL = "url-secret-4731"
ALONE_IN_URL = "ghp_lone-secret-4732"
IN_QUERY = "query-secret-4733"
IN_HEADER = "header-secret-4741"
IN_BASIC = base64.b64encode(b"me:basic-secret-4742").decode()
IN_KEY_HEADER = "key-header-secret-4743"
IN_GIT_REMOTE = "git-secret-4751"
BY_VALUE = (*ENVIRONMENT.values(), IN_OPTIONS, IN_NESTED_OPTIONS, IN_JUDGE_OPTIONS)
"""Known because they were given to the run: hidden wherever they stand."""
BY_FORM = (IN_URL, ALONE_IN_URL, IN_QUERY, IN_HEADER, IN_BASIC, IN_KEY_HEADER)
"""Known by what stands around them: hidden in what is said of a failure."""
ALL = (*BY_VALUE, *BY_FORM, IN_GIT_REMOTE)

FAILURES = [
    *(f"401 for {secret}" for secret in BY_VALUE),
    f"GET https://host/v1/{quote(ENVIRONMENT['DB_PASSWORD'], safe='')}/x failed",
    f"https://user:{IN_URL}@host/v1 refused",
    f"cannot clone https://{ALONE_IN_URL}@host/repository.git",
    f"GET https://host/v1?alt=sse&key={IN_QUERY}&n=1: 403",
    f"refused Authorization: Bearer {IN_HEADER}",
    f"sent {{'Authorization': 'Basic {IN_BASIC}', 'x-api-key': '{IN_KEY_HEADER}'}}",
    f"headers: Authorization=Bearer {IN_HEADER}; X-Goog-Api-Key: {IN_KEY_HEADER}",
]
ANSWERS = [f"my key is {secret}" for secret in BY_VALUE]
"""What a model may write itself: data, in which only secrets of this run are hidden."""
PLACES = (
    "build",
    "load",
    "raise",
    "fail",
    "answer",
    "template",
    "scorer",
    "judge",
    "summarizer",
    "budget",
)

CODE = '''
import json, os
from pathlib import Path
from assay.core import Abilities, Output

SHOWN = json.loads((Path(__file__).parent / "shown.json").read_text())


def fails(place):
    return place in os.environ["FAULTS"].split(",")


def say(place, number, kind="failures"):
    """The text shown at a place, or `None` where it does not fail."""
    texts = SHOWN[kind]
    if not fails(place) or number % 3:
        return None
    return texts[(number // 3 + len(place)) % len(texts)]


class Model:
    abilities = Abilities()
    identity = {"planted": 1}
    batch_size = 4

    def __init__(self, api_key="", headers=None, turn=0):
        self.identity = {"api_key": api_key, "headers": headers, "turn": turn}
        self.turn = turn * 3
        if fails("build"):
            raise ValueError(say("build", self.turn))

    def load(self):
        if fails("load"):
            raise ValueError(say("load", self.turn))

    def generate(self, requests):
        return [self.answer(int(request.id)) for request in requests]

    def answer(self, number):
        if text := say("raise", number):
            raise OSError(text)
        if text := say("fail", number + 1):
            return Output.failed("http", text, retryable=False)
        return Output.of(say("answer", number + 2, "answers") or "x")


def prompt(sample):
    if text := say("template", int(sample.id)):
        raise ValueError(text)
    return sample.input


def score(sample, output):
    if text := say("scorer", int(sample.id) + 1):
        raise ValueError(text)
    return 1.0


class Judge:
    def __init__(self, token="", **more):
        self.token = token

    def generate(self, messages):
        if text := say("judge", 3 * len(messages[-1]["content"])):
            raise OSError(text)
        return '{"score": 4, "reason": "' + self.token + '"}'


def summarize(records, context):
    if fails("summarizer"):
        raise ValueError(say("summarizer", 0))
    return []
'''
TASK = """
dataset: rows.jsonl
template: code.py:prompt
scorers: ["code.py:score", judge]
summarizers: [mean, "code.py:summarize"]
"""


def plant(folder: Path) -> Path:
    """Writes code and rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shown.json").write_text(
        json.dumps({"failures": FAILURES, "answers": ANSWERS})
    )
    (folder / "code.py").write_text(CODE)
    rows = [
        {"id": str(n), "question": f"q{'u' * n}", "answer": "x"}
        for n in range(len(FAILURES) * 3)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "task.yaml").write_text(TASK)
    return folder


def forms(secret: str) -> set[bytes]:
    """A secret as it may stand in a file: as it is, in either JSON, in a URL, in a CSV cell, as bytes of base64."""
    texts = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
    }
    texts |= {
        secret.replace('"', '""'),
        json.dumps(json.dumps(secret)[1:-1])[1:-1],
        repr(secret)[1:-1],
    }
    return {text.encode() for text in texts}
