"""Use τ² from the installed `inspect_evals` package: its data, databases, tools and
scorers, but not its solvers.

The package expects to run inside inspect_ai, which keeps the state of a sample in a
store. assay creates a store for each sample, and activates it while a tool or a scorer
of the package runs.
"""

import ast
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core import MissingExtra
from ..core.tools import Tool, ToolCall

if TYPE_CHECKING:
    from pydantic import BaseModel


PIP = "inspect_ai inspect_evals"
PACKAGE = "inspect_evals.tau2"


@dataclass(frozen=True, slots=True)
class Domain:
    """Where the package stores the parts of a domain (airline, retail, telecom): tools, database and toolkit."""

    instance: str
    """The name of the package's store for the agent's messages."""
    agent_tools: str
    """The list of the agent's tools, as `module:list`."""
    user_tools: str = ""
    database: str = ""
    """The class of the database, as `module:class`. Empty if each sample builds its own
    database instead of reading a file.
    """
    toolkit: str = ""
    """The class that changes the database, and its instance name in the store, as `module:class:name`."""


DOMAINS: Mapping[str, Domain] = {
    "airline": Domain(
        "AirlineAgent",
        "airline.tools:all_airline_tools",
        database="airline.data_model:FlightDB",
        toolkit="airline.AirlineAgentTools:AirlineAgentTools:AirlineTools",
    ),
    "retail": Domain(
        "RetailAgent",
        "retail.tools:all_retail_tools",
        database="retail.data_model:RetailDB",
        toolkit="retail.RetailAgentTools:RetailAgentTools:RetailTools",
    ),
    "telecom": Domain(
        "TelecomAgent",
        "telecom.tools:all_telecom_agent_tools",
        "telecom.user_tools:all_telecom_user_tools",
    ),
}
LONGEST_RESULT = 16 * 1024
"""Maximum size of a tool's result in bytes. Longer results are cut, as inspect_ai does by default."""
READ_ONLY = frozenset({"calculate", "transfer_to_human_agents"})
"""Actions that the package's scorer skips when it repeats calls, because they only read the database."""


def check_installed() -> None:
    """Raise an error with the install command if a package is missing."""
    for name in PIP.split():
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(f"{name}, which τ² needs,", PIP)


def part(name: str) -> Any:
    """Return a module of the package (`airline.tools`), or an attribute of a module
    (`airline.tools:all_airline_tools`).
    """
    module, _, attribute = name.partition(":")
    loaded = importlib.import_module(f"{PACKAGE}.{module}")
    if attribute:
        return getattr(loaded, attribute)
    return loaded


def version() -> str:
    """Return the version of the installed package."""
    return importlib.metadata.version("inspect_evals")


def inspect_module(name: str) -> ModuleType:
    """Import a module of inspect_ai and return it."""
    return importlib.import_module(f"inspect_ai.{name}")


@dataclass(frozen=True, slots=True)
class PackageTool:
    """A tool of the package: its description for a model, and the function that runs it."""

    tool: Tool
    function: Any


@functools.cache
def package_tools(reference: str) -> dict[str, PackageTool]:
    """Return the tools in a list of the package (`module:list`), by their names."""
    tools: dict[str, PackageTool] = {}
    for make in part(reference):
        function = make()
        definition = inspect_module("tool").ToolDef(function)
        schema = definition.parameters.model_dump(exclude_none=True)
        tool = Tool(definition.name, definition.description, schema)
        tools[definition.name] = PackageTool(tool, function)
    return tools


def agent_tools(domain: str) -> dict[str, PackageTool]:
    """Return the tools of the agent."""
    return package_tools(DOMAINS[domain].agent_tools)


def user_tools(domain: str) -> dict[str, PackageTool]:
    """Return the tools of the simulated user, which only telecom has."""
    reference = DOMAINS[domain].user_tools
    if reference:
        return package_tools(reference)
    return {}


async def run_call(
    tools: Mapping[str, PackageTool],
    call: ToolCall,
) -> tuple[str, str]:
    """Run a call. Return its result as text, and the kind of failure, which is empty if
    the call succeeded.

    Both have the same format as in inspect_ai.
    """
    calls = inspect_module("model._call_tools")
    arguments = call.arguments
    if isinstance(arguments, str):
        parsed = calls.parse_tool_call(
            call.id, call.name, arguments, _descriptions(tools)
        )
        if parsed.parse_error:
            return str(parsed.parse_error), "bad_arguments"
        arguments = parsed.arguments
    entry = tools.get(call.name)
    if entry is None:
        return f"Tool {call.name} not found", "unknown_tool"
    definition = inspect_module("tool").ToolDef(entry.function)
    fault = calls.validate_tool_input(dict(arguments), definition.parameters)
    if fault:
        return str(fault), "bad_arguments"
    values = calls.tool_params(dict(arguments), entry.function)
    try:
        result = await entry.function(**values)
    except Exception as error:
        mapped = calls.tool_call_error(error, call.name)
        if mapped is None:
            raise
        return str(mapped.error.message), "raised"
    resolved = calls.resolve_tool_content(result, call.name, LONGEST_RESULT)
    return str(resolved.content), ""


def _descriptions(tools: Mapping[str, PackageTool]) -> list[Any]:
    """Return the tool descriptions that inspect_ai needs to parse the arguments of a call."""
    kind = inspect_module("tool").ToolInfo
    definition = inspect_module("tool").ToolDef
    described = []
    for name, entry in tools.items():
        parameters = definition(entry.function).parameters
        info = kind(
            name=name,
            description="",
            parameters=parameters,
        )
        described.append(info)
    return described


def policy(domain: str) -> str:
    """Return the policy that the agent of a domain must follow."""
    function = part(f"{domain}.agents:get_domain_policy")
    return str(function(workflow=False) if domain == "telecom" else function())


def agent_system_text(domain: str) -> str:
    """Return the agent's system message: the policy with the package's text around it.

    The text is inside a function of the package, so it is taken from the function's
    source code.
    """
    source = inspect.getsource(part("common.agents"))
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id != "ChatMessageSystem":
            continue
        content = node.keywords[0].value
        if isinstance(content, ast.JoinedStr):
            return "".join(_pieces(content, policy(domain)))
    raise MissingExtra(f"a version of inspect_evals like 0.26 (not {version()})", PIP)


def _pieces(
    text: ast.JoinedStr,
    value: str,
) -> Iterator[str]:
    for piece in text.values:
        yield str(piece.value) if isinstance(piece, ast.Constant) else value


def read_samples(domain: str) -> list[Any]:
    """Return the package's samples in the split `base` of a domain."""
    read = part(f"{domain}.dataset:read_dataset")
    return list(read(DOMAINS[domain].instance))


class CopiedMembers(dict[str, Any]):
    """Copy-on-read table: shares its rows with the original database, and copies a row
    when it is first read by key.

    The package changes rows only after it has read them by key.
    """

    def __init__(self, members: Mapping[str, Any]) -> None:
        super().__init__(members)
        self.touched: set[str] = set()

    def __getitem__(self, key: str) -> "BaseModel":
        member: BaseModel = super().__getitem__(key)
        if key in self.touched:
            return member
        self.touched.add(key)
        copied = member.model_copy(deep=True)
        super().__setitem__(key, copied)
        return copied

    def __setitem__(self, key: str, value: object) -> None:
        self.touched.add(key)
        super().__setitem__(key, value)

    def get(
        self,
        key: str,
        default: object = None,
    ) -> object:
        """Return the row with this key. The first call copies the row."""
        if key not in self:
            return default
        return self[key]

    def raw(self, key: str) -> object:
        """Return the row with this key, without copying it."""
        return super().get(key)


@functools.cache
def pristine_database(domain: str) -> "BaseModel":
    """Load the database of a domain. The result is shared, so it must not be modified."""
    file = part("utils:TAU2_DATA_DIR") / "domains" / domain / "db.json.gz"
    database: BaseModel = part(DOMAINS[domain].database).load(str(file))
    return database


def fresh_database(domain: str) -> "BaseModel":
    """Return a copy of a domain's database that may be modified."""
    pristine = pristine_database(domain)
    tables = {
        name: CopiedMembers(getattr(pristine, name))
        for name in type(pristine).model_fields
    }
    values: dict[str, Any] = tables
    return type(pristine).model_construct(**values)


def same_databases(first: "BaseModel", second: "BaseModel") -> bool:
    """Return True if two databases have the same JSON form, which is how the package compares them."""
    for name in type(first).model_fields:
        left = getattr(first, name)
        right = getattr(second, name)
        if left.keys() != right.keys():
            return False
        for key in left.touched | right.touched:
            if as_json(left.raw(key)) != as_json(right.raw(key)):
                return False
    return True


def as_json(member: "BaseModel") -> str:
    """Return a row of a database as JSON data."""
    return json.dumps(
        member.model_dump(),
        sort_keys=True,
        default=str,
    )


class SampleStore:
    """The state of one sample, as a store for the package's tools and scorers."""

    def __init__(self, domain: str, task: Any) -> None:
        self._module = inspect_module("util._store")
        self.store = self._module.Store()
        self.domain = domain
        self.task = task
        self.use()
        if domain == "telecom":
            self._begin_telecom()
        else:
            self.database = fresh_database(domain)
            toolkit(domain, self.database)

    def use(self) -> None:
        """Make this store the current one in the running task or thread."""
        self._module.init_subtask_store(self.store)

    def _begin_telecom(self) -> None:
        state = self.task.initial_state
        environment = part("telecom.environment:get_environment")()
        if state is None:
            return
        perform = part("telecom.solver:perform_action")
        for action in state.initialization_actions or ():
            perform(environment, action)


def toolkit(
    domain: str,
    database: object,
    instance: str | None = None,
) -> Any:
    """Create the package's toolkit for a database, and store it in the current store."""
    module, name, usual_instance = DOMAINS[domain].toolkit.split(":")
    kind = part(f"{module}:{name}")
    if instance is None:
        key = usual_instance
    else:
        key = instance
    prefix = f"{name}:{key}"
    tools = inspect_module("util").store_as(kind, key)
    store = tools.store
    # Bypass the checks of the toolkit, which would copy the whole database.
    store.set(f"{prefix}:db", database)
    store.set(f"{prefix}:initialized", True)
    return tools


def expected_database(
    domain: str,
    actions: Sequence[Any],
) -> "BaseModel":
    """Run the expected actions in a separate store, and return the database afterwards."""
    module = inspect_module("util._store")
    module.init_subtask_store(module.Store())
    database = fresh_database(domain)
    tools = toolkit(domain, database, "expected")
    tool_error = inspect_module("tool").ToolError
    for action in actions:
        if action.name in READ_ONLY:
            continue
        try:
            getattr(tools, action.name)(**action.arguments)
        except tool_error:
            continue
    return database
