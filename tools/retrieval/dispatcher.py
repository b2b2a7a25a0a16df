"""The tools of a server of many sources, and the answer to a call.

The tools of one workspace, such as `get_doc`, take the argument `namespace` here. They appear and disappear
with the sources and features of the file, and all names can have a prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from index.sources.source import SourceUnavailable
from index.sources.sources import NamespaceNotFound, NamespaceRequired
from tools.arguments import InvalidArguments, build_input_schema
from tools.budgets.fit import shorten_answer
from tools.budgets.limits import MAX_TOKENS, MIN_ANSWER_TOKENS, parse_max_tokens
from tools.compatibility.near_names import resolve_near_names
from tools.dispatcher import ToolDispatcher, UnknownTool, add_hints
from tools.errors import build_error_response
from tools.records.searches import name_searched_namespace
from tools.retrieval import TOOLS, WALKTHROUGH_TOOLS
from tools.retrieval.context import RetrievalContext
from tools.retrieval.report_problem import TOOL as REPORT_TOOL
from tools.retrieval.search_documentation import TOOL as SEARCH_TOOL
from tools.retrieval.search_documentation_contextual import TOOL as CONTEXTUAL_TOOL
from tools.tool import Answer, CallForm, Context
from tools.toolsets import SOURCES_TOOLSET, load_toolset, select_tools
from workspace.config.config import Limits
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.snapshot.walkthroughs import WalkthroughNotFound

if TYPE_CHECKING:
    from index.sources.sources import Sources
    from tools.prompts.prompt import OfferedPrompts
    from tools.records.problem_reports import ReceiveReport
    from tools.tool import Progress, Tool
    from workspace.policy.tokens import Person
    from workspace.writing.read_before_write import SeenTexts

_DEFAULT_READING_TOOL = "get_doc"
_NAMESPACE_SCHEMA = {
    "type": "string",
    "description": "Specific namespace to read in (optional if only one namespace)",
}


class SourcesDispatcher:
    """The tools that a server of sources offers.

    `toolsets` adds the reading tools of these toolsets to those of the toolset `retrieval`. `max_text_tokens`
    limits the texts of the reading tools; None selects their default. `receive_report` stores reports of
    problems; without it there is no tool for them.
    """

    def __init__(
        self,
        sources: Sources,
        toolsets: Iterable[str] | None = None,
        max_text_tokens: int | None = None,
        receive_report: ReceiveReport | None = None,
    ) -> None:
        self._sources = sources
        self._max_text_tokens = max_text_tokens
        self._reading_tools = _select_reading_tools(toolsets)
        self._last_definitions: list[dict[str, Any]] = []
        self._receive_report = receive_report
        self.on_write: Callable[[], object] = lambda: None
        self.on_list_change: Callable[[], object] = lambda: None
        self.build_review_url: Callable[[str], str] | None = None
        self.has_resources = False

    @property
    def _prefix(self) -> str:
        return self._sources.features.tool_prefix

    def _select_tools(self) -> dict[str, Tool]:
        """Return the tools that the sources and features offer now, by name without the prefix."""
        if not len(self._sources):
            return {tool.name: tool for tool in WALKTHROUGH_TOOLS}
        is_contextual = self._sources.features.contextual_search
        tools = [tool for tool in TOOLS if is_contextual or tool is not CONTEXTUAL_TOOL]
        if self._receive_report is not None:
            tools.append(REPORT_TOOL)
        return {**{tool.name: tool for tool in tools}, **self._reading_tools}

    def definitions(self) -> list[dict[str, Any]]:
        """Return the tool definitions for a client, in a fixed order; the same object until one changes."""
        context = self._build_context("", self._sources.max_tokens)
        definitions = [
            {
                "name": self._prefix + tool.name,
                **tool.build_title_field(),
                "description": tool.description,
                "inputSchema": self._build_schema(tool, context),
                "annotations": tool.build_annotations(),
            }
            for tool in self._select_tools().values()
        ]
        if definitions != self._last_definitions:
            self._last_definitions = definitions
        return self._last_definitions

    def awaits_taxonomy(self) -> bool:
        """Return False: no schema has the values of a taxonomy."""
        return False

    def offers(self, name: str) -> bool:
        """Return True if a tool of this name is offered."""
        return name in self.tool_names()

    def tool_names(self) -> frozenset[str]:
        """Return the names of the tools that are offered, with their prefix."""
        return frozenset(self._prefix + name for name in self._select_tools())

    def find_tool(self, name: str) -> Tool | None:
        """Return the offered tool of a name, which has the prefix; None if there is none."""
        if not name.startswith(self._prefix):
            return None
        return self._select_tools().get(name.removeprefix(self._prefix))

    def context(self, client: str = "") -> Context:
        """Raise NoResources: a server of sources has no resources."""
        raise NoResources

    def list_prompts(self) -> OfferedPrompts[RetrievalContext]:
        """Return the prompts whose messages name only tools that are offered now."""
        from tools.prompts.prompt import OfferedPrompts
        from tools.retrieval.search_prompt import PROMPT

        return OfferedPrompts(self._build_context("", self._sources.max_tokens), (PROMPT,))

    def may_change_prompts(self) -> bool:
        """Return False: sources offer no skills."""
        return False

    def call(
        self,
        name: str,
        arguments: object,
        *,
        client: str,
        progress: Progress | None = None,
        seen_texts: SeenTexts | None = None,
        person: Person | None = None,
        may_review: bool = True,
        max_tokens: int | None = None,
    ) -> Answer:
        """Return the answer to a call, also for an expected error. Raises UnknownTool.

        Other exceptions are bugs.
        """
        tool = self.find_tool(name)
        if tool is None:
            raise UnknownTool(name, find_nearest(name, self.tool_names()))
        fields: Mapping[str, object] = arguments if isinstance(arguments, Mapping) else {}
        limit = self._get_limit(tool) if max_tokens is None else min(self._get_limit(tool), max_tokens)
        hints: tuple[str, ...] = ()
        try:
            if arguments is not None and not isinstance(arguments, Mapping):
                raise InvalidArguments(
                    "arguments must be an object", fix="Send an object of the tool's fields."
                )
            if tool.name not in self._reading_tools:
                fields, hints = resolve_near_names(tool, fields)
            if (requested_limit := fields.get(MAX_TOKENS)) is not None:
                if (narrowed_limit := parse_max_tokens(requested_limit, limit)) == limit and str(
                    requested_limit
                ) != str(limit):
                    hints = (*hints, f"max_tokens is {limit:,}: the server allows no more in one answer")
                limit = narrowed_limit
            if tool.name in self._reading_tools:
                return self._call_reading_tool(tool, fields, client, progress, max_tokens)
            context = self._build_context(client, limit, progress)
            answer: Answer = tool.run(context, fields)
        except WorkspaceError as error:
            return shorten_answer(self._build_failure(tool, error, fields), limit)
        answer = add_hints(_convert_next_step(answer, context.call_form), hints)
        return shorten_answer(answer, limit)

    def _get_limit(self, tool: Tool) -> int:
        """Return the operator's limit for the answers of a tool."""
        if tool in (SEARCH_TOOL, CONTEXTUAL_TOOL):
            return self._sources.max_tokens
        return self._max_text_tokens if self._max_text_tokens is not None else Limits().text_tokens

    def _build_failure(self, tool: Tool, error: WorkspaceError, arguments: Mapping[str, object]) -> Answer:
        offered_tools = frozenset(self._select_tools())
        data = build_error_response(error, tool, arguments, None, offered_tools=offered_tools)
        field = _get_namespace_field(tool) if tool.name in self._reading_tools else "namespace"
        if isinstance(error, NamespaceRequired | NamespaceNotFound):
            namespace = (error.details.get("nearest") or error.details["namespaces"])[0]
            data["example"] = {**data["example"], field: namespace}
        elif isinstance(error, WalkthroughNotFound) and (candidates := error.details["candidates"]):
            data["example"] = {"walkthrough": candidates[0]}
        elif isinstance(error, SourceUnavailable) and field in arguments and "example" in data:
            data["example"] = {**data["example"], field: error.details["namespace"]}
        return Answer(data, is_error=True)

    def _call_reading_tool(
        self,
        tool: Tool,
        arguments: Mapping[str, object],
        client: str,
        progress: Progress | None,
        max_tokens: int | None,
    ) -> Answer:
        """Return the answer of a tool of one workspace, for the source that the call names."""
        field = _get_namespace_field(tool)
        namespace = arguments.get(field)
        if namespace is not None and not isinstance(namespace, str):
            raise InvalidArguments(f"'{field}' must be a string", fix="Name one source.", field=field)
        [source] = self._sources.select(namespace, allows_all=False)
        call_form = CallForm(self._prefix, {field: source.name} if len(self._sources) > 1 else {})
        own_arguments = {name: value for name, value in arguments.items() if name != field}
        if isinstance(chunk_id := own_arguments.get("chunk_id"), str):  # a search names it by its URI too
            own_arguments["chunk_id"] = chunk_id.removeprefix(f"doc:///{source.name}/")
        with source.open() as index:
            dispatcher = ToolDispatcher(
                index.workspace,
                index,
                None,
                True,
                self._max_text_tokens,
                tools=self._reading_tools,
                call_form=call_form,
            )
            answer = dispatcher.call(
                tool.name, own_arguments, client=client, progress=progress, max_tokens=max_tokens
            )
        name_searched_namespace(source.name)
        return self._replace_search_tool_name(answer)

    def _replace_search_tool_name(self, answer: Answer) -> Answer:
        """Return the error for an unknown chunk with the tool of this server that finds chunks."""
        if answer.data.get("code") != "CHUNK_NOT_FOUND" or "search_docs" in self._reading_tools:
            return answer
        nearest = answer.data.get("nearest") or ()
        suggestion = f" Did you mean {' or '.join(map(repr, nearest[:3]))}?" if nearest else ""
        tool = f"{self._prefix}{SEARCH_TOOL.name}"
        text = (answer.text or "").replace("search_docs", tool) + suggestion
        data = {**answer.data, "fix": str(answer.data.get("fix", "")).replace("search_docs", tool)}
        return replace(answer, data={**data, "error": text}, text=text)

    def _replace_search_tool_name_in_field(self, field_schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a field with the tool of this server that finds chunks."""
        if "description" not in field_schema or "search_docs" in self._reading_tools:
            return field_schema
        description = field_schema["description"].replace("search_docs", f"{self._prefix}{SEARCH_TOOL.name}")
        return {**field_schema, "description": description}

    def _build_context(
        self, client: str, max_tokens: int, progress: Progress | None = None
    ) -> RetrievalContext:
        return RetrievalContext(
            self._sources,
            client,
            frozenset(self._select_tools()),
            max_tokens,
            progress,
            CallForm(self._prefix),
            self._receive_report,
        )

    def _build_schema(self, tool: Tool, context: RetrievalContext) -> dict[str, Any]:
        schema = build_input_schema(tool.arguments)
        if (max_tokens := schema["properties"].get(MAX_TOKENS)) is not None:
            schema["properties"][MAX_TOKENS] = {**max_tokens, "minimum": MIN_ANSWER_TOKENS}
        if tool.name in self._reading_tools:
            properties = {
                name: self._replace_search_tool_name_in_field(item)
                for name, item in schema["properties"].items()
            }
            return {**schema, "properties": {**properties, _get_namespace_field(tool): _NAMESPACE_SCHEMA}}
        return tool.schema(context, schema) if tool.schema else schema


class NoResources(WorkspaceError):
    """A request for resources of a server of sources, which has none."""

    code = "NO_RESOURCES"

    def __init__(self) -> None:
        super().__init__(
            "a server of documentation sources has no resources", fix="Search with its tools instead."
        )


def _select_reading_tools(toolsets: Iterable[str] | None) -> dict[str, Tool]:
    """Return the reading tools of some toolsets by name; `get_doc` is always one of them."""
    names = {name for name in toolsets or () if name != SOURCES_TOOLSET}
    tools = select_tools(names, read_only=True) if names else {}
    default_tools = {tool.name: tool for tool in load_toolset("search") if tool.name == _DEFAULT_READING_TOOL}
    return {**default_tools, **tools}


def _get_namespace_field(tool: Tool) -> str:
    """Return the name of the argument for the source; a tool's own argument of this name keeps it."""
    return "docyard_namespace" if "namespace" in tool.arguments.model_fields else "namespace"


def _convert_next_step(answer: Answer, form: CallForm) -> Answer:
    """Return an answer with its next step as text, whose calls are in a form."""
    next_step = answer.data.get("next_step")
    if next_step is None:
        return answer
    return replace(answer, data={**answer.data, "next_step": next_step.in_form(form).text()})
