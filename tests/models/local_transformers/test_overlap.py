"""The next batch is read while the device works, shown by the order of events."""

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request
from assay.runner.ask.schedule import Scheduler

pytestmark = pytest.mark.torch


def ask(*content):
    return Request(Prompt((Message.of("", *content),)), GenerateOptions(max_tokens=1))


def test_next_batch_is_tokenized_while_the_device_works(llama, held_device):
    device = held_device(llama)
    device.watch(llama._loaded.renderer, "encode")

    answers = device.first_then_second(lambda text: llama.generate([ask(text)])[0])

    # If the second batch were read after the first, the first pass would time out.
    assert device.came[0] is True
    assert [answer.error for answer in answers] == [None, None]


def test_next_likelihoods_are_tokenized_while_the_device_works(llama, held_device):
    device = held_device(llama)
    device.watch(llama._loaded.renderer, "pairs")

    def weigh(text):
        return llama.likelihood(
            [Request(Prompt((Message.of("", text),), continuations=("a",)))]
        )[0]

    answers = device.first_then_second(weigh)

    assert device.came[0] is True
    assert [len(answer.likelihoods) for answer in answers] == [1, 1]


def test_scheduler_submits_the_next_batch_before_the_last_is_answered(llama):
    assert Scheduler(llama).window == 2
