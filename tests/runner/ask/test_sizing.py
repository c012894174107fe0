"""How many requests a model gets at once, and whether it needs a thread of its own."""

from assay.runner.ask.calls import LARGEST_HANDOVER, BatchSize


def test_a_model_that_works_little_but_is_kept_waiting_answers_at_once():
    sizes = BatchSize(None)

    assert sizes.is_instant(64, seconds=0.015, worked=0.004)


def test_a_model_that_waits_for_a_server_keeps_its_thread():
    sizes = BatchSize(None)

    assert not sizes.is_instant(64, seconds=0.015, worked=0.001)


def test_a_model_that_works_long_keeps_its_thread():
    sizes = BatchSize(None)

    assert not sizes.is_instant(64, seconds=0.015, worked=0.014)


def test_a_few_quick_answers_say_nothing_of_the_next():
    sizes = BatchSize(None)

    assert not sizes.is_instant(8, seconds=0.0004, worked=0.0004)


def test_only_instant_models_reach_the_largest_batch():
    sizes = BatchSize(None)
    for _ in range(LARGEST_HANDOVER.bit_length()):
        sizes.learn(sizes.size(), 0, seconds=sizes.size() * 1e-5)

    assert sizes.size() == LARGEST_HANDOVER
    assert sizes.is_instant(LARGEST_HANDOVER, seconds=0.0026, worked=0.0)
