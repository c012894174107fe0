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


class Duplicating:
    """A server that takes its time, and sends some answers once more 50 ms later, with another id."""

    def __init__(self, seconds, is_sent_twice):
        self.seconds, self.is_sent_twice = seconds, is_sent_twice
        self.connections = self.requests = self.answers = 0
        self.most_open = self.open = 0
        self.has_sent_again = asyncio.Event()

    def answer(self, question):
        self.answers += 1
        return answer(f"chatcmpl-{self.answers}", f"answer {question}")

    async def __call__(self, reader, writer):
        self.connections += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        late = []

        async def send_later(question):
            await asyncio.sleep(0.05)
            writer.write(self.answer(question))
            await writer.drain()
            self.has_sent_again.set()

        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                question = json.loads(await reader.readuntil(b"}"))["q"]
                self.requests += 1
                await asyncio.sleep(self.seconds)
                writer.write(self.answer(question))
                if self.is_sent_twice(question):
                    late.append(asyncio.ensure_future(send_later(question)))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.close()


def wrong_answers(server, count, workers, **options):
    """How many of the questions, which the workers ask at once, get the answer of another; and the notes."""

    async def talk():
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        client, questions, wrong = Client(**options), iter(range(count)), []

        async def work():
            for question in questions:
                text = None
                while text is None:
                    try:
                        text = (await client.post(url, {"q": question}, {}))["text"]
                    except HttpFailure as error:
                        assert error.retryable
                if text != f"answer {question}":
                    wrong.append(question)

        await asyncio.gather(*[work() for _ in range(workers)])
        notes = client.take_notes()
        await client.close()
        listening.close()
        return len(wrong), notes

    return asyncio.run(talk())


@pytest.mark.parametrize("workers", [1, 16])
def test_late_duplicates_of_a_slow_server_are_not_taken_for_answers(
    workers, monkeypatch
):
    # A busy machine may take long to connect.
    monkeypatch.setattr("assay.models.http_servers.CHEAP_CONNECTING", 1.0)
    server = Duplicating(0.1, lambda question: True)

    wrong, notes = wrong_answers(server, 4 * workers + 4, workers)

    assert (wrong, notes) == (0, [])


def test_after_a_late_duplicate_no_connection_is_used_again_and_a_note_says_so(
    monkeypatch,
):
    # Every answer takes less than connecting, so that connections are used again.
    monkeypatch.setattr("assay.models.http_servers.CHEAP_CONNECTING", 0.0)
    server = Duplicating(0, lambda question: question == 2)

    async def talk():
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        client, texts = Client(), []
        for question in range(6):
            texts.append((await client.post(url, {"q": question}, {}))["text"])
            if question == 2:
                await server.has_sent_again.wait()
                await asyncio.sleep(0)  # the client reads it
        notes = client.take_notes()
        await client.close()
        listening.close()
        return texts, notes

    texts, notes = asyncio.run(talk())

    assert texts == [f"answer {question}" for question in range(6)]
    assert server.connections == 4  # one for the first three, then one for each
    assert len(notes) == 1 and "keep_alive=false" in notes[0]


def test_without_keep_alive_no_late_duplicate_is_taken_for_an_answer():
    server = Duplicating(0.02, lambda question: question % 3 == 0)

    wrong, notes = wrong_answers(server, 100, 4, keep_alive=False)

    assert (wrong, notes) == (0, [])
    assert server.connections == server.requests == 100


def test_connections_of_an_honest_server_are_used_again(monkeypatch):
    monkeypatch.setattr("assay.models.http_servers.CHEAP_CONNECTING", 0.0)
    server = Duplicating(0.01, lambda question: False)

    assert wrong_answers(server, 300, 4) == (0, [])

    assert server.requests == 300
    assert server.connections < 10


def test_a_slow_server_gets_a_new_connection_for_each_request(monkeypatch):
    monkeypatch.setattr("assay.models.http_servers.CHEAP_CONNECTING", 1.0)
    server = Duplicating(0.1, lambda question: True)

    wrong, notes = wrong_answers(server, 20, 4)

    assert (wrong, notes) == (0, [])
    assert server.connections == server.requests == 20


def test_a_server_of_one_connection_at_a_time_is_asked_over_one(monkeypatch):
    monkeypatch.setattr("assay.models.http_servers.CHEAP_CONNECTING", 0.0)
    server = Duplicating(0, lambda question: False)

    assert wrong_answers(server, 12, 1) == (0, [])

    assert server.connections == server.most_open == 1


def test_equal_long_bodies_without_ids_are_requested_again():
    def long(question):
        return answer(None, f"{question} " * 300)

    texts, failures = asked(range(20), late(long))

    assert texts == [f"{question} " * 300 for question in range(20)] and not failures


def test_a_server_that_gives_every_question_the_same_long_body_is_believed():
    seen = []
    texts, failures = asked(
        range(50),
        lambda q, before, write: seen.append(q) or write(answer(None, "x" * 1000)),
    )

    assert texts == ["x" * 1000] * 50 and not failures
    assert len(seen) <= 51
