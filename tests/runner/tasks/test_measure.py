"""How a task of choices is measured: the best a model can serve, named in the protocol, never changed within a run."""

import json

import pytest

import assay
from assay.core import (
    Abilities,
    Candidate,
    Likelihood,
    Measure,
    Output,
    Task,
    Text,
    Token,
)
from assay.core.errors import AssayError
from assay.runner.tasks.measure import STANDARD, measured

ROWS = [
    {
        "id": str(n),
        "question": f"Which is number {n}?",
        "options": ["zero", "one", "two", "three"],
        "answer": "ABCD"[n],
    }
    for n in range(4)
]
ALL = ("letter_likelihood", "first_token", "letter")


class Weigher:
    """Weighs letters, and holds `C` most probable."""

    abilities = Abilities(likelihood=True, logprobs=True)

    def __init__(self):
        self.identity = {"weigher": 1}

    def likelihood(self, requests):
        return [
            Output(
                likelihoods=tuple(
                    Likelihood(0.0 if c.strip() == "C" else -1.0)
                    for c in r.prompt.continuations
                )
            )
            for r in requests
        ]

    def generate(self, requests):
        raise AssertionError("it was to weigh")


class Counter:
    """Reports the probabilities of its first token; writes `D`, though `B` is likelier."""

    abilities = Abilities(logprobs=True)

    def __init__(self):
        self.identity = {"counter": 1}
        self.options = []

    def generate(self, requests):
        self.options += [request.options for request in requests]
        top = (("D", -1.0), (" B", -1.2), ("B", -1.3), ("The", -0.9))
        return [
            Output((Candidate((Text("D"),), tokens=(Token("D", -1.0, top),)),))
            for _ in requests
        ]


class Writer:
    """Writes a letter and can do nothing else."""

    abilities = Abilities()

    def __init__(self):
        self.identity = {"writer": 1}

    def generate(self, requests):
        return [Output.of("The answer is A.") for _ in requests]


@pytest.fixture
def task():
    return Task("four", dataset=ROWS, scorers=("choice",), measures=ALL)


@pytest.mark.parametrize(
    ("model", "protocol", "metric"),
    [
        (Weigher(), "four@letter_likelihood", "choice_likelihood.acc"),
        (Counter(), "four@first_token", "first_token"),
        (Writer(), "four@letter", "choice"),
    ],
    ids=("weigher", "counter", "writer"),
)
def test_the_best_a_model_can_serve_is_taken_and_named(
    task, model, protocol, metric, tmp_path
):
    result = assay.run(task, model, output=str(tmp_path / "run"))

    [found] = [r for r in result.results if r.metric == metric]
    assert (found.protocol, found.value, found.n) == (protocol, 0.25, 4)


def test_the_first_token_is_asked_for_with_its_alternatives(task, tmp_path):
    model = Counter()

    assay.run(task, model, output=str(tmp_path / "run"))

    assert {(o.max_tokens, o.logprobs, o.temperature) for o in model.options} == {
        (1, 20, 0.0)
    }


def test_one_can_name_the_way(task, tmp_path):
    result = assay.run(task, Counter(), measure="letter", output=str(tmp_path / "run"))

    assert [(r.protocol, r.metric, r.value) for r in result.results] == [
        ("four@letter", "choice", 0.25)
    ]


def test_two_models_are_asked_in_the_way_of_each(task, tmp_path):
    (tmp_path / "models.py").write_text(
        "from assay.core import Abilities, Likelihood, Output\n"
        "class Weigher:\n"
        "    abilities = Abilities(likelihood=True)\n    identity = {'w': 1}\n"
        "    def likelihood(self, requests):\n"
        "        return [Output(likelihoods=(Likelihood(-1.0),) * 4) for r in requests]\n"
        "    def generate(self, requests):\n        return []\n"
        "def write(messages):\n    return 'B'\n"
    )
    models = [f"{tmp_path}/models.py:Weigher", f"{tmp_path}/models.py:write"]

    result = assay.run(task, models, output=str(tmp_path / "run"))

    assert {r.protocol for r in result.results} == {
        "four@letter_likelihood",
        "four@letter",
    }


def test_scoring_again_keeps_the_way(tmp_path):
    (tmp_path / "four.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    (tmp_path / "four.yaml").write_text(
        "name: four\ndataset: four.jsonl\nmeasures: [first_token, letter]\n"
    )
    (tmp_path / "model.py").write_text(
        "from assay.core import Abilities, Candidate, Output, Text, Token\n"
        "class M:\n    abilities = Abilities(logprobs=True)\n    identity = {'m': 1}\n"
        "    def generate(self, requests):\n"
        "        d = Token('D', -1.0, (('D', -1.0),))\n"
        "        return [Output((Candidate((Text('D'),), tokens=(d,)),)) for r in requests]\n"
    )
    first = assay.run(
        str(tmp_path / "four.yaml"),
        f"{tmp_path}/model.py:M",
        output=str(tmp_path / "run"),
    )

    again = assay.score(str(tmp_path / "run"))

    assert [r.protocol for r in first.results] == ["four@first_token"]
    assert [(r.protocol, r.value) for r in again.results] == [
        ("four@first_token", 0.25)
    ]


def test_data_with_options_can_be_measured_by_name_though_no_task_says_so(tmp_path):
    (tmp_path / "four.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )

    result = assay.run(
        str(tmp_path / "four.jsonl"),
        Weigher(),
        measure="likelihood",
        output=str(tmp_path / "run"),
    )

    assert {r.protocol for r in result.results} == {"four@letter_likelihood"}


def test_a_template_or_scorer_of_the_run_is_the_way(task, tmp_path):
    result = assay.run(
        task, Writer(), scorers=["includes"], output=str(tmp_path / "run")
    )

    [found] = result.results
    assert (
        found.protocol.startswith("four@scorer=includes-")
        and found.metric == "includes"
    )


@pytest.mark.parametrize(
    ("rows", "model", "measure", "words"),
    [
        (
            ROWS,
            Writer(),
            "likelihood",
            "measuring task 'own' by letter_likelihood takes likelihood, and model",
        ),
        (
            ROWS,
            Counter(),
            "first_tokn",
            "unknown measure 'first_tokn'; fix: did you mean 'first_token'?",
        ),
        (
            [{"question": "2+2?", "answer": "4"}],
            Writer(),
            "letter",
            "no task of this run can be measured by letter",
        ),
    ],
    ids=("lacking", "unknown", "no options"),
)
def test_what_cannot_be_measured_so_is_refused(rows, model, measure, words, tmp_path):
    with pytest.raises(AssayError) as caught:
        assay.run(
            Task("own", dataset=rows),
            model,
            measure=measure,
            output=str(tmp_path / "run"),
        )

    assert words in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_measure_of_ones_own_brings_its_scorer_and_template():
    own = Measure(
        "half", template="{{ question }}", scorers="includes", options={"max_tokens": 3}
    )

    taken = measured(
        Task("t@base", scorers=("choice",), measures=(own,)), Abilities()
    ).task

    assert (taken.protocol, taken.template, taken.scorers) == (
        "t@base-half",
        "{{ question }}",
        ("includes",),
    )
    assert taken.options.max_tokens == 3


def test_a_misspelled_standard_measure_is_refused():
    with pytest.raises(
        AssayError,
        match=r"no standard measure is called 'letters'.*known: letter_likelihood, text_",
    ):
        measured(Task("t", measures=("letters",)), Abilities())


def test_an_ability_a_server_may_lack_is_used_only_where_it_is_asked_for():
    task = Task("four", measures=ALL)
    unsure = Abilities(logprobs=True, unsure=frozenset({"logprobs"}))

    assert measured(task, unsure).task.protocol == "four@letter"
    assert measured(task, unsure, "first_token").task.protocol == "four@first_token"


def test_the_standard_measures_ask_only_for_abilities_that_exist():
    names = {need for way in STANDARD.values() for need in way.needs}

    assert all(isinstance(getattr(Abilities(), name), bool) for name in names)


def test_letters_and_texts_are_two_measures_with_two_names(tmp_path):
    data = tmp_path / "four.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    letters = assay.run(
        str(data),
        Weigher(),
        measure="letter_likelihood",
        output=str(tmp_path / "letters"),
    )
    texts = assay.run(
        str(data), Weigher(), measure="text_likelihood", output=str(tmp_path / "texts")
    )

    assert [(r.protocol, r.metric) for r in letters.results] == [
        ("four@letter_likelihood", "choice_likelihood.acc")
    ]
    assert {r.protocol for r in texts.results} == {"four@text_likelihood"}
    assert [r.metric.partition(".")[2] for r in texts.results] == [
        "acc",
        "acc_norm",
        "acc_bytes",
    ]


@pytest.mark.parametrize(
    ("ways", "taken"),
    [(("text_likelihood",), "text"), (("letter_likelihood",), "letter")],
)
def test_the_old_word_likelihood_means_the_one_a_task_has(ways, taken):
    task = Task("four", measures=ways)

    assert (
        measured(task, Abilities(likelihood=True), "likelihood").measure
        == f"{taken}_likelihood"
    )


def test_the_old_word_likelihood_in_a_task_means_letters_as_before():
    assert (
        measured(
            Task("four", measures=("likelihood",)), Abilities(likelihood=True)
        ).measure
        == "letter_likelihood"
    )


def test_a_scorer_and_a_measure_of_the_run_both_apply(task, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def score(sample, output):\n    return float(len(output.likelihoods))\n"
    )
    mine = f"{tmp_path}/mine.py"

    result = assay.run(
        task,
        Weigher(),
        measure="letter_likelihood",
        scorers=[mine],
        output=str(tmp_path / "run"),
    )

    assert [(r.metric, r.value) for r in result.results] == [("score", 4.0)]
    assert result.results[0].protocol.startswith("four@letter_likelihood+scorer=score-")


def test_a_template_that_a_measure_would_throw_away_is_refused(task, tmp_path):
    texts = task.but(measures=("text_likelihood",))

    with pytest.raises(
        AssayError,
        match="--measure text_likelihood asks task 'four' with its own template",
    ):
        measured = {"measure": "text_likelihood", "template": "{{ question }} ?"}
        assay.run(texts, Weigher(), output=str(tmp_path / "run"), **measured)


def test_letters_are_weighed_after_the_runs_own_template_if_it_shows_the_options(
    task, tmp_path
):
    shown = "{{ question }} {% for o in choices %}{{ letters[loop.index0] }}) {{ o }} {% endfor %}"

    result = assay.run(
        task,
        Weigher(),
        measure="likelihood",
        template=shown,
        output=str(tmp_path / "run"),
    )

    assert result.status == "complete"
    with pytest.raises(AssayError, match="the prompt does not show the options"):
        assay.run(
            task,
            Weigher(),
            measure="likelihood",
            template="{{ question }} ?",
            output=str(tmp_path / "other"),
        )
