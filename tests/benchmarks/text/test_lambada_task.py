"""LAMBADA: the last word is weighed after all that comes before it."""

import json
import math

import pytest

from assay.benchmarks.text_tasks import lambada
from assay.core import Likelihood, ModalityMismatch, Output
from assay.models.scripted import Scripted
from assay.runner.run import run


class Weigher(Scripted):
    """Weighs the words it was told."""

    def likelihood(self, requests):
        self.calls.extend(requests)
        known = {
            " car": Likelihood(math.log(0.5), True, 1),
            " house": Likelihood(math.log(0.125), False, 2),
        }
        return [
            Output(likelihoods=(known[request.prompt.continuations[0]],))
            for request in requests
        ]


@pytest.fixture
def data(tmp_path) -> str:
    rows = [{"text": "I saw a red car"}, {"text": "We went back to the old house"}]
    (tmp_path / "test.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    return str(tmp_path)


def test_accuracy_is_greedy_and_perplexity_counts_each_passage_once(data, tmp_path):
    model = Weigher("unused")

    results = run(lambada, model, data=data, output=str(tmp_path / "run")).results

    assert model.calls[0].prompt.text == "I saw a red"
    values = {result.metric: result.value for result in results}
    assert values["last_word"] == 0.5
    assert values["perplexity"] == pytest.approx(
        math.exp(-(math.log(0.5) + math.log(0.125)) / 2)
    )


def test_a_model_that_cannot_weigh_is_refused_before_the_run(data, tmp_path):
    with pytest.raises(ModalityMismatch, match="task 'lambada' needs likelihoods"):
        run(
            lambada,
            Scripted("x", weighs=False),
            data=data,
            output=str(tmp_path / "run"),
        )


def test_the_error_says_how_an_endpoint_can_report_likelihoods(data, tmp_path):
    place = {"base_url": "http://127.0.0.1:1/v1"}

    with pytest.raises(
        ModalityMismatch,
        match="fix: -a likelihood_by=echo, or likelihood_by=prompt_logprobs for vLLM",
    ):
        run(
            lambada,
            "openai/m",
            model_args=place,
            data=data,
            output=str(tmp_path / "run"),
        )
