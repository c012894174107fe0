"""Answers that a server sends twice, the second time as if it were to the next question."""

import asyncio
import json

import pytest

from assay.models.http import Client, HttpFailure


def answer(id, text):
    body = json.dumps(
        {"id": id, "text": text} if id is not None else {"text": text}
    ).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def asked(questions, reply):
    """The answers in turn, each asked until there is one; how often that took another try."""

    async def talk():
        async def serve(reader, writer):
            before = b""
            try:
                while True:
                    await reader.readuntil(b"\r\n\r\n")
                    question = json.loads(await reader.readuntil(b"}"))["q"]
                    before = reply(question, before, writer.write)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        client, texts, failures = Client(), [], []
        for question in questions:
            while True:
                try:
                    texts.append((await client.post(url, {"q": question}, {}))["text"])
                    break
                except HttpFailure as error:
                    assert error.retryable
                    failures.append(error.message)
        await client.close()
        listening.close()
        return texts, failures

    return asyncio.run(talk())


@pytest.fixture(autouse=True)
def no_proxy(no_service):
    pass


def late(make):
    """A server that sends the answer before the right one once more, each time it is asked over the same connection."""

    def reply(question, before, write):
        if before:
            write(
                before
            )  # taken for the answer to this question; the right one is still to come
        else:
            write(make(question))
        return make(question)

    return reply


def test_an_answer_that_comes_again_for_the_next_question_is_not_counted():
    texts, failures = asked(
        range(50), late(lambda q: answer(f"chatcmpl-{q}", f"answer {q}"))
    )

    assert texts == [f"answer {q}" for q in range(50)] and not failures


@pytest.mark.parametrize("name", ["id", "responseId"])
def test_ids_are_known_by_the_names_that_services_use(name):
    def make(q):
        body = json.dumps({name: f"x{q}", "text": str(q)}).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    texts, _ = asked(range(10), late(make))

    assert texts == [str(q) for q in range(10)]


@pytest.mark.parametrize("id", ["chatcmpl-0", "", None, 7, ["x"]], ids=repr)
def test_a_server_that_gives_all_answers_one_id_or_none_is_believed(id):
    seen = []
    texts, failures = asked(
        range(50),
        lambda q, before, write: seen.append(q) or write(answer(id, f"answer {q}")),
    )

    assert texts == [f"answer {q}" for q in range(50)] and not failures
    assert (
        len(seen) <= 51
    )  # one once more, to see that a new connection has the same id


def test_a_server_that_draws_ids_from_few_is_believed():
    seen = []
    texts, failures = asked(
        range(60),
        lambda q, before, write: (
            seen.append(q) or write(answer(f"chatcmpl-{q * 7 % 5}", f"answer {q}"))
        ),
    )

    assert texts == [f"answer {q}" for q in range(60)] and not failures
    assert len(seen) <= 63


def test_two_answers_at_once_to_a_later_question_are_none():
    def reply(question, before, write):
        write(
            before + answer(None, f"answer {question}")
            if before
            else answer(None, f"answer {question}")
        )
        return answer(None, f"answer {question}")

    texts, failures = asked(range(20), reply)

    assert texts == [f"answer {q}" for q in range(20)]
    assert failures and all(
        "more than one answer came at once" in said for said in failures
    )
