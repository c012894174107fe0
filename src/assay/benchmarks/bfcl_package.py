"""Import data and checkers of the installed `bfcl-eval` package, unchanged.

The package requires large libraries that neither data nor checkers need, so it is
installed with `--no-deps`. While it is imported, small substitutes replace the missing
libraries.
"""

import ast
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

from ..core import MissingExtra
from ..core.tools import ToolCall
from ..models.tool_syntaxes import computed

PIP = "--no-deps bfcl-eval==2026.3.23"
FC, PROMPT = "fc", "prompt"
"""The two modes. `fc` sends the functions as tools; in `prompt`, BFCL's own system prompt describes them."""
_LANGUAGES = {"simple_java": "JAVA", "simple_javascript": "JAVASCRIPT"}
PARSERS_PIP = (
    "tree_sitter==0.21.3 tree_sitter_java==0.21.0 tree_sitter_javascript==0.21.4"
)
_PARSERS = {
    "java_parser": "parse_java_function_call",
    "js_parser": "parse_javascript_function_call",
}
"""The package's parsers of Java and JavaScript, needed in mode `prompt`: module name and function name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a checker."""

    is_right: bool
    error_type: str = ""
    error: str = ""


class Undecoded(ValueError):
    """Raised if BFCL's decoder cannot read calls in the text of an answer."""


@dataclass(frozen=True, slots=True)
class Bfcl:
    """The parts of the package that assay uses."""

    utils: Any
    handler_utils: Any
    checker: Any
    enums: Any
    styles: Any
    type_mappings: Any

    def entries(self, category: str, *, with_hints: bool) -> list[dict[str, Any]]:
        """Return the questions of a category. Hints for Java and JavaScript are included in the prompt."""
        entries: list[dict[str, Any]] = self.utils.load_dataset_entry(
            category,
            include_prereq=False,
            include_language_specific_hint=with_hints,
        )
        return entries

    def ground_truths(self, category: str) -> list[Any]:
        """Return the accepted calls of a category, in the order of its questions."""
        rows = self.utils.load_ground_truth_entry(category)
        return [row["ground_truth"] for row in rows]

    def openai_tools(self, functions: Sequence[Any]) -> list[dict[str, Any]]:
        """Return functions as OpenAI tools, converted by BFCL: names with `_` instead of `.`, and JSON types."""
        tools: list[dict[str, Any]] = self.handler_utils.convert_to_tool(
            deepcopy(list(functions)),
            self.type_mappings.GORILLA_TO_OPENAPI,
            self.styles.OPENAI_COMPLETIONS,
        )
        return tools

    def prompted(
        self,
        messages: Sequence[Any],
        functions: Sequence[Any],
        sample_id: str,
    ) -> list[dict[str, Any]]:
        """Return messages with BFCL's system prompt, which describes the functions."""
        prompted: list[dict[str, Any]] = (
            self.handler_utils.system_prompt_pre_processing_chat_model(
                deepcopy(list(messages)),
                functions,
                sample_id,
            )
        )
        return prompted

    def decode_text(self, text: str, category: str) -> list[Any]:
        """Return the calls in an answer of mode `prompt`. Raise `Undecoded` if there are none."""
        language = _LANGUAGES.get(category, "PYTHON")
        if language == "PYTHON":
            _refuse_computing(text)
        form = getattr(self.enums.ReturnFormat, language)
        try:
            calls: list[Any] = self.handler_utils.default_decode_ast_prompting(
                text, form
            )
            return calls
        except Exception as error:
            raise Undecoded(str(error)) from error

    def decode_executable(self, text: str) -> list[str]:
        """Return the calls in an answer of mode `prompt` as Python text, without running it."""
        _refuse_computing(text)
        try:
            calls = self.handler_utils.default_decode_execute_prompting(text)
        except Exception as error:
            raise Undecoded(str(error)) from error
        return [str(call) for call in calls]

    def check_calls(
        self,
        category: str,
        mode: str,
        functions: Sequence[Any],
        decoded: object,
        ground_truth: object,
    ) -> Verdict:
        """Return the verdict on decoded calls, computed as in BFCL's runner."""
        if not self.utils.is_function_calling_format_output(decoded):
            words = "Did not output in the specified format."
            return Verdict(False, "ast_decoder:decoder_wrong_output_format", words)
        language = getattr(self.enums.Language, _LANGUAGES.get(category, "PYTHON"))
        result = self.checker.ast_checker(
            list(functions),
            decoded,
            ground_truth,
            language,
            category,
            mode,
        )
        if result["valid"]:
            return Verdict(True)
        return Verdict(
            False,
            str(result.get("error_type", "")),
            str(result.get("error", "")),
        )

    def is_no_call(self, decoded: object) -> bool:
        """Return True if BFCL's categories irrelevance and relevance would count these decoded calls as no call."""
        return bool(self.utils.is_empty_output(decoded))


def decoded_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return tool calls in the format that BFCL's decoder produces: `[{name:
    arguments}]`.

    Raise `Undecoded` if the arguments of a call are not a JSON object.
    """
    decoded: list[dict[str, Any]] = []
    for call in calls:
        if isinstance(call.arguments, str):
            raise Undecoded(f"arguments of {call.name} are not a JSON object")
        decoded.append({call.name: dict(call.arguments)})
    return decoded


@functools.cache
def load_bfcl() -> Bfcl:
    """Import the needed parts of the package. If it is missing, raise an error with the command that installs it."""
    check_installed()
    with importing():
        utils = importlib.import_module("bfcl_eval.utils")
        handler_utils = importlib.import_module("bfcl_eval.model_handler.utils")
        checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
        enums = importlib.import_module("bfcl_eval.constants.enums")
        mappings = importlib.import_module("bfcl_eval.constants.type_mappings")
    return Bfcl(utils, handler_utils, checker, enums, enums.ModelStyle, mappings)


def check_installed() -> None:
    """Raise an error with the install command if the package is missing."""
    if importlib.util.find_spec("bfcl_eval") is None:
        raise MissingExtra("bfcl-eval, which holds BFCL's data and checkers,", PIP)


def check_parser(category: str) -> None:
    """Raise an error with the install command if a category in mode `prompt` needs a parser that is missing."""
    if category in _LANGUAGES and not _can_parse():
        raise MissingExtra(f"a parser for BFCL's category {category}", PARSERS_PIP)


def version() -> str:
    """Return the version of the installed package."""
    return importlib.metadata.version("bfcl-eval")


@contextmanager
def importing() -> Iterator[None]:
    """Prepare the import of the package, and clean up afterwards.

    Missing modules get substitutes. Files that the package creates go to a temporary
    folder.
    """
    stand_ins = _stand_ins()
    before = {name: sys.modules.get(name) for name in stand_ins}
    folder_before = os.environ.get("BFCL_PROJECT_ROOT")
    with tempfile.TemporaryDirectory(prefix="assay-bfcl-") as folder:
        os.environ["BFCL_PROJECT_ROOT"] = folder
        sys.modules.update(stand_ins)
        try:
            yield
        finally:
            _restore(before)
            if folder_before is None:
                del os.environ["BFCL_PROJECT_ROOT"]
            else:
                os.environ["BFCL_PROJECT_ROOT"] = folder_before


def _restore(modules: Mapping[str, ModuleType | None]) -> None:
    """Put back the original modules. Substitutes for modules of the package itself remain in place."""
    for name, module in modules.items():
        if module is not None:
            sys.modules[name] = module
        elif not name.startswith("bfcl_eval."):
            del sys.modules[name]


def _stand_ins() -> dict[str, ModuleType]:
    # The package's list of models imports the libraries of all providers; checkers need one setting of it.
    models = {
        FC: SimpleNamespace(underscore_to_dot=True),
        PROMPT: SimpleNamespace(underscore_to_dot=False),
    }
    modules: dict[str, Mapping[str, Any]] = {
        "bfcl_eval.constants.model_config": {"MODEL_CONFIG_MAPPING": models},
        # The package writes no files here, so its file locks are not needed.
        "filelock": {"FileLock": _NoLock},
    }
    if importlib.util.find_spec("tenacity") is None:
        names = ("retry", "retry_if_exception_message", "retry_if_exception_type")
        members = dict.fromkeys((*names, "wait_random_exponential"), _never)
        modules["tenacity"] = members
    if not _can_parse():
        for name, function in _PARSERS.items():
            # Never called: `check_parser` refused the categories that need it.
            modules[f"bfcl_eval.model_handler.parser.{name}"] = {function: _never}
    return {name: _module(name, members) for name, members in modules.items()}


def _module(
    name: str,
    members: Mapping[str, Any],
) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


class _NoLock:
    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> "_NoLock":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _never(*values: object, **options: object) -> object:
    raise AssertionError("called by no checker")


def _can_parse() -> bool:
    """Return True if the parsers of Java and JavaScript are installed in the version that the package needs."""
    try:
        is_fitting = importlib.metadata.version("tree_sitter").startswith("0.21.")
        importlib.metadata.version("tree_sitter_java")
        importlib.metadata.version("tree_sitter_javascript")
    except importlib.metadata.PackageNotFoundError:
        return False
    return is_fitting


def _refuse_computing(text: str) -> None:
    """Raise `Undecoded` for a text with expressions other than sums and products of numbers.

    BFCL's decoder would evaluate such expressions as Python. assay never executes an answer as
    code.
    """
    bare = text.strip("`\n ")
    if not bare.startswith("["):
        bare = f"[{bare}"
    if not bare.endswith("]"):
        bare = f"{bare}]"
    try:
        tree = ast.parse(bare.strip().strip("'"), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                raise Undecoded("a lambda expression")
            if isinstance(node, ast.BinOp):
                computed(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Undecoded(str(error)) from error
