"""Makes the fixtures of `assay conformance` whose official code is no small package: harnesses and checkouts.

    python tools/make_peer_fixtures.py lm_eval                   IFEval, BIG-Bench Hard (needs lm_eval, langdetect)
    python tools/make_peer_fixtures.py ifeval_counts             IFEval's sentences and capitals (needs Punkt)
    python tools/make_peer_fixtures.py televal CHECKOUT COMMIT   exists-match and single choice (regex)
    python tools/make_peer_fixtures.py mmlu_pro CHECKOUT COMMIT  MMLU-Pro's extraction
    python tools/make_peer_fixtures.py vlmeval CHECKOUT COMMIT   VLMEvalKit's matching of options

A checkout is a working tree of the official repository. Only its functions that read an answer are called; libraries
they import without needing them here are stood in for by empty modules. Nothing here asks assay.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.metadata import version
from types import ModuleType
from typing import Any

from fixture_files import Plain, case, write
from peer_answers import (
    BBH,
    CHOICES_ZH,
    EXISTS,
    IFEVAL,
    MMLU_PRO,
    VLM_ANSWERS,
    VLM_OPTIONS,
    Instructions,
    counted,
)


class _Absent(ModuleType):
    """A library that is imported and not used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _made_nothing


def _made_nothing(*args: Any, **options: Any) -> Any:
    """Stands for anything that is called, also to decorate a function."""
    return args[0] if args and callable(args[0]) else _made_nothing


def _without(*names: str) -> None:
    for name in names:
        sys.modules[name] = _Absent(name)


def lm_eval() -> None:
    """IFEval's checks and BIG-Bench Hard's filter, as the harness has them."""
    from lm_eval.api.metrics import exact_match_fn
    from lm_eval.filters.extraction import RegexFilter

    made = (
        f"lm_eval {version('lm_eval')}, called by tools/make_peer_fixtures.py lm_eval"
    )
    source = "lm-evaluation-harness ifeval, a copy of the official checks"
    write("ifeval@lm-eval", source, made, _ifeval_cases(IFEVAL), scorer="ifeval")
    answer_filter = RegexFilter(regex_pattern="(?<=the answer is )(.*)(?=.)")
    cases = []
    for target, answer in BBH:
        ((found,),) = answer_filter.apply([[answer]], [{}])
        score = exact_match_fn(predictions=[found], references=[target])["exact_match"]
        cases.append(case(target, answer, {"exact": float(score)}))
    write(
        "bbh@lm-eval",
        "lm-evaluation-harness bbh_cot_fewshot, its filter and exact match",
        made,
        cases,
        scorer="bbh",
    )


def ifeval_counts() -> None:
    """IFEval's two checks that count with nltk's trained Punkt model.

    The model is looked for where `NLTK_DATA` says; the wheel of llama-index-core carries it, under
    `llama_index/core/_static/nltk_cache`.
    """
    made = f"lm_eval {version('lm_eval')}, nltk {version('nltk')}, called by tools/make_peer_fixtures.py ifeval_counts"
    source = "lm-evaluation-harness ifeval, a copy of the official checks, with nltk's punkt_tab"
    write("ifeval@punkt", source, made, _ifeval_cases(counted()), scorer="ifeval")


def _ifeval_cases(asked: list[tuple[Instructions, list[str]]]) -> Iterator[Plain]:
    """Return the harness's verdict on each answer."""
    from lm_eval.tasks.ifeval.utils import process_results

    for number, (instructions, answers) in enumerate(asked):
        doc = {
            "key": number,
            "prompt": "Say something.",
            "instruction_id_list": [name for name, _ in instructions],
            "kwargs": [arguments for _, arguments in instructions],
        }
        fields = {
            "instruction_id_list": doc["instruction_id_list"],
            "kwargs": doc["kwargs"],
        }
        for answer in answers:
            found = process_results(doc, [answer])
            score = {
                "prompt_strict": float(found["prompt_level_strict_acc"]),
                "prompt_loose": float(found["prompt_level_loose_acc"]),
            }
            yield case(None, answer, score, sample={"fields": fields})


def televal(checkout: str, commit: str) -> None:
    """Exists-match and single choice of TELEVAL."""
    sys.path.insert(0, checkout)
    _without("src.config", "src.utils")
    process = importlib.import_module("src.evaluator.process")
    made = f"src/evaluator/process.py, called by tools/make_peer_fixtures.py televal CHECKOUT {commit}"
    source = f"Tele-AI/TELEVAL {commit}"
    cases = [
        case(
            _plain(wanted),
            answer,
            float(process.SimpleTokenizer.has_answer(_listed(wanted), answer)),
        )
        for wanted, answer in EXISTS
    ]
    write("exists_match@televal", source, made, cases, scorer="exists_match")
    cases = []
    for question, target, answer in CHOICES_ZH:
        found = process.OptionExtractor.has_answer(target, answer, question)
        score = {"correct": float(found["correct"]), "cover": float(found["cover"])}
        cases.append(case(target, answer, score, sample={"input": question}))
    write("single_choice_zh@televal", source, made, cases, scorer="single_choice_zh")


def mmlu_pro(checkout: str, commit: str) -> None:
    """Return the letter that MMLU-Pro's own script reads."""
    sys.path.insert(0, checkout)
    _without(
        "torch",
        "transformers",
        "vllm",
        "vllm.lora",
        "vllm.lora.request",
        "tqdm",
        "datasets",
    )
    script = importlib.import_module("evaluate_from_local")
    made = f"extract_answer of evaluate_from_local.py, called by tools/make_peer_fixtures.py mmlu_pro CHECKOUT {commit}"
    options = [f"option {number}" for number in range(10)]
    cases = [
        case(
            target,
            answer,
            {"official": float(script.extract_answer(answer) == target)},
            sample={"choices": options},
        )
        for target, answer in MMLU_PRO
    ]
    write(
        "mmlu_pro@official",
        f"TIGER-AI-Lab/MMLU-Pro {commit}",
        made,
        cases,
        scorer="mmlu_pro",
    )


def vlmeval(checkout: str, commit: str) -> None:
    """Return the letter that VLMEvalKit's exact matching reads; with that letter as target, the score must be 1."""
    _without("vlmeval", "vlmeval.smp", "vlmeval.smp.log")
    spec = importlib.util.spec_from_file_location(
        "matching_util", f"{checkout}/vlmeval/utils/matching_util.py"
    )
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    cases = []
    for options in VLM_OPTIONS:
        for answer in VLM_ANSWERS:
            found = script.can_infer(answer, dict(options))
            sample = {"choices": list(options.values())}
            if found in options:
                cases.append(case(found, answer, 1.0, outcome="scored", sample=sample))
                other = next(letter for letter in options if letter != found)
                cases.append(case(other, answer, 0.0, outcome="scored", sample=sample))
            else:
                cases.append(case("A", answer, 0.0, outcome="unparsed", sample=sample))
    made = f"can_infer of vlmeval/utils/matching_util.py, called by make_peer_fixtures.py vlmeval CHECKOUT {commit}"
    write(
        "choice_vlmeval@can-infer",
        f"VLMEvalKit {commit}",
        made,
        cases,
        scorer="choice_vlmeval",
    )


def _listed(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _plain(wanted: Any) -> Any:
    """Return references in a fixture's form: a list means any of them, `{"all_of": […]}` all."""
    if isinstance(wanted, tuple):
        return {"all_of": [_plain(part) for part in wanted]}
    return [*_parts(wanted)] if isinstance(wanted, list) else wanted


def _parts(wanted: list[Any]) -> Iterator[Any]:
    yield from (_plain(part) for part in wanted)


if __name__ == "__main__":
    commands = {
        one.__name__: one
        for one in (lm_eval, ifeval_counts, televal, mmlu_pro, vlmeval)
    }
    commands[sys.argv[1]](*sys.argv[2:])
