"""What assay makes of real servers: equal to the openai SDK, and what they ignore is seen.

python bench/real_servers.py llama.cpp=http://127.0.0.1:9101/v1,smollm2 serve=http://127.0.0.1:9102/v1,/path/to/model

Each argument names a running server, its address and the model. For example:
    python -m llama_cpp.server --model MODEL.gguf --port 9105 --logits_all true --n_ctx 1024
    transformers serve MODEL_FOLDER --port 9102
    litellm --config FILE.yaml --port 9104
"""

import argparse
import asyncio
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import PIL.Image
from openai import OpenAI

from assay.core import (
    AssayError,
    GenerateOptions,
    Image,
    Message,
    Output,
    Prompt,
    Request,
    Text,
    Tool,
)
from assay.models import build_model

LANDS = ("France", "Italy", "Japan", "Spain", "Germany", "Egypt", "Peru", "Cuba")
QUESTIONS = [f"What is the capital of {land}? Write one sentence." for land in LANDS]
STOP = " is"
TOKENS = 12


@dataclass(frozen=True)
class Server:
    """A running server, and the name of the model there."""

    name: str
    url: str
    model: str

    @classmethod
    def of(cls, text: str) -> "Server":
        """Read `NAME=URL,MODEL`."""
        name, _, rest = text.partition("=")
        url, _, model = rest.partition(",")
        return cls(name, url, model)

    def ask(
        self, *requests: Request, method: str = "generate", **options: Any
    ) -> list[Output]:
        """Return what assay makes of the server's answers to the requests, asked one after the other."""

        async def talk() -> list[Output]:
            model = build_model(
                f"openai/{self.model}", {"base_url": self.url, **options}
            )
            try:
                answers = []
                for request in requests:
                    answers += await getattr(model, method)([request])
                return answers
            finally:
                await model.close()

        return asyncio.run(talk())

    def answer(self, question: str, **options: Any) -> Output:
        """Return the answer to one question."""
        return self.ask(request_of(question, **options))[0]


def request_of(question: str, **options: Any) -> Request:
    """Return a question to a chat model, at temperature 0 if the options do not say otherwise."""
    settings = {"temperature": 0.0, "max_tokens": TOKENS, **options}
    return Request(Prompt((Message.of("user", question),)), GenerateOptions(**settings))


def failure_of(output: Output) -> str:
    """Return why there is no answer: the server, or assay, refused. A server that is gone ends the bench."""
    assert output.error is not None
    if output.error.kind == "connection":
        raise SystemExit(output.error.message)
    return f"refused: {output.error.message}"


def same_as_sdk(server: Server) -> str:
    """Return how many answers have the text, token counts and reason to stop that the openai SDK gets."""
    client = OpenAI(base_url=server.url, api_key="none")
    outputs = server.ask(*map(request_of, QUESTIONS))
    equal = 0
    for question, output in zip(QUESTIONS, outputs, strict=True):
        reply = client.chat.completions.create(
            model=server.model,
            messages=[{"role": "user", "content": question}],
            temperature=0,
            max_tokens=TOKENS,
        )
        choice, usage = reply.choices[0], reply.usage
        assert output.usage is not None and usage is not None
        ours = (
            output.text,
            output.stop_reason,
            output.usage.input_tokens,
            output.usage.output_tokens,
        )
        theirs = (
            choice.message.content,
            choice.finish_reason,
            usage.prompt_tokens,
            usage.completion_tokens,
        )
        equal += ours == theirs
    return f"{equal} of {len(QUESTIONS)}"


def stops(server: Server) -> str:
    """Return in how many answers the stop string is left."""
    outputs = server.ask(*[request_of(q, stop=(STOP,)) for q in QUESTIONS])
    left = sum(STOP in output.text for output in outputs)
    return f"left in {left} of {len(outputs)}"


def echo(server: Server) -> str:
    """Return the perplexity of a text, or why assay does not trust the server's echo."""
    text = "One two three four five six seven eight nine ten."
    request = Request(Prompt((Message.of("", text),), rolling=True))
    try:
        [output] = server.ask(request, method="likelihood", likelihood_by="echo")
    except AssayError as error:
        return f"refused: {error}"
    if output.error is not None:
        return failure_of(output)
    return f"log-probability {output.likelihoods[0].logprob:.2f}"


def seen(**options: Any) -> Callable[[Server], str]:
    """Return a check that an option is obeyed, noted or refused."""

    def check(server: Server) -> str:
        return notes_of(server.answer(QUESTIONS[0], **options))

    return check


def notes_of(output: Output) -> str:
    """Return what assay noted about an answer, or why there is none."""
    if output.error is not None:
        return failure_of(output)
    return "; ".join(output.details.get("notes", ())) or "no note"


def required_tool(server: Server) -> str:
    """Return what is noted of an answer that has to call a tool."""
    tool = Tool("capital_of", "The capital of a country", {"type": "object"})
    message = Message.of("user", QUESTIONS[0])
    prompt = Prompt((message,), tools=(tool,), tool_choice="capital_of")
    options = GenerateOptions(temperature=0.0, max_tokens=TOKENS)
    [output] = server.ask(Request(prompt, options))
    if output.error is None and output.calls:
        return "called"
    return notes_of(output)


def picture(server: Server) -> str:
    """Return what is noted of an answer about an image. The models of this bench see none."""
    drawn = io.BytesIO()
    PIL.Image.new("RGB", (40, 30), "red").save(drawn, "PNG")
    message = Message("user", (Image(drawn.getvalue()), Text("What is shown?")))
    options = GenerateOptions(temperature=0.0, max_tokens=TOKENS)
    [output] = server.ask(Request(Prompt((message,)), options))
    return notes_of(output)


def full_context(server: Server) -> str:
    """Return what is noted of an answer that needs more tokens than the context has. It has 1,024 in this bench."""
    prompt = Prompt((Message.of("", "word " * 1010),))
    options = GenerateOptions(temperature=0.0, max_tokens=200)
    [output] = server.ask(Request(prompt, options))
    return f"{output.stop_reason}: {notes_of(output)}"


def cut_response(server: Server) -> str:
    """Return the reason to stop of an answer of the Responses API that needs more tokens than it may have."""
    [output] = server.ask(request_of(QUESTIONS[0], max_tokens=3), api="responses")
    return failure_of(output) if output.error else str(output.stop_reason)


def streamed(server: Server) -> str:
    """Return what is said of a reply that is streamed."""
    [output] = server.ask(request_of(QUESTIONS[0]), body={"stream": True})
    return failure_of(output) if output.error else "read"


CHECKS: dict[str, Callable[[Server], str]] = {
    "text, tokens, finish reason as the openai SDK": same_as_sdk,
    "stop string": stops,
    "echo": echo,
    "n=2": seen(n=2, temperature=0.9),
    "logprobs": seen(logprobs=2),
    "response_format": seen(response_format="json"),
    "repetition_penalty": seen(repetition_penalty=3.0),
    "api=responses, cut": cut_response,
    "stream": streamed,
    "a required tool": required_tool,
    "an image": picture,
    "a full context": full_context,
}


def main() -> None:
    """Print one line for each check and server."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("servers", nargs="+", type=Server.of, metavar="NAME=URL,MODEL")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS), metavar="N")
    arguments = parser.parse_args()
    del QUESTIONS[arguments.questions :]
    os.environ.setdefault("OPENAI_API_KEY", "none")
    for name, check in CHECKS.items():
        for server in arguments.servers:
            print(f"{name} | {server.name} | {check(server)}", flush=True)


if __name__ == "__main__":
    main()
