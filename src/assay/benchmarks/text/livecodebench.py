"""LiveCodeBench: contest problems, solved by a program that reads and prints or by a method of `Solution`.

One row: `{"question_id": "…", "question_content": "…", "starter_code": "", "public_test_cases": "[{\\"input\\": …,
\\"output\\": …, \\"testtype\\": \\"stdin\\"}]", "private_test_cases": "[…]", "metadata": "{\\"func_name\\": …}"}`

Citation: Jain et al. 2024, LiveCodeBench, arXiv 2403.07974. Licence: CC (its hub page), problems of their sites.

Protocol: the question with its format, in one turn; what stands between the last two fences is run in a sandbox against
all public and private cases. Tried on rows of its shape that ship with assay, not on its own.
"""

from ...core import DataSource, GenerateOptions, Message, Prompt, Sample, Task

SYSTEM = (
    "You are an expert Python programmer. You will be given a question (problem specification) and will generate a "
    "correct Python program that matches the specification and passes all tests."
)
_READS = (
    "Read the inputs from stdin, solve the problem and write the answer to stdout. Enclose your code within delimiters "
    "as follows.\n```python\n# YOUR CODE HERE\n```"
)
_STARTS = "Use the following starter code and enclose your code within delimiters.\n```python\n{starter}\n```"


def as_question(sample: Sample) -> Prompt:
    """The problem, and the form its solution must have."""
    starter = str(sample.fields.get("starter_code") or "")
    form = _STARTS.format(starter=starter) if starter else _READS
    question = f"### Question:\n{sample.input}\n\n### Format: {form}\n\n### Answer:"
    return Prompt((Message.of("system", SYSTEM), Message.of("user", question)))


livecodebench = Task(
    name="livecodebench",
    dataset=DataSource(
        hub="livecodebench/code_generation_lite",
        split="test",
        local=("livecodebench/test.jsonl",),
        mini="benchmarks/data/text/livecodebench.jsonl",
    ),
    columns={"id": "question_id", "input": "question_content", "group": "difficulty"},
    template=as_question,
    scorers=("livecodebench",),
    options=GenerateOptions(temperature=0.2, max_tokens=2000),
    protocol="livecodebench@generation",
    description="contest problems: pass@k over all cases, run in a sandbox (format-checked)",
    citation="arXiv 2403.07974",
    licence="CC",
    data_hint="test.jsonl with question_content, public_test_cases and private_test_cases",
)
