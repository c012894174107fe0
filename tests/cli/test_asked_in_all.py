"""The last line of a run: what was asked in all, also by earlier runs in its folder."""

import json

from assay.cli.main import main


def test_tokens_of_earlier_runs_count_after_a_resume(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(4)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from assay.core import Output, Usage\n"
        "def generate(messages):\n"
        "    return replace(Output.of('x'), usage=Usage(90, 10))\n",
        "utf-8",
    )
    command = ["run", "rows.jsonl", "--model", "mine.py:generate", "-o", "run"]

    main([*command, "--limit", "3"])
    first = capsys.readouterr().out
    main(command)
    second = capsys.readouterr().out

    assert "asked in all: 270 tokens in, 30 tokens out" in first
    assert "asked in all: 360 tokens in, 40 tokens out" in second
