"""Conformance: our scorers say what official code says, and would be caught if they did not."""

import json
from dataclasses import replace
from importlib import import_module

import pytest
from each_row import each

from assay.cli.conformance import command
from assay.conformance import check, fixture_names, load_fixture, select
from assay.core import MissingExtra, ScorerError, UnknownName, UsageError
from assay.runner.tasks.components import build_scorer

NAMES = fixture_names()


MARKS = {
    "dnsmos@speechmos": pytest.mark.costly,  # ten windows of a network; tests/scorers/speech/test_dnsmos.py has one
    "math@math-verify": pytest.mark.xdist_group("math-verify"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, ())) for name in NAMES]
)
def test_every_number_is_the_official_one(name):
    verdict = check(load_fixture(name))

    if verdict.not_run:
        pytest.skip(verdict.not_run)
    assert verdict.word == "equal", "\n".join(map(str, verdict.differences))


@each("name", NAMES)
def test_every_fixture_names_its_source_and_how_it_was_made(name):
    fixture = load_fixture(name)

    assert fixture.source and fixture.made_by and fixture.name == name
    assert bool(fixture.scorer) != bool(fixture.function)


SCORED = [
    n
    for n in NAMES
    if any(case.score is not None and not case.args for case in load_fixture(n).cases)
]


@each("name", SCORED)
def test_a_scorer_with_its_sign_flipped_breaks_its_fixture(name):
    fixture = load_fixture(name)
    _, scorer = build_scorer(fixture.scorer, name)

    def flipped(sample, output):
        value = scorer(sample, output).value
        return (
            {key: -one for key, one in value.items()}
            if isinstance(value, dict)
            else -value
        )

    if check(fixture).not_run:
        pytest.skip("a library is not installed")
    if all(case.score == 0 for case in fixture.cases):
        # Nothing has the other sign of nothing: these cases must notice a constant instead.
        assert check(fixture, lambda sample, output: 1.0).word == "differs"
    else:
        assert check(fixture, flipped).word == "differs"


def _negated(function):
    return lambda *args, **options: -function(*args, **options)


def _opposite(function):
    return lambda *args, **options: not function(*args, **options)


def _with_other_sign(f):
    return lambda t, a, e: f(t, a, -e)


def _swapped(function):
    return lambda one, other, *rest: function(other, one, *rest)


MUTANTS = (
    ("vqa_accuracy@always", "assay.scorers.vision.vqa", "agreement", _negated),
    ("vqa_accuracy@a013f00", "assay.scorers.vision.vqa", "agreement", _negated),
    ("relaxed_accuracy@chartqa", "assay.scorers.vision.relaxed", "relaxed_equal", _with_other_sign),
    ("relaxed_accuracy@chartqa", "assay.scorers.vision.relaxed", "relaxed_equal", _swapped),
    ("anls@definition", "assay.scorers.vision.anls", "similarity", _negated),
    ("anls@definition", "assay.scorers.vision.anls", "THRESHOLD", lambda value: -value),
    ("anls_star@reference", "assay.scorers.vision.anls", "_mean", _negated),
    ("box_iou@refcoco", "assay.scorers.vision.boxes", "iou", _negated),
    ("caption@coco-caption", "assay.scorers.vision.caption", "BETA", lambda value: 1 / value),
    ("caption@coco-caption", "assay.summarizers.caption_summary", "_similarity", _negated),
    ("caption@coco-caption", "assay.summarizers.caption_summary", "SIGMA", lambda value: value * 1j),
    ("f1@squad", "assay.scorers.text.word_overlap", "token_f1", _negated),
    ("geneval@position", "assay.scorers.image.geneval", "directions", _swapped),
    ("dpg@dependent", "assay.scorers.image.dpg", "settle", lambda f: lambda answers, parents: answers),
    ("dpg@dependent", "assay.scorers.image.dpg", "is_yes", _opposite),
    ("rouge@rouge-score", "assay.scorers.text.word_overlap", "_f_measure", lambda f: lambda s, r, a: f(-s, r, a)),
    ("clip_score@official", "assay.scorers.image.text_alignment", "clip_score", _negated),
    ("yes_no@mme-words", "assay.summarizers.pairs", "sum_of_scores", _negated),
    ("pairwise_judge@both-orders", "assay.summarizers.statistics.agreement", "fold_verdicts",
     lambda f: lambda pairs: replace(f(pairs), wins=f(pairs).losses)),
    ("fid@moments", "assay.scorers.image.fid", "distance_of_moments", _negated),
    ("si_sdr@torchmetrics", "assay.scorers.speech.recordings", "si_sdr", _negated),
    ("image_similarity@psnr", "assay.scorers.image.image_similarity", "psnr", _negated),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "module", "attribute", "change"),
    MUTANTS,
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_one_flipped_sign_inside_a_metric_is_noticed(
    name, module, attribute, change, monkeypatch
):
    monkeypatch.setattr(
        f"{module}.{attribute}", change(getattr(import_module(module), attribute))
    )

    try:
        verdict = check(load_fixture(name))
    except (ScorerError, TypeError):
        return  # a mutant that cannot even count is noticed too
    assert verdict.word == "differs"


def test_the_command_says_equal_and_returns_0(capsys):
    assert command(["relaxed_accuracy"]) == 0

    printed = capsys.readouterr().out
    assert (
        "relaxed_accuracy@chartqa  equal" in printed
        and "2 equal, 0 differ, 0 not run" in printed
    )


def test_a_scorer_represents_all_its_protocols():
    protocols = ["a013f00", "always", "vlmeval"]
    assert [fixture.name for fixture in select("vqa_accuracy")] == [
        f"vqa_accuracy@{one}" for one in protocols
    ]


def metric_file(tmp_path, body):
    path = tmp_path / "mine.py"
    path.write_text(f"def metric(sample, output):\n    {body}\n")
    return f"{path}:metric"


def test_a_users_metric_that_agrees_is_equal(tmp_path, capsys):
    mine = metric_file(
        tmp_path,
        "from assay.scorers.vision.anls import Anls; return Anls()(sample, output).value",
    )

    assert command([mine, "--against", "anls@definition"]) == 0
    assert "equal" in capsys.readouterr().out


def test_a_users_metric_that_differs_returns_1_and_shows_both_numbers(tmp_path, capsys):
    mine = metric_file(tmp_path, "return output.text == sample.target")

    assert command([mine, "--against", "relaxed_accuracy"]) == 1
    assert "case 1: official 1.0, here 0.0" in capsys.readouterr().out


def test_a_users_own_fixture_file_is_read(tmp_path, capsys):
    cases = [
        {"sample": {"target": "a"}, "output": said, "score": score}
        for said, score in (("a", 1), ("b", 0))
    ]
    path = tmp_path / "cases.json"
    path.write_text(
        json.dumps({"name": "same", "source": "us", "made_by": "hand", "cases": cases})
    )

    mine = metric_file(tmp_path, "return output.text == sample.target")

    assert command([mine, "--against", str(path), "--json"]) == 0
    (plain,) = json.loads(capsys.readouterr().out)
    assert (plain["verdict"], plain["equal"], plain["made_by"]) == ("equal", 2, "hand")


def test_a_users_metric_that_fails_names_the_case_and_the_line(tmp_path):
    mine = metric_file(tmp_path, "return 1 / 0")

    with pytest.raises(
        ScorerError, match=r"ZeroDivisionError: division by zero \(mine.py:2\)"
    ):
        command([mine, "--against", "anls"])


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        (["wre"], UnknownName, "unknown fixture 'wre'"),
        (["my.py:metric"], UsageError, "there are no cases to compare it with"),
        (
            ["wer", "--against", "cer"],
            UsageError,
            "--against is for a metric of your own",
        ),
        (["none.json"], UsageError, "no such fixture"),
    ],
)
def test_a_wrong_call_is_explained(arguments, error, what):
    with pytest.raises(error, match=what):
        command(arguments)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"made_by": ""}, "the fixture has no 'made_by'"),
        ({"sorcer": 1}, "unknown key 'sorcer'"),
        ({"cases": [{"output": "x"}]}, "the case has no official score"),
        ({"cases": [{"says": "x"}]}, "a case has sample, output"),
        ({"function": "my.py:fn"}, "names a function of the package"),
    ],
)
def test_a_fixture_that_hides_something_is_refused(change, what, tmp_path):
    plain = {
        "name": "x",
        "source": "us",
        "made_by": "hand",
        "cases": [{"output": "x", "score": 1}],
        **change,
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(plain))

    with pytest.raises(UsageError, match=what):
        load_fixture(str(path))


def test_a_missing_library_is_reported_and_not_counted_as_a_difference(
    monkeypatch, capsys
):
    def missing(*args):
        raise MissingExtra("sacrebleu", "assay[metrics]")

    monkeypatch.setattr("assay.scorers.text.translation._bleu", missing)

    assert command(["bleu@readme"]) == 0
    assert "not run" in capsys.readouterr().out
