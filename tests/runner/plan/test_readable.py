"""A scorer that finds nothing of what it reads in the answers of a run is refused before anything is asked."""

import json

import pytest
from each_row import each

import assay
from assay.cli.main import main
from assay.core import MissingExtra, UsageError
from assay.registry import scorers

KINDS = {
    "text",
    "image",
    "audio",
    "video",
    "answer",
    "likelihood",
    "logprobs",
    "target",
}
ROWS = [
    {"question": f"Which is {n}?", "options": ["zero", "one"], "answer": "AB"[n]}
    for n in range(2)
]
WEIGHER = (
    "from assay.core import Abilities, Likelihood, Output\n"
    "class Weigher:\n"
    "    abilities = Abilities(likelihood=True)\n"
    "    identity = {'w': 1}\n"
    "    def likelihood(self, requests):\n"
    "        return [Output(likelihoods=(Likelihood(-1.0), Likelihood(-2.0))) for r in requests]\n"
    "    def generate(self, requests):\n"
    "        return [Output.of('A') for r in requests]\n"
    "def mine(sample, output):\n"
    "    return float(len(output.likelihoods))\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "weigher.py").write_text(WEIGHER)
    return tmp_path


def weighed(folder):
    return assay.run(
        "two.jsonl",
        "weigher.py:Weigher",
        measure="letter_likelihood",
        output=str(folder / "run"),
    )


@each("name", scorers.names())
def test_every_shipped_scorer_declares_what_it_reads(name):
    try:
        scorer = scorers.get(name)
    except MissingExtra as error:
        pytest.skip(str(error))

    reads = scorer.reads if not isinstance(scorer.reads, property) else ("image",)

    assert isinstance(reads, tuple) and set(reads) <= KINDS


def test_a_likelihood_run_is_not_scored_by_a_scorer_of_text(folder, capsys):
    weighed(folder)
    before = (folder / "run" / "summary.json").read_bytes()

    code = main(["score", "run", "--scorer", "choice"])

    said = capsys.readouterr().err
    assert code == 2 and said.count("\n") == 1
    assert (
        "scorer 'choice' reads text, and the answers to this task by letter_likelihood hold only likelihoods"
        in said
    )
    assert (folder / "run" / "summary.json").read_bytes() == before


def test_a_run_of_text_is_not_scored_by_a_scorer_of_likelihoods(folder):
    assay.run(
        "two.jsonl", "weigher.py:Weigher", measure="letter", output=str(folder / "run")
    )

    with pytest.raises(
        UsageError,
        match=r"scorer 'choice_likelihood' reads likelihoods, .* hold only text",
    ):
        assay.score(folder / "run", scorers=("choice_likelihood",))


def test_a_scorer_of_ones_own_scores_likelihoods_under_the_protocol_that_ran(folder):
    weighed(folder)

    again = assay.score(folder / "run", scorers=("weigher.py:mine",))

    assert [(r.metric, r.value) for r in again.results] == [("mine", 2.0)]
    assert again.results[0].protocol.startswith("two@letter_likelihood+scorer=mine-")


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        ("dnsmos", "reads audio, and the answers to this task hold only text"),
        ("first_token", "--measure first_token"),
    ],
)
def test_a_run_that_could_not_be_scored_is_not_asked_for(folder, scorer, words):
    with pytest.raises(UsageError) as caught:
        assay.run("two.jsonl", "scripted", scorers=[scorer], output=str(folder / "run"))

    assert words in str(caught.value) and not (folder / "run").exists()
