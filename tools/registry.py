"""The registry: the tools that one server offers, and how a call is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tools.after_commit import committed_answer, with_caveats
from tools.arguments import OPERATIONS, InvalidArguments, input_schema
from tools.caveats import with_sync_status
from tools.errors import error_response, escape_invisible
from tools.tool import Answer, Context, NextStep, Progress
from tools.toolsets import REVIEW_TOOLSET, all_tools, family, offered_tools
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.nearest import find_nearest
from workspace.publishing.after_commit import CommitRecord, attempt, record_commits

if TYPE_CHECKING:
    from index.service import SearchIndex
    from tools.tool import Tool
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.read_before_write import SeenTexts


class UnknownTool(LookupError):
    """No tool of this name is offered; `nearest` are names that are."""

    def __init__(self, name: str, near: list[str]) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = near


@dataclass(frozen=True, slots=True)
class ServedIndex:
    """What a call is answered from, to its end."""

    workspace: Workspace
    index: SearchIndex


class Toolbox:
    """The tools that one server offers; `toolsets` None are the defaults, read-only keeps what only reads.

    To the defaults come those of proposals, from when the policy of the served branch asks for review.
    `text_tokens` is the operator's limit for the texts of an answer; None leaves it to docyard.toml.
    """

    def __init__(
        self,
        workspace: Workspace,
        index: SearchIndex,
        toolsets: Iterable[str] | None,
        read_only: bool,
        text_tokens: int | None = None,
    ) -> None:
        self._last = ServedIndex(workspace, index)
        self._current: Callable[[], ServedIndex] = lambda: self._last
        self._latest = self._current
        self._text_tokens = text_tokens
        self._may_grow = toolsets is None and not read_only
        self._tools: Mapping[str, Tool] = offered_tools(toolsets, read_only=read_only)
        self._schemas: dict[str, dict[str, Any]] = {}
        self._last_definitions: list[dict[str, Any]] = []
        self.wrote: Callable[[], object] = lambda: None

    @classmethod
    def following(
        cls,
        current: Callable[[], SearchIndex],
        latest: Callable[[], SearchIndex],
        toolsets: Iterable[str] | None,
        text_tokens: int | None = None,
    ) -> Toolbox:
        """Return the reading tools over the current index; each call uses one index to its end.

        `latest` returns the index to describe in a list of tools, without reading from it.
        """
        toolbox = cls((first := latest()).workspace, first, toolsets, True, text_tokens)
        toolbox._current = lambda: _served_index(current())
        toolbox._latest = lambda: _served_index(latest())
        return toolbox

    def definitions(self) -> list[dict[str, Any]]:
        """Return the tool definitions for a client, in a fixed order.

        The object is the same while they are.
        """
        served = self._listed()
        self._grow(served)
        context = self._context(served, "")
        found = [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.describe(context) if tool.describe else tool.description,
                "inputSchema": tool.schema(context, self._schema(tool))
                if tool.schema
                else self._schema(tool),
                "annotations": tool.annotations(),
            }
            for tool in self._tools.values()
        ]
        if found != self._last_definitions:
            self._last_definitions = found
        return self._last_definitions

    def awaits_taxonomy(self) -> bool:
        """Return True if the workspace declares taxonomy keys of which no index has told the values yet."""
        served = self._listed()
        if served.index.metadata() is not None or not any(tool.schema for tool in self._tools.values()):
            return False
        snapshot = _snapshot(served.workspace)
        try:
            return snapshot is not None and bool(snapshot.config.taxonomy)
        except WorkspaceError:  # a call will say what is wrong with the settings
            return False

    def call(
        self,
        name: str,
        arguments: object,
        *,
        client: str,
        progress: Progress | None = None,
        sight: SeenTexts | None = None,
        person: Person | None = None,
    ) -> Answer:
        """Answer a call. An expected error is an answer too; only UnknownTool and bugs are raised.

        `sight` is what the client has seen so far, and is told what this answer shows it. `person` is whose
        token came with the call.
        """
        if name not in self._tools:
            self._grow(self._listed())
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(name, find_nearest(name, self._tools))
        given: Mapping[str, object] = arguments if isinstance(arguments, Mapping) else {}
        served = None
        with record_commits() as record:
            try:
                served = self._current()
                context = self._context(served, client, progress, sight, person)
                if arguments is not None and not isinstance(arguments, Mapping):
                    raise _arguments_error(tool, arguments)
                run = partial(_run, tool, context, given)
                answer = _run_again_if_restored(run, context, record)
            except Exception as error:
                if record.commit is not None:
                    answer = committed_answer(record, error, self.offers)
                elif isinstance(error, WorkspaceError):
                    answer = self._failure(tool, error, given, served)
                else:
                    raise
            if served is not None:
                place = partial(with_sync_status, answer, served.workspace)
                answer = attempt(place, answer, "how the branch compares with its remote is not known")
            if tool.writes:
                attempt(self.wrote, None, "it is not sent to the remote yet")
            return with_caveats(answer, record)

    def offers(self, name: str) -> bool:
        """Return True if a tool of this name is offered."""
        return name in self._tools

    def names(self) -> frozenset[str]:
        """Return the names of the tools that are offered."""
        return frozenset(self._tools)

    def context(self, client: str = "") -> Context:
        """Return what a request reads from that is no call of a tool: whatever serves when it begins.

        Raises what an artifact is refused for.
        """
        return self._context(self._current(), client)

    def _failure(
        self, tool: Tool, error: WorkspaceError, given: Mapping[str, object], served: ServedIndex | None
    ) -> Answer:
        # Of a tool that writes, `ref` is where something is to come from, if it is no proposal that is meant.
        ref = (given.get("proposal") if tool.writes else None) or given.get("ref")
        snapshot = _snapshot(served.workspace, ref) if served else None
        moves = served.workspace.moves if served else None
        data = error_response(error, tool, given, snapshot, moves=moves, offered=self._tools)
        data["commit"] = snapshot.commit if snapshot else None
        if tool.shape_error:
            data.update(tool.shape_error(given))
        text = escape_invisible(tool.error_text(error)) if tool.error_text else None
        return Answer(data, text=text, is_error=True)

    def _grow(self, served: ServedIndex) -> None:
        """Offer the tools of proposals too, if nobody chose otherwise and the policy asks for review.

        They stay while the server runs: a client that knows them must not lose them.
        """
        if not self._may_grow:
            return
        snapshot = _snapshot(served.workspace)
        try:
            grows = snapshot is not None and bool(snapshot.config.protect)
        except WorkspaceError:  # a call will say what is wrong with the settings
            return
        if grows:
            self._may_grow = False
            chosen = {*self._tools, *(tool.name for tool in family(REVIEW_TOOLSET))}
            self._tools = {tool.name: tool for tool in all_tools() if tool.name in chosen}

    def _schema(self, tool: Tool) -> dict[str, Any]:
        """Return the schema of a tool's input, made once."""
        found = self._schemas.get(tool.name)
        if found is None:
            found = self._schemas[tool.name] = input_schema(tool.arguments)
        return found

    def _listed(self) -> ServedIndex:
        """Return the index that the list of tools describes: the current one, else the last one described."""
        with suppress(WorkspaceError):
            self._last = self._latest()
        return self._last

    def _context(
        self,
        served: ServedIndex,
        client: str,
        progress: Progress | None = None,
        sight: SeenTexts | None = None,
        person: Person | None = None,
    ) -> Context:
        return Context(
            served.workspace,
            served.index,
            client,
            progress,
            frozenset(self._tools),
            sight,
            person,
            self._text_tokens,
        )


def _run(tool: Tool, context: Context, given: Mapping[str, object]) -> Answer:
    """Run a tool and write out its next step; one that explains how to write, for the caller's proposal."""
    answer = tool.run(context, given)
    step: NextStep | None = answer.data.get("next_step")
    if step is None:
        return answer
    proposal = given.get("proposal")
    if tool.writes and isinstance(proposal, str) and "proposal" not in answer.data:
        step = step.within(proposal)
    # The names of the fields are asked of every tool, and most answers need none of them.
    text = step.text() if step.proposal is None else step.text(_proposal_fields())
    return replace(answer, data={**answer.data, "next_step": text})


@cache
def _proposal_fields() -> dict[str, str]:
    """Return by name the field in which each tool takes a proposal: `proposal` of a writer, else `ref`."""
    return {
        tool.name: field
        for tool in all_tools()
        for field in ("ref", "proposal")
        if field in tool.arguments.model_fields
    }


def _run_again_if_restored(run: Callable[[], Answer], context: Context, record: CommitRecord) -> Answer:
    """Run a call; if it met an object that `git prune` removed and a copy has, restore it and run it again.

    A call that has committed is not run again, but the objects are restored for the next.
    """
    try:
        answer = run()
    except DamagedRepository:
        if not _restore(context) or record.commit is not None:
            raise
    else:
        if not _met_damage(answer) or not _restore(context) or record.commit is not None:
            return answer
    return run()


def _restore(context: Context) -> bool:
    return context.workspace.restore_pruned()


def _met_damage(answer: Answer) -> bool:
    """Return True if an answer, or that of an operation of its batch, reports a missing object."""
    results = (answer.data, *answer.data.get("batch_results", ()))
    return any(result.get("code") == DamagedRepository.code for result in results)


def _arguments_error(tool: Tool, arguments: object) -> InvalidArguments:
    """Return the error for arguments that are not an object; for an array, how to send a batch."""
    takes_batch = OPERATIONS in tool.arguments.model_fields
    if isinstance(arguments, list | tuple) and takes_batch:
        fix = f'Send several operations as {{"{OPERATIONS}": [...]}}, and one as an object of its fields.'
        return InvalidArguments("arguments must be an object (an array was given)", fix=fix)
    return InvalidArguments("arguments must be an object", fix="Send an object of the tool's fields.")


def _served_index(index: SearchIndex) -> ServedIndex:
    return ServedIndex(index.workspace, index)


def _snapshot(workspace: Workspace, ref: object = None) -> Snapshot | None:
    """Return what an error speaks of: the commit of a ref, else the tip; None if neither can be read."""
    if isinstance(ref, str):
        with suppress(WorkspaceError):
            return workspace.at(ref)
    try:
        return workspace.snapshot()
    except WorkspaceError:
        return None
