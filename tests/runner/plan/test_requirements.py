"""A missing library, normalizer or worker is found before the model is asked."""

import importlib.util

import pytest

import assay
from assay.catalogue import SCORERS
from assay.core import PlanError, Requirement, UsageError
from assay.models import build_model
from assay.models.workers.sources import imported
from assay.registry import scorers

ROWS = [{"question": "?", "answer": "hello there"}]


def hide(monkeypatch, *packages):
    real = importlib.util.find_spec
    shown = lambda name, *more: None if name in packages else real(name, *more)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", shown)


@pytest.mark.parametrize(
    ("scorer", "package", "words"),
    [
        (
            {"name": "wer", "normalize": "whisper-en"},
            "whisper_normalizer",
            "whisper-normalizer is not installed",
        ),
        ({"name": "cer", "normalize": "zh"}, "wetext", "wetext is not installed"),
        ({"name": "mer", "normalize": "zh"}, "opencc", "OpenCC is not installed"),
        ("bleu", "sacrebleu", "sacrebleu is not installed"),
        ("math", "math_verify", "math-verify is not installed"),
        (
            {"name": "rouge", "lsum": True},
            "rouge_score",
            "rouge-score is not installed",
        ),
    ],
)
def test_a_missing_library_is_reported_before_the_model_is_asked(
    monkeypatch, tmp_path, scorer, package, words
):
    hide(monkeypatch, package)
    asked = []

    with pytest.raises(UsageError, match=words) as caught:
        assay.run(
            assay.Task("t", dataset=ROWS, scorers=(scorer,)),
            lambda messages: asked.append(1) or "x",
            output=str(tmp_path / "run"),
        )

    assert not asked and not (tmp_path / "run").exists()
    assert "pip install" in str(caught.value) and "scorer" in str(caught.value)


def test_every_requirement_names_something_that_can_be_installed():
    declared = [
        requirement
        for name in SCORERS
        if isinstance(found := getattr(scorers.get(name), "requires", ()), tuple)
        for requirement in found
    ]

    assert declared and all(
        isinstance(one, Requirement) and one.pip and one.feature for one in declared
    )


def test_a_worker_whose_library_is_missing_is_found_by_the_plan(tmp_path):
    (tmp_path / "needy.py").write_text(
        "import json\nimport no_such_library_here\nclass Needy:\n    def answer(self, request):\n        return 1\n"
    )
    task = assay.Task("t", dataset=ROWS, scorers=({"name": "judge"},))

    with pytest.raises(
        UsageError,
        match=r"worker .*needs no_such_library_here, which this Python does not have",
    ):
        assay.run(
            task,
            lambda messages: "x",
            judges={"judge": f"worker/{tmp_path}/needy.py:Needy"},
            output=str(tmp_path / "run"),
        )


def test_what_a_file_is_prepared_to_do_without_is_not_required():
    source = (
        "from __future__ import annotations\nimport os, torch.nn\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import checked\ntry:\n    import perhaps\nexcept ImportError:\n    perhaps = None\n"
        "from . import beside\ndef f():\n    from PIL import Image\n"
    )

    assert imported(source) == ["torch", "PIL"]


def test_a_worker_that_has_all_it_needs_is_ready(tmp_path):
    (tmp_path / "plain.py").write_text(
        "import json\nclass Plain:\n    def answer(self, request):\n        return 1\n"
    )

    build_model(f"worker/{tmp_path}/plain.py:Plain").check_ready()


def test_all_faults_come_at_once(monkeypatch, tmp_path):
    hide(monkeypatch, "sacrebleu", "math_verify")

    with pytest.raises(PlanError) as caught:
        assay.run(
            assay.Task("t", dataset=ROWS, scorers=("bleu", "math")),
            lambda messages: "x",
        )

    assert len(caught.value.faults) == 2
