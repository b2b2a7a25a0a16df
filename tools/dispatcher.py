"""The dispatcher: the tools that a server offers, and the answer to a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from tools.after_commit import add_caveats, build_committed_answer
from tools.arguments import OPERATIONS, InvalidArguments, ReadingArguments, build_input_schema
from tools.budgets.fit import run_within_budget, shorten_answer
from tools.budgets.limits import MAX_TOKENS, parse_max_tokens
from tools.caveats import add_sync_status
from tools.compatibility.near_names import resolve_near_names
from tools.errors import build_error_response
from tools.tool import PLAIN_FORM, Answer, CallForm, Context, NextStep, Progress
from tools.toolsets import REVIEW_TOOLSET, all_tools, find_toolset, load_toolset, select_tools
from workspace.config.taxonomy import PARAMETER_PREFIX
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible
from workspace.git.repository import DamagedRepository
from workspace.nearest import find_nearest
from workspace.publishing.after_commit import CommitRecord, record_commits, run_with_caveat

if TYPE_CHECKING:
    from index.service import SearchIndex
    from tools.prompts.prompt import OfferedPrompts
    from tools.tool import Tool
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.read_before_write import SeenTexts


class UnknownTool(LookupError):
    """The server does not offer a tool of this name; `nearest` are similar names.

    `toolset` is the toolset of the tool, if the server offers no tool of that toolset.
    """

    def __init__(self, name: str, nearest: list[str], toolset: str | None = None) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = nearest
        self.toolset = toolset


@dataclass(frozen=True, slots=True)
class ServedIndex:
    """The workspace and the index of one call."""

    workspace: Workspace
    index: SearchIndex


@dataclass(frozen=True, slots=True)
class WriteCall:
    """A call of a writing tool, as values: the parameters of `Dispatcher.call` that another process needs."""

    name: str
    arguments: Mapping[str, object]
    client: str
    person: Person | None
    may_review: bool
    max_tokens: int | None
    has_key: bool = False
    """True if the call has an idempotency key, so that it may be sent again."""


class Dispatcher(Protocol):
    """The tools of a server: of one workspace (`ToolDispatcher`), or of many sources.

    `on_write` is called after a call of a writing tool. `on_list_change` is called, in any thread, after the
    list of tools may have changed without a call. `has_resources` is True if the server has one workspace,
    whose documents are resources; only then it has a `context`. `build_review_url` returns the URL of a
    proposal's page; it is None if the server has none.
    """

    on_write: Callable[[], object]
    on_list_change: Callable[[], object]
    build_review_url: Callable[[str], str] | None
    has_resources: bool

    def definitions(self) -> list[dict[str, Any]]: ...

    def awaits_taxonomy(self) -> bool: ...

    def offers(self, name: str) -> bool: ...

    def tool_names(self) -> frozenset[str]: ...

    def find_tool(self, name: str) -> Tool | None: ...

    def context(self, client: str = "") -> Context: ...

    def list_prompts(self) -> OfferedPrompts[Any]: ...

    def may_change_prompts(self) -> bool: ...

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
    ) -> Answer: ...


class ToolDispatcher:
    """The tools that one server offers.

    `toolsets` None selects the default toolsets; `read_only` excludes writing tools. The tools of proposals
    are added to the defaults as soon as the policy of the served branch requires review. `text_tokens`
    limits the texts of an answer; None selects the limit of docyard.toml. `tools` replaces the choice by
    toolsets, and `call_form` is the form of calls in answers. `request_fetch` is called by a read that needs
    a later commit.
    """

    def __init__(
        self,
        workspace: Workspace,
        index: SearchIndex,
        toolsets: Iterable[str] | None,
        read_only: bool,
        text_tokens: int | None = None,
        *,
        tools: Mapping[str, Tool] | None = None,
        call_form: CallForm = PLAIN_FORM,
    ) -> None:
        self._call_form = call_form
        self._last_index = ServedIndex(workspace, index)
        self._get_current_index: Callable[[], ServedIndex] = lambda: self._last_index
        self._get_latest_index = self._get_current_index
        self._text_tokens = text_tokens
        self._may_add_review_tools = toolsets is None and not read_only
        self._tools: Mapping[str, Tool] = (
            tools if tools is not None else select_tools(toolsets, read_only=read_only)
        )
        self._schemas: dict[str, dict[str, Any]] = {}
        self._last_definitions: list[dict[str, Any]] = []
        # Returns the answer to a call that writes: of the function, or of another node.
        self.route_write: Callable[[WriteCall, Callable[[], Answer]], Answer] = lambda call, run: run()
        self.on_write: Callable[[], object] = lambda: None
        self.on_list_change: Callable[[], object] = lambda: None
        self.build_review_url: Callable[[str], str] | None = None
        self.request_fetch: Callable[[], object] = lambda: None
        self.has_resources = True

    @classmethod
    def for_changing_index(
        cls,
        get_current: Callable[[], SearchIndex],
        get_latest: Callable[[], SearchIndex],
        toolsets: Iterable[str] | None,
        text_tokens: int | None = None,
    ) -> ToolDispatcher:
        """Return a dispatcher of reading tools for an index that is replaced; each call uses only one index.

        `get_latest` returns the index that a list of tools describes; only its metadata is read.
        """
        index = get_latest()
        dispatcher = cls(index.workspace, index, toolsets, True, text_tokens)
        dispatcher._get_current_index = lambda: _build_served_index(get_current())
        dispatcher._get_latest_index = lambda: _build_served_index(get_latest())
        return dispatcher

    def definitions(self) -> list[dict[str, Any]]:
        """Return the tool definitions for a client, in a fixed order.

        The method returns the same object until a definition changes.
        """
        served_index = self._select_described_index()
        self._offer_review_tools(served_index)
        context = self._build_context(served_index, "")
        definitions = [
            {
                "name": tool.name,
                **tool.build_title_field(),
                "description": tool.describe(context) if tool.describe else tool.description,
                "inputSchema": tool.schema(context, self._get_schema(tool))
                if tool.schema
                else self._get_schema(tool),
                "annotations": tool.build_annotations(),
            }
            for tool in self._tools.values()
        ]
        if definitions != self._last_definitions:
            self._last_definitions = definitions
        return self._last_definitions

    def awaits_taxonomy(self) -> bool:
        """Return True if the workspace declares a taxonomy whose values are not indexed yet."""
        served_index = self._select_described_index()
        if served_index.index.metadata() is not None or not any(
            tool.lists_taxonomy for tool in self._tools.values()
        ):
            return False
        snapshot = _read_snapshot(served_index.workspace)
        try:
            return snapshot is not None and bool(snapshot.config.taxonomy)
        except WorkspaceError:  # a call reports invalid settings
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
        """Return the answer to a call, also for an expected error. Raises UnknownTool; other errors are bugs.

        `seen_texts` contains the texts that the client has read; the texts of this answer are added. `person`
        is the owner of the call's token; `may_review` is False if its scopes do not permit
        reviews. `max_tokens` is the limit that the request's URL names.
        """
        tool = self.find_tool(name)
        if tool is None:
            toolset = find_toolset(name)
            is_offered = any(tool.toolset == toolset for tool in self._tools.values())
            raise UnknownTool(name, find_nearest(name, self._tools), None if is_offered else toolset)
        fields: Mapping[str, object] = arguments if isinstance(arguments, Mapping) else {}
        served_index, budget = None, None
        hints: Sequence[str] = ()
        with record_commits() as record:
            try:
                served_index = self._get_current_index()
                context = self._build_context(
                    served_index, client, progress, seen_texts, person, may_review, max_tokens
                )
                fields, hints = resolve_near_names(tool, fields, context.index.taxonomy_keys)
                if issubclass(tool.arguments, ReadingArguments):
                    budget = context.text_tokens  # of the error for an invalid limit
                    budget = _read_budget(tool, context, fields)
                if arguments is not None and not isinstance(arguments, Mapping):
                    raise _build_arguments_error(tool, arguments)
                run = partial(_run_and_complete, tool, fields, record, hints)
                if tool.writes:
                    sent_fields = arguments if isinstance(arguments, Mapping) else {}
                    has_key = fields.get("idempotency_key") is not None
                    call = WriteCall(name, sent_fields, client, person, may_review, max_tokens, has_key)
                    run = partial(self._route, call, run)
                answer = run(context) if budget is None else run_within_budget(run, context, budget)
            except Exception as error:
                if record.commit is not None:
                    answer = build_committed_answer(record, error, self.offers)
                elif isinstance(error, WorkspaceError):
                    answer = self._build_failure(tool, error, fields, served_index)
                else:
                    raise
                if served_index is not None:
                    answer = _complete_answer(served_index.workspace, hints, answer)
            is_failed = answer.is_error or "batch_results" in answer.data
            if is_failed and served_index is not None and self.offers("view_proposal"):
                answer = _add_proposals(answer, tool, fields, served_index.workspace)
            if budget is not None:
                answer = shorten_answer(answer, budget)
            if tool.writes:
                run_with_caveat(self.on_write, None, "the commit is not pushed yet")
            return add_caveats(answer, record)

    def _route(self, call: WriteCall, run: Callable[[Context], Answer], context: Context) -> Answer:
        return self.route_write(call, lambda: run(context))

    def offers(self, name: str) -> bool:
        """Return True if a tool of this name is offered."""
        return name in self._tools

    def tool_names(self) -> frozenset[str]:
        """Return the names of the tools that are offered."""
        return frozenset(self._tools)

    def find_tool(self, name: str) -> Tool | None:
        """Return the offered tool of a name; None if there is none."""
        if name not in self._tools:
            self._offer_review_tools(self._select_described_index())
        return self._tools.get(name)

    def context(self, client: str = "") -> Context:
        """Return the context of a request that is not a tool call: the current workspace and index.

        Raises the error of a refused artifact.
        """
        return self._build_context(self._get_current_index(), client)

    def list_prompts(self) -> OfferedPrompts[Context]:
        """Return the prompts whose messages name only tools that the client has, and those of skills."""
        from tools.prompts import PROMPTS
        from tools.prompts.prompt import OfferedPrompts

        context = self.context()
        skills = context.served_skills()
        if skills is None:
            return OfferedPrompts(context, PROMPTS)
        from tools.prompts.skills import build_skill_prompts

        return OfferedPrompts(context, (*PROMPTS, *build_skill_prompts(skills)), may_change=True)

    def may_change_prompts(self) -> bool:
        """Return True if a commit may change the list of prompts, because the workspace has skills."""
        snapshot = _read_snapshot(self._select_described_index().workspace)
        try:
            return snapshot is not None and snapshot.config.skills
        except WorkspaceError:  # a call reports invalid settings
            return False

    def _build_failure(
        self,
        tool: Tool,
        error: WorkspaceError,
        arguments: Mapping[str, object],
        served_index: ServedIndex | None,
    ) -> Answer:
        # The `ref` of a writing tool is a source of text, so its proposal is preferred.
        ref = (arguments.get("proposal") if tool.writes else None) or arguments.get("ref")
        snapshot = _read_snapshot(served_index.workspace, ref) if served_index else None
        moves = served_index.workspace.moves if served_index else None
        data = build_error_response(error, tool, arguments, snapshot, moves=moves, offered_tools=self._tools)
        data["commit"] = snapshot.commit if snapshot else None
        if self._call_form.arguments:
            data["example"] = {**data["example"], **self._call_form.arguments}
        if tool.build_error_fields:
            data.update(tool.build_error_fields(arguments))
        text = escape_invisible(tool.error_text(error)) if tool.error_text else None
        return Answer(data, text=text, is_error=True)

    def _offer_review_tools(self, served_index: ServedIndex) -> None:
        """Add the tools of proposals to the default ones if the policy requires review.

        These tools stay while the server runs, because a client that has listed them must not lose them.
        """
        if not self._may_add_review_tools:
            return
        snapshot = _read_snapshot(served_index.workspace)
        try:
            needs_review = snapshot is not None and bool(snapshot.config.protect)
        except WorkspaceError:  # a call reports invalid settings
            return
        if needs_review:
            self._may_add_review_tools = False
            names = {*self._tools, *(tool.name for tool in load_toolset(REVIEW_TOOLSET))}
            self._tools = {tool.name: tool for tool in all_tools() if tool.name in names}

    def _get_schema(self, tool: Tool) -> dict[str, Any]:
        """Return the cached schema of a tool's input."""
        schema = self._schemas.get(tool.name)
        if schema is None:
            schema = self._schemas[tool.name] = build_input_schema(tool.arguments)
        return schema

    def _select_described_index(self) -> ServedIndex:
        """Return the index that a list of tools describes: the latest, else the last described index."""
        with suppress(WorkspaceError):
            self._last_index = self._get_latest_index()
        return self._last_index

    def _build_context(
        self,
        served_index: ServedIndex,
        client: str,
        progress: Progress | None = None,
        seen_texts: SeenTexts | None = None,
        person: Person | None = None,
        may_review: bool = True,
        max_tokens: int | None = None,
    ) -> Context:
        context = Context(
            served_index.workspace,
            served_index.index,
            client,
            progress,
            frozenset(self._tools),
            seen_texts,
            person,
            may_review,
            self._text_tokens,
            self._call_form,
            self.build_review_url,
            self.request_fetch,
        )
        return (
            context
            if max_tokens is None
            else replace(context, max_text_tokens=min(context.text_tokens, max_tokens))
        )


def add_hints(answer: Answer, hints: Sequence[str]) -> Answer:
    """Return an answer with further hints, before its own."""
    if not hints:
        return answer
    return replace(answer, data={**answer.data, "hints": [*hints, *answer.data.get("hints", ())]})


def _complete_answer(workspace: Workspace, hints: Sequence[str], answer: Answer) -> Answer:
    """Return an answer with further hints, and with the sync status of the branch."""
    return run_with_caveat(
        lambda: add_sync_status(add_hints(answer, hints), workspace),
        answer,
        "the sync status of the branch is unknown",
    )


def _add_proposals(
    answer: Answer, tool: Tool, arguments: Mapping[str, object], workspace: Workspace
) -> Answer:
    """Return an error with the open proposals that have the missing document."""
    from tools.redirects import add_proposals_of_document

    return run_with_caveat(
        lambda: add_proposals_of_document(answer, tool, arguments, workspace),
        answer,
        "proposals were not searched for the document",
    )


def _run_and_complete(
    tool: Tool, arguments: Mapping[str, object], record: CommitRecord, hints: Sequence[str], context: Context
) -> Answer:
    """Run a tool, and return its answer with hints and the sync status."""
    return _complete_answer(context.workspace, hints, _run(tool, arguments, record, context))


def _read_budget(tool: Tool, context: Context, arguments: Mapping[str, object]) -> int:
    """Return the limit of the tokens of an answer. Raises InvalidArguments for an invalid `max_tokens`."""
    limit, name = context.text_tokens, _get_limit_name(tool, context, arguments)
    value = arguments.get(name)
    return limit if value is None else parse_max_tokens(value, limit, name)


def _get_limit_name(tool: Tool, context: Context, arguments: Mapping[str, object] | None = None) -> str:
    """Return the name of a tool's parameter `max_tokens`, which differs if a taxonomy key has this name.

    With arguments, the keys are read only if the arguments need it.
    """
    may_be_renamed = arguments is None or not arguments.keys().isdisjoint(
        (MAX_TOKENS, PARAMETER_PREFIX + MAX_TOKENS)
    )
    if tool.rename_parameters is None or not may_be_renamed:
        return MAX_TOKENS
    return tool.rename_parameters(context).get(MAX_TOKENS, MAX_TOKENS)


def _run(tool: Tool, arguments: Mapping[str, object], record: CommitRecord, context: Context) -> Answer:
    """Run a tool, and again if pruned objects are restored. Return its answer with the next step as text.

    The calls of the step have the proposal and the `max_tokens` of this call, if any.
    """
    answer = _run_again_if_restored(partial(tool.run, context, arguments), context, record)
    next_step: NextStep | None = answer.data.get("next_step")
    if next_step is None:
        return answer
    limit = arguments.get(_get_limit_name(tool, context, arguments))
    if limit is not None and issubclass(tool.arguments, ReadingArguments):
        names = {name: _get_limit_name(other, context) for name, other in _list_limited_tools().items()}
        next_step = next_step.add_argument(limit, names)
    next_step = next_step.in_form(context.call_form)
    proposal = arguments.get("proposal")
    if tool.writes and isinstance(proposal, str) and "proposal" not in answer.data:
        next_step = next_step.for_proposal(proposal)
    # The names of the fields import every tool, and most answers do not need them.
    text = next_step.text() if next_step.proposal is None else next_step.text(_list_proposal_fields())
    return replace(answer, data={**answer.data, "next_step": text})


@cache
def _list_limited_tools() -> dict[str, Tool]:
    """Return the tools whose answers a call can limit, by name."""
    return {tool.name: tool for tool in all_tools() if issubclass(tool.arguments, ReadingArguments)}


@cache
def _list_proposal_fields() -> dict[str, str]:
    """Return the field of each tool for a proposal: `proposal` of a writing tool, else `ref`."""
    return {
        tool.name: field
        for tool in all_tools()
        for field in ("ref", "proposal")
        if field in tool.arguments.model_fields
    }


def _run_again_if_restored(run: Callable[[], Answer], context: Context, record: CommitRecord) -> Answer:
    """Run a call; run it again if objects that `git prune` removed can be restored from a copy.

    A call that has committed is not run again, but the objects are restored for the next call.
    """
    try:
        answer = run()
    except DamagedRepository:
        if not _restore_pruned_objects(context) or record.commit is not None:
            raise
    else:
        if (
            not _reports_missing_object(answer)
            or not _restore_pruned_objects(context)
            or record.commit is not None
        ):
            return answer
    return run()


def _restore_pruned_objects(context: Context) -> bool:
    return context.workspace.restore_pruned()


def _reports_missing_object(answer: Answer) -> bool:
    """Return True if an answer, or a result of its batch, reports a missing object."""
    results = (answer.data, *answer.data.get("batch_results", ()))
    return any(result.get("code") == DamagedRepository.code for result in results)


def _build_arguments_error(tool: Tool, arguments: object) -> InvalidArguments:
    """Return the error for arguments that are not an object; the fix for an array explains a batch."""
    accepts_batch = OPERATIONS in tool.arguments.model_fields
    if isinstance(arguments, list | tuple) and accepts_batch:
        fix = f'Send several operations as {{"{OPERATIONS}": [...]}}, and one as an object of its fields.'
        return InvalidArguments("arguments must be an object (an array was given)", fix=fix)
    return InvalidArguments("arguments must be an object", fix="Send an object of the tool's fields.")


def _build_served_index(index: SearchIndex) -> ServedIndex:
    return ServedIndex(index.workspace, index)


def _read_snapshot(workspace: Workspace, ref: object = None) -> Snapshot | None:
    """Return the snapshot at a ref, else at the tip; None if neither can be read."""
    if isinstance(ref, str):
        with suppress(WorkspaceError):
            return workspace.at(ref)
    try:
        return workspace.snapshot()
    except WorkspaceError:
        return None
