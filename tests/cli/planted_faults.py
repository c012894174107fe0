"""Files with one fault each: name of the fault, the file, what the line must say, and the line number it must name."""

from typing import NamedTuple


class Planted(NamedTuple):
    """One faulty file."""

    fault: str
    text: str
    says: str
    line: int | None = None


ROWS = 'dataset = [{"question": "2+2?", "answer": "4"}]\n'

BENCHMARKS = [
    Planted(
        "a syntax error",
        ROWS + "def prompt(sample)\n    return 'x'\n",
        "not valid Python",
        2,
    ),
    Planted(
        "a missing module",
        "import no_such_library_xyz\n" + ROWS,
        "pip install no_such_library_xyz",
        1,
    ),
    Planted(
        "a misspelled attribute of the sample",
        ROWS + "def prompt(sample):\n    return sample.inputs\n",
        "did you mean 'input'",
        3,
    ),
    Planted(
        "a column that is not there",
        ROWS + "def prompt(sample):\n    return sample['qestion']\n",
        "did you mean 'question'",
        3,
    ),
    Planted(
        "a prompt that returns nothing",
        ROWS + "def prompt(sample):\n    sample.input\n",
        "template must return",
        2,
    ),
    Planted(
        "a scorer that returns a text",
        ROWS + "def score(sample, output):\n    return 'good'\n",
        "must return a number",
        2,
    ),
    Planted(
        "a scorer with one parameter",
        ROWS + "def score(output):\n    return 1\n",
        "def score(sample, output)",
        2,
    ),
    Planted(
        "a name nobody defined",
        ROWS + "def score(sample, output):\n    return matches(output)\n",
        "define or import 'matches'",
        3,
    ),
    Planted(
        "a data file that is not there",
        "dataset = 'no_such_file.jsonl'\n",
        "no such file",
    ),
    Planted(
        "an unknown generation option",
        ROWS + "options = {'max_token': 5}\n",
        "did you mean 'max_tokens'",
    ),
    Planted(
        "a scorer nobody registered",
        ROWS + "score = 'exact_mach'\n",
        "did you mean 'exact_match'",
    ),
    Planted("a dataset that is a number", "dataset = 42\n", "cannot read a dataset"),
    Planted(
        "rows without an answer",
        "dataset = [{'question': '2+2?'}]\n",
        "no answer to compare with",
    ),
    Planted(
        "a division by zero",
        ROWS + "def score(sample, output):\n    return 1 / len('')\n",
        "dividing",
        3,
    ),
    Planted("an empty file", "", "defines no benchmark"),
]

INLINE = 'dataset: [{question: "2+2?", answer: "4"}]\n'

YAML = [
    Planted(
        "a misspelled key",
        INLINE + "templat: '{{ question }}'\n",
        "did you mean 'template'",
        2,
    ),
    Planted("a key given twice", INLINE + "name: a\nname: b\n", "given twice", 3),
    Planted("a bracket left open", "dataset: [{question: 2+2?\n", "not valid YAML"),
    Planted("an alias", "name: &n x\nsystem: *n\n" + INLINE, "alias", 2),
    Planted("a list instead of keys", "- a\n- b\n", "keys and values"),
    Planted(
        "a number of epochs in words", INLINE + "epochs: three\n", "whole number", 2
    ),
    Planted("options that are a text", INLINE + "options: hot\n", "max_tokens: 64", 2),
    Planted(
        "a generation option nobody knows",
        INLINE + "options: {temprature: 1.0}\n",
        "temperature",
    ),
    Planted(
        "a scorer nobody registered",
        INLINE + "scorer: exact_mach\n",
        "did you mean 'exact_match'",
    ),
    Planted(
        "a scorer's option nobody knows",
        INLINE + "scorer: {name: exact_match, casing: false}\n",
        "no option 'casing'",
    ),
    Planted(
        "a data file that is not there", "dataset: no_such_file.jsonl\n", "no such file"
    ),
    Planted(
        "a variable the rows do not have",
        INLINE + "template: 'Q: {{ qestion }}'\n",
        "qestion",
    ),
    Planted(
        "Jinja that does not parse",
        INLINE + "template: 'Q: {{ question '\n",
        "template",
    ),
    Planted(
        "a misspelled key of fewshot",
        INLINE + "fewshot: {nums: 3}\n",
        "did you mean 'num'",
    ),
]

DATA = [
    Planted("an empty file", "", "empty"),
    Planted(
        "a line that is no JSON",
        '{"question": "a", "answer": "b"}\n{"question": oops}\n',
        ":2",
    ),
    Planted(
        "a line cut off",
        '{"question": "a", "answer": "b"}\n{"question": "c", "ans',
        ":2",
    ),
    Planted("a row that is a list", '{"question": "a", "answer": "b"}\n[1, 2]\n', ":2"),
    Planted("no question in any row", '{"foo": "a", "answer": "b"}\n', "foo, answer"),
    Planted(
        "no answer in any row",
        '{"question": "a"}\n{"question": "b"}\n',
        "no answer to compare with",
    ),
    Planted(
        "the same id twice",
        '{"id": 1, "question": "a", "answer": "b"}\n{"id": 1, "question": "c", "answer": "d"}\n',
        ":2",
    ),
    Planted(
        "an answer that is not among the options",
        '{"question": "a", "options": ["x", "y"], "answer": "z"}\n',
        "answer",
    ),
    Planted(
        "bytes that are no UTF-8",
        '{"question": "a", "answer": "b"}\n{"question": "\udcff", "answer": "b"}\n',
        ":2",
    ),
    Planted(
        "a column that goes missing",
        '{"question": "a", "answer": "b"}\n{"answer": "d"}\n',
        "question",
    ),
    Planted(
        "a picture that is not there",
        '{"question": "a", "image": "no_such.png", "answer": "b"}\n',
        "no_such.png",
    ),
]

MODELS = [
    Planted(
        "a syntax error",
        "def generate(messages:\n    return 'x'\n",
        "not valid Python",
        1,
    ),
    Planted(
        "a missing module",
        "import no_such_library_xyz\ndef generate(messages): return 'x'\n",
        "pip install no_such_library_xyz",
        1,
    ),
    Planted(
        "nothing it takes",
        "def generate():\n    return 'x'\n",
        "def generate(messages)",
        1,
    ),
    Planted(
        "nothing it returns",
        "def generate(messages):\n    messages[-1]\n",
        "must return",
        1,
    ),
    Planted(
        "a number returned",
        "def generate(messages):\n    return 42\n",
        "must return text",
        1,
    ),
    Planted(
        "a key that is not there",
        "def generate(messages):\n    return messages[-1]['text']\n",
        "'content'",
        2,
    ),
    Planted(
        "an attribute of a dictionary",
        "def generate(messages):\n    return messages[-1].content\n",
        "messages are dictionaries",
        2,
    ),
    Planted(
        "a name nobody defined",
        "def generate(messages):\n    return pipe(messages)\n",
        "define or import",
        2,
    ),
    Planted(
        "a class that cannot be built",
        "class generate:\n    def __init__(self):\n        self.w = {}['w']\n    def generate(self, messages):\n"
        "        return 'x'\n",
        "KeyError",
        3,
    ),
    Planted(
        "a batch answered in part",
        "def generate(requests):\n    return []\n",
        "return one for each",
        1,
    ),
    Planted(
        "a coroutine nobody declared",
        "async def ask(m):\n    return 'x'\ndef generate(messages):\n    return ask(messages)\n",
        "async def",
        3,
    ),
    Planted(
        "a kind of part nobody knows",
        "class generate:\n    accepts = ('txt',)\n    def generate(self, messages):\n        return 'x'\n",
        "known kinds",
        1,
    ),
    Planted(
        "a model that raises",
        "def generate(messages):\n    raise RuntimeError('no weights')\n",
        "no weights",
        2,
    ),
]

SCORERS = [
    Planted(
        "a syntax error",
        "def score(sample, output):\nreturn 1\n",
        "not valid Python",
        2,
    ),
    Planted(
        "a missing module",
        "import no_such_library_xyz\ndef score(sample, output): return 1\n",
        "pip install no_such_library_xyz",
        1,
    ),
    Planted(
        "one parameter",
        "def score(output):\n    return 1\n",
        "def score(sample, output)",
        1,
    ),
    Planted(
        "three parameters",
        "def score(sample, output, extra):\n    return 1\n",
        "def score(sample, output)",
        1,
    ),
    Planted(
        "nothing returned",
        "def score(sample, output):\n    output.text == sample.target\n",
        "must return a number",
        1,
    ),
    Planted(
        "a text returned",
        "def score(sample, output):\n    return 'right'\n",
        "must return a number",
        1,
    ),
    Planted(
        "not a number",
        "def score(sample, output):\n    return float('nan')\n",
        "the score is nan",
        1,
    ),
    Planted(
        "a misspelled attribute of the output",
        "def score(sample, output):\n    return output.txt == ''\n",
        "did you mean 'text'",
        2,
    ),
    Planted(
        "a misspelled attribute of the sample",
        "def score(sample, output):\n    return sample.taget == ''\n",
        "did you mean 'target'",
        2,
    ),
    Planted(
        "a column that is not there",
        "def score(sample, output):\n    return sample['gold'] == output.text\n",
        "gold",
        2,
    ),
    Planted(
        "a number read from words",
        "def score(sample, output):\n    return float(output.text) == 4\n",
        "could not convert",
        2,
    ),
    Planted(
        "an empty dict", "def score(sample, output):\n    return {}\n", "empty dict", 1
    ),
    Planted("a score that is a number", "score = 5\n", "def score(sample, output)"),
]
