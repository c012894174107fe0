"""The program of an answer, over the shapes that answers come in.

Whether an answer passes by HumanEval's plain rule (prompt and completion, cut at its stop sequences) and by EvalPlus
0.3.1's `sanitize` was found by running both on these very answers.
"""

import pytest
from each_row import each

from assay.scorers.code.code_text import completed, fenced_blocks, whole_program

BEFORE = "import math\n\ndef half(x):\n    return x / 2\n\n"
SIGNATURE = 'def area(r: float) -> float:\n    """The area of a circle."""\n'
PROMPT = BEFORE + SIGNATURE
BODY = "    side = half(r) * 2\n    return math.pi * side ** 2\n"
WHOLE = SIGNATURE + BODY

SHAPES = {
    # the answer, our rule, whether it passes plainly, by EvalPlus, here
    "completion": (BODY, "completion", True, True, True),
    "completion that talks on": (f"{BODY}\n\nprint(area(1))\ndef g(x):\n    return (", "completion", True, True, True),
    "completion after a blank line": (f"\n{BODY}", "completion", True, True, True),
    "completion, then the function again": (f"{BODY}\ndef area(r):\n    return 0\n", "completion", True, True, True),
    "fence, whole with imports": (f"```python\n{BEFORE}{WHOLE}```", "fence", False, True, True),
    "fence, without the imports": (f"```python\n{WHOLE}```", "fence", False, False, True),
    "fence among prose": (f"Sure! Here:\n\n```python\n{WHOLE}```\n\nIt is right.", "fence", False, False, True),
    "a second fence": (f"```python\n{WHOLE}```\nUse it:\n```python\nprint(area)\n```", "fence", False, False, True),
    "fence, with a main block": (
        f"```python\n{WHOLE}\nif __name__ == '__main__':\n    raise SystemExit\n```", "fence", False, False, True,
    ),
    "fence without its end": (f"```python\n{WHOLE}", "fence", False, False, True),
    "fence without a language": (f"```\n{WHOLE}```", "fence", False, False, True),
    "fence, the body alone": (f"```python\n{BODY}```", "fence", False, False, True),
    "no fence, whole": (WHOLE, "definition", True, False, True),
    "no fence, whole with imports": (f"{BEFORE}{WHOLE}", "definition", False, True, True),
    "no fence, whole after prose": (f"Here it is:\n\n{BEFORE}{WHOLE}", "definition", False, True, True),
    "no fence, whole between prose": (f"Here it is:\n\n{WHOLE}\n\nIt is right.", "definition", False, False, True),
    "body without indentation": ("return math.pi * r ** 2\n", "completion", False, False, False),
    "nothing": ("", "completion", False, False, False),
    "a refusal": ("I cannot write that.", "completion", False, False, False),
}  # fmt: skip


def passes(program: str) -> bool:
    scope: dict = {"__name__": "program"}
    try:
        exec(program, scope)
        return abs(scope["area"](1.0) - 3.14159) < 1e-4
    except Exception:
        return False


@pytest.mark.parametrize("shape", SHAPES)
def test_the_program_is_found_in_every_shape_that_an_official_rule_reads(shape):
    text, rule, plainly, by_evalplus, here = SHAPES[shape]

    program, found = completed(PROMPT, text, "area")

    assert (found, passes(program)) == (rule, here)
    assert here or not (plainly or by_evalplus), (
        "an official rule reads it, ours does not"
    )


@pytest.mark.parametrize(
    "text",
    [
        "def area(" + "(" * 9999,
        "x\n" * 99_999 + "def area(r): (",
        "def area(r):\n" * 3000,
    ],
)
def test_an_answer_that_cannot_be_parsed_is_given_up_quickly(text):
    program, rule = completed(PROMPT, text, "area")

    assert rule == "completion" and program.startswith(PROMPT)


DOUBLE = "def double(x):\n    return 2 * x\n"
USE = "print(double(2))\n"
TESTS = "assert double(2) == 4"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        (f"```python\n{DOUBLE}```\nUse it:\n```python\n{USE}```", DOUBLE),
        (f"```python\n{DOUBLE}```\nIt prints:\n```\n4\n```", DOUBLE),
        (f"```\n{DOUBLE}```\nIt prints:\n```text\n4\n```", DOUBLE),
        (f"```python\ndef double(x): pass\n```\nBetter:\n```python\n{DOUBLE}```", DOUBLE),
        (f"```python\n{USE}```\nwith\n```python\n{DOUBLE}```", DOUBLE),
        (f"```bash\npip install x\n```\n```python\n{DOUBLE}```\n```bash\npython a.py\n```", DOUBLE),
        ("```python\nx = 1\n```\n```python\nLIMIT = 2\n```", "LIMIT = 2\n"),
        (DOUBLE, DOUBLE),
    ],
)  # fmt: skip
def test_the_program_is_the_last_block_that_defines_what_is_tested(text, program):
    assert whole_program(text, tests=TESTS)[0] == program


def test_an_example_of_the_output_is_not_a_program_of_cases():
    text = "```python\nprint(2 * int(input()))\n```\nOutput:\n```\n4\n```"

    assert whole_program(text)[0] == "print(2 * int(input()))\n"
    assert whole_program("```sh\necho 1\n```\n```\n1\n```", "bash")[0] == "echo 1\n"


def test_a_program_of_cases_is_the_last_block_that_reads_its_input():
    text = "```\nprint(input()[::-1])\n```\nFor example:\n```\nabc\n```"

    assert whole_program(text, reads_input=True)[0] == "print(input()[::-1])\n"
    assert whole_program(text)[0] == "abc\n"


def test_the_indentation_of_a_fence_is_not_part_of_its_code():
    text = (
        "1. The code:\n   ```python\n   def f(x):\n       return x\n\n   ```\n2. Done."
    )

    assert [block.code for block in fenced_blocks(text)] == [
        "def f(x):\n    return x\n\n"
    ]


DOCSTRING = (
    'def f():\n    """Example:\n    ```\n    f()\n    ```\n    """\n    return 1\n'
)
NARROW = DOCSTRING.replace("    ", "  ")
FLUSH = 'def f():\n    """\n```\nf()\n```\n    """\n    return 1\n'
SHORT = "def f():\n    return 1\n"


@each(
    ("text", "code"),
    [
        (f"```python\n{DOCSTRING}```\nDone.", DOCSTRING),
        (f"```python\n{NARROW}```\nDone.", NARROW),
        (f"```python\n{FLUSH}```\nDone.", FLUSH),
        (f"````python\n{FLUSH}````", FLUSH),
        (f"~~~\n{FLUSH}~~~", FLUSH),
        (f"```python\n{SHORT}    ```\nDone, thanks.", SHORT),
        (f"```python\n{SHORT}    ```\n\nUsage:\n```sh\nf\n```", SHORT),
        (f"```python\n{SHORT}``` That is it.\nMore", SHORT),
        (f"```python\n{SHORT}```\r\nDone", SHORT),
        (
            "1. First:\n\n   ```python\n   def f():\n       return 1\n   ```\n2. Done",
            SHORT,
        ),
        (f"```\n```python\n{SHORT}```", SHORT),
    ],
)
def test_a_block_ends_at_its_own_fence(text, code):
    program, rule = whole_program(text)

    assert (program.replace("\r", ""), rule) == (code, "fence")


def test_a_program_that_is_not_python_ends_at_the_first_fence_that_closes_it():
    text = "```python\ndef f(:\n```\nAn example:\n```sh\nls\n```"

    assert [block.code for block in fenced_blocks(text)] == ["def f(:\n", "ls\n"]
