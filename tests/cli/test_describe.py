"""What `assay show file.py:NAME` says of a thing."""

from assay.cli.show import described


def test_the_value_of_a_text_constant_is_not_shown(tmp_path):
    (tmp_path / "conf.py").write_text('API_KEY = "hunter2-hunter2"\nMOST = 3\n')

    lines = [
        line
        for name in ("API_KEY", "MOST")
        for line in described(f"{tmp_path}/conf.py:{name}")
    ]

    assert "hunter2" not in "\n".join(lines)
    assert "  defined at unknown" in lines


def test_a_function_is_shown_with_its_place_and_its_first_line(tmp_path):
    (tmp_path / "models.py").write_text(
        'def echo(prompt):\n    """Says it again."""\n    return prompt\n'
    )

    lines = list(described(f"{tmp_path}/models.py:echo"))

    assert lines[0].endswith("models.py:echo: Says it again.")
    assert lines[1].endswith("models.py:1")
