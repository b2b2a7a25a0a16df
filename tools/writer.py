"""Writing tools: single calls or batches, one commit, and the result of each operation.

A dry run shows what a commit would change, and whether it would become a proposal. The index is brought to a
new commit before the answer, so that the new text can be found at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    Arguments,
    Boolean,
    InvalidArguments,
    Objects,
    read,
    read_operations,
    without_nulls,
)
from tools.errors import error_response
from tools.retries import make_request, replay, strip_for_replay
from tools.tool import Answer, Data, NextStep
from tools.write_target import WriteTarget, propose_write, target_proposal, was_redirected, would_propose
from workspace.errors import WorkspaceError
from workspace.publishing.after_commit import attempt, note_commit

if TYPE_CHECKING:
    from tools.errors import TextBudget
    from tools.tool import Context, Data, Given, Tool
    from tools.write_target import WriteTarget
    from workspace.edits import Operation
    from workspace.git.reader import GitReader
    from workspace.history.moves import Moves
    from workspace.writing.idempotency import Request
    from workspace.writing.plan import Plan, PlanStep
    from workspace.writing.write import WriteResult

_MAX_DIFF = 50_000


def dry_run_data(home: WriteTarget, written: WriteResult) -> Data:
    """Return what a dry run says beside the answer: a diff, and which paths only a proposal may change."""
    data: Data = {"dry_run": True, "diff": render_diff(written)}
    return {**data, **would_propose(home.protected)} if home.protected else data


def render_diff(written: WriteResult) -> str:
    """Return what a commit would change, as a unified diff; cut where it would fill a conversation."""
    import difflib

    lines: list[str] = []
    for path, data in sorted(written.changes.items()):
        entry = written.plan.snapshot.entry(path)
        before = written.plan.snapshot.git.blob(entry.id) if entry else b""
        old, new = (
            text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, data or b"")
        )
        names = f"a/{path}" if entry else "/dev/null", f"b/{path}" if data is not None else "/dev/null"
        lines += (
            line if line.endswith("\n") else line + "\n" for line in difflib.unified_diff(old, new, *names)
        )
    text = "".join(lines)
    return text if len(text) <= _MAX_DIFF else text[:_MAX_DIFF] + "\n… (the diff goes on)\n"


NOT_SEARCHABLE = "not searchable yet"


def follow_commit(context: Context, commit: str | None) -> list[str]:
    """Bring the index to the tip of the served branch; return a hint if a commit cannot be found yet.

    Others may have gone on since: the index holds the commit where it stands for a later one. A failure of
    the index becomes a hint too, and the next search brings the index up to date.
    """
    note_commit(commit)
    return attempt(partial(_follow_index, context, commit), [], NOT_SEARCHABLE)


def _follow_index(context: Context, commit: str | None) -> list[str]:
    at = context.index.follow()
    if at == context.workspace.tip() or _holds(context.workspace.git, at, commit):
        return []
    reason = "another call or process is bringing the search index up to date"
    return [f"Committed, but {NOT_SEARCHABLE}: {reason}"]


def _holds(git: GitReader, tip: str | None, commit: str | None) -> bool:
    return tip is not None and commit is not None and commit in (tip, *git.merge_bases(tip, commit))


_MAX_HINTS = 8
_MAX_MOVED = 20  # operations that failed whose addresses are looked for in the history
_SEND_AGAIN = "Mend the operation that failed, and send the whole batch again."
_TAKEN_BACK = "taken back: another operation failed"
_NOT_RUN = "not run: an operation before it failed"
_MAX_EXAMPLE = 200
_MAX_EXAMPLE_ITEMS = 10


class WriteFields(Arguments):
    """What every tool that writes takes beside its operations."""

    operations: Objects | None = Field(None, description="Batch")
    mode: Literal["each", "all"] | None = Field(None, description="all: all or none")
    dry_run: Boolean = Field(False, description="Diff only")
    message: str | None = None  # all definitions together have 12,000 bytes, and the name says it
    base_commit: str | None = Field(None, description="Commit read")
    proposal: str | None = Field(None, description="Its id")
    idempotency_key: str | None = Field(None, description="For retries")


_WRITE_FIELDS = frozenset(WriteFields.model_fields)


class _Options(Arguments):
    mode: Literal["each", "all"] = "each"
    dry_run: Boolean = False
    message: str | None = Field(None, max_length=10_000)
    base_commit: str | None = None
    proposal: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """How one tool writes: it builds operations, and words the answer and the next step."""

    tool: Callable[[], Tool]
    build: Callable[[Context, Given], Operation]
    single: Mapping[str, object]
    next_step: Callable[[Context, WriteResult, Sequence[PlanStep]], NextStep]
    enrich: Callable[[WriteResult, PlanStep], Data] | None = None

    def run(self, context: Context, given: Given) -> Answer:
        """Answer a call that is to change something. Raises WorkspaceError for a single one that cannot."""
        given = without_nulls(given)
        options = read(_Options, {key: value for key, value in given.items() if key in _Options.model_fields})
        item = {key: value for key, value in given.items() if key not in _WRITE_FIELDS}
        is_batch = OPERATIONS in given
        if is_batch and item:
            fields = ", ".join(sorted(item)[:5])[:200]
            raise InvalidArguments(
                f"both '{OPERATIONS}' and fields of a single operation ({fields}) are given",
                fix=f"Put these fields into each of the '{OPERATIONS}', or leave '{OPERATIONS}' out.",
                field=OPERATIONS,
            )
        items = read_operations(given[OPERATIONS]) if is_batch else [item]
        request = None
        if (key := options.idempotency_key) is not None:
            result = partial(self._replay_data, context.tools, is_batch)
            request = make_request(key, self.tool(), given, items if is_batch else None, result)
        # What a retry names may be gone since, and its first answer is given all the same.
        keeps_errors = is_batch or request is not None
        home = WriteTarget(context, context)
        if options.proposal is not None:
            home = target_proposal(context, options.proposal, None if options.dry_run else request)
        operations = [
            self._operation(home.context, each, is_batch=is_batch, keeps_errors=keeps_errors)
            for each in items
        ]
        home, written = self._commit(home, operations, options, request)
        answer = self._build_answer(home, written, items, options, is_batch=is_batch)
        return home.complete_answer(answer)

    def _commit(
        self,
        home: WriteTarget,
        operations: Sequence[Operation | WorkspaceError],
        options: _Options,
        request: Request | None,
    ) -> tuple[WriteTarget, WriteResult]:
        """Return the operations committed where they are allowed: here, or in a proposal of their own."""
        from workspace.policy.protection import Protected
        from workspace.writing.plan import Mode

        if home.written is not None:
            return home, home.written
        context, tool = home.context, self.tool().name
        fields: dict[str, Any] = {
            "mode": Mode(options.mode),
            "message": options.message,
            "dry_run": options.dry_run,
            "base_commit": options.base_commit,
            "sight": context.sight,
            "request": request,
        }
        if home.proposal is None and not options.dry_run and was_redirected(context, request):
            return propose_write(context, (), operations, tool, fields)
        try:
            written = context.workspace.write(
                operations, tool=tool, client=context.client, person=context.person, **fields
            )
        except Protected as error:
            return propose_write(context, error.paths, operations, tool, fields)
        return home, written

    def _build_answer(
        self,
        home: WriteTarget,
        written: WriteResult,
        items: Sequence[Given],
        options: _Options,
        *,
        is_batch: bool,
    ) -> Answer:
        """Return the answer to what was written."""
        from workspace.writing.plan import StepStatus

        context = home.context
        is_new = written.is_committed or written.repeated is not None
        if is_new:
            note_commit(written.commit)
        # A proposal is searched at its ref, beside the index.
        hints = follow_commit(context, written.commit) if is_new and home.proposal is None else []
        if written.repeated:
            return replay(context, written.repeated, self.tool(), items, hints)
        if is_batch:
            data, is_error = self._batch(context, written, items, is_all=options.mode == "all")
        else:
            data, is_error = self._single(context, written, items[0])
        data["commit"] = written.commit
        if options.dry_run:
            data |= dry_run_data(home, written)
            if not is_batch and "example" in data:
                # Whoever only wanted to look, and copies it, must not find that it was done.
                data["example"] = {**data["example"], "dry_run": True}
        done = [step for step in written.steps if step.status is StepStatus.DONE]
        hints += _hints(done)
        if hints:
            data["hints"] = hints[:_MAX_HINTS]
        if not is_error:
            data["next_step"] = (
                NextStep("Send the same call without dry_run: nothing was committed")
                if options.dry_run
                else self.next_step(context, written, done)
            )
        return Answer(data, is_error=is_error)

    def _operation(
        self, context: Context, item: Given, *, is_batch: bool, keeps_errors: bool
    ) -> Operation | WorkspaceError:
        try:
            if is_batch and (misplaced := sorted(_WRITE_FIELDS & item.keys())):
                raise InvalidArguments(
                    f"'{misplaced[0]}' is for the whole call",
                    fix=f"Put it beside '{OPERATIONS}', not into one of them.",
                    field=misplaced[0],
                )
            return self.build(context, item)
        except WorkspaceError as error:
            if not keeps_errors:
                raise
            return error

    def _single(self, context: Context, written: WriteResult, item: Given) -> tuple[Data, bool]:
        [step] = written.steps
        if step.error:
            from tools.errors import TextBudget

            moves = context.workspace.moves
            texts = TextBudget(context.sight, context.text_tokens)
            return self._failure(context, step.error, item, written, texts, moves), True
        return {**self.single, **self._answer(written, step)}, False

    def _failure(
        self,
        context: Context,
        error: WorkspaceError,
        item: Given,
        written: WriteResult,
        texts: TextBudget,
        moves: Callable[[], Moves] | None,
    ) -> Data:
        from workspace.proposal_ids import parse_branch_id

        snapshot, at = written.plan.snapshot, parse_branch_id(context.workspace.branch or "")
        return error_response(
            error, self.tool(), item, snapshot, texts, written.commit, moves, offered=context.tools, at=at
        )

    def _answer(self, written: WriteResult, step: PlanStep) -> Data:
        assert step.outcome is not None
        extra = self.enrich(written, step) if self.enrich else {}
        changed: Data = {} if step.outcome.is_change else {"changed": False}
        return {**step.outcome.answer, **extra, **changed}

    def _replay_data(self, offered: Container[str], is_batch: bool, plan: Plan) -> Data:
        """Return what a retry of the call is told, if a plan of it is committed."""
        from workspace.writing.write import WriteResult

        answer = partial(self._answer, WriteResult(plan.snapshot.commit, False, plan))
        data: Data
        if is_batch:
            data = {"batch_results": [strip_for_replay(step, answer, offered) for step in plan.steps]}
        else:
            data = {**self.single, **answer(plan.steps[0])}
        hints = _hints(plan.steps)
        return {**data, "hints": hints} if hints else data

    def _batch(
        self, context: Context, written: WriteResult, items: Sequence[Given], *, is_all: bool
    ) -> tuple[Data, bool]:
        from tools.errors import TextBudget
        from workspace.writing.plan import StepStatus

        texts = TextBudget(context.sight, context.text_tokens)
        results: list[Data] = []
        taught: set[str] = set()
        left = _MAX_MOVED
        for step, item in zip(written.steps, items, strict=True):
            match step.status:
                case StepStatus.DONE:
                    results.append({"success": True, **self._answer(written, step)})
                case StepStatus.FAILED:
                    assert step.error is not None
                    moves = context.workspace.moves if left > 0 else None
                    left -= 1
                    told = self._failure(context, step.error, item, written, texts, moves)
                    result = {"success": False, **told}
                    lesson = f"{step.error.code} {result.get('usage')}"
                    if lesson in taught:
                        # One example of each error is enough for a whole batch.
                        del result["example"]
                    taught.add(lesson)
                    results.append(result)
                case StepStatus.UNDONE | StepStatus.NOT_RUN as status:
                    why = _TAKEN_BACK if status is StepStatus.UNDONE else _NOT_RUN
                    told = {"status": status.value, "error": why, "code": status.name, "fix": _SEND_AGAIN}
                    results.append({"success": False, **told})
        failed = [step for step in written.steps if step.status is StepStatus.FAILED]
        is_error = bool(failed) if is_all else len(failed) == len(written.steps)
        data: Data = {"batch_results": results}
        if is_error and is_all:
            data["error"] = "nothing was committed: mode is 'all', and an operation failed"
        return data, is_error


def _hints(steps: Sequence[PlanStep]) -> list[str]:
    hints = [hint for step in steps if step.outcome for hint in step.outcome.hints]
    return list(dict.fromkeys(hints))[:_MAX_HINTS]


def arguments_of(item: Given, names: Sequence[str]) -> dict[str, Any]:
    """Return the caller's own values for an example: those that are short and can be sent again."""
    return {name: item[name] for name in names if _is_usable(item.get(name))}


def _is_usable(value: object) -> bool:
    if isinstance(value, list):
        return 0 < len(value) <= _MAX_EXAMPLE_ITEMS and all(
            isinstance(item, str) and _is_usable(item) for item in value
        )
    if isinstance(value, str):
        plain = value.replace("\n", " ")
        return bool(value.strip()) and len(value) <= _MAX_EXAMPLE and plain.isprintable()
    return isinstance(value, int)
