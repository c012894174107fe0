"""Every verb says in one line that a `run.json` does not have the form of a run, whatever is wrong in it."""

import json

import pytest

FAULTS = {
    "no list of cells": lambda plain: {**plain, "cells": None},
    "a cell that is a number": lambda plain: {**plain, "cells": [1]},
    "a cell without a model": lambda plain: {**plain, "cells": [{"task": "sums"}]},
    "scorers in a list": lambda plain: {
        **plain, "cells": [{**plain["cells"][0], "scorers": ["exact_match"]}],
    },
    "options that are text": lambda plain: {
        **plain, "cells": [{**plain["cells"][0], "options": "x"}],
    },
    "no scorers": lambda plain: {
        **plain, "cells": [{**plain["cells"][0], "scorers": None}],
    },
    "abilities that are a number": lambda plain: {
        **plain, "cells": [{**plain["cells"][0], "abilities": {"produces": [None]}}],
    },
    "repeats that are text": lambda plain: {
        **plain, "cells": [{**plain["cells"][0], "epochs": "x"}],
    },
    "no settings": lambda plain: {**plain, "config": None},
    "versions in a list": lambda plain: {**plain, "versions": [1]},
    "no object": lambda plain: [plain],
    "too deep": lambda plain: None,
}  # fmt: skip
VERBS = {
    "show": ("show", "run"),
    "compare": ("compare", "other", "run"),
    "leaderboard": ("leaderboard", "run"),
    "gate": ("gate", "run", "--baseline", "other"),
    "report": ("report", "run", "-o", "report.html"),
    "verify": ("verify", "run"),
    "export": ("export", "run", "-o", "samples.csv"),
    "export for inspect": ("export", "run", "--to", "inspect", "-o", "logs"),
    "merge": ("merge", "run", "-o", "merged"),
    "label": ("label", "run"),
    "score": ("score", "run"),
    "power": ("power", "run"),
}


@pytest.fixture
def runs(assay, folder):
    for name in ("run", "other"):
        said = assay("run", "sums.jsonl", "--model", "four.py:generate", "-o", name)
        assert said.code == 0, said.err
    return folder


@pytest.mark.parametrize("verb", VERBS)
def test_a_changed_run_json_is_one_line(verb, assay, runs):
    path = runs / "run" / "run.json"
    whole = path.read_text()
    for name, change in FAULTS.items():
        changed = change(json.loads(whole))
        path.write_text("[" * 100_000 if changed is None else json.dumps(changed))

        said = assay(*VERBS[verb])

        assert said.code in (1, 2), (name, said)
        assert "unexpected" not in said.err, (name, said)
        assert said.err.count("\n") == 1 and "; fix: " in said.err, (name, said)


def test_a_bundle_is_written_of_a_run_whose_numbers_cannot_be_used(assay, runs):
    pytest.importorskip("starlette")
    path = runs / "run" / "summary.json"
    path.write_text(path.read_text().replace('"notes"', '"remarks"', 1) + " ")

    said = assay("view", "run", "--bundle", "bundle")

    assert said.code == 0, said.err
    assert (runs / "bundle" / "index.html").is_file()


@pytest.mark.parametrize("verb", VERBS)
def test_a_run_without_its_journal_is_not_a_fault_of_assay(verb, assay, runs):
    (runs / "run" / "records.jsonl").unlink()

    said = assay(*VERBS[verb])

    assert "unexpected" not in said.err, said
