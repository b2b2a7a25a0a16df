"""Single calls and batches of the writing tools: one commit, and the result of each operation.

The answer has a short diff, so that a client need not read the written text again. A dry run shows the diff,
and whether the write would become a proposal. The index is updated to a new commit before the answer, so that
a search finds the new text immediately. If the index cannot be updated, the answer has a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    Arguments,
    Boolean,
    InvalidArguments,
    Object,
    Objects,
    check_call_fields,
    list_field_names,
    read_arguments,
    read_operations,
    remove_nulls,
)
from tools.errors import build_error_response, complete_new_proposal
from tools.retries import make_request, replay, strip_for_replay
from tools.returned_diff import ReturnedDiff, describe_diff, render_planned_diff
from tools.tool import Answer, Data, NextStep
from tools.write_target import (
    WriteTarget,
    build_dry_run_fields,
    has_proposal_for_request,
    propose_write,
    target_proposal,
)
from workspace.errors import WorkspaceError
from workspace.publishing.after_commit import note_commit, run_with_caveat

if TYPE_CHECKING:
    from tools.errors import TextBudget
    from tools.tool import CallArguments, Context, Data, Tool
    from tools.write_target import WriteTarget
    from workspace.edits.operation import Operation
    from workspace.git.reader import GitReader
    from workspace.history.moved_addresses import Moves
    from workspace.proposals.actions.open import NewProposal
    from workspace.writing.idempotency import KeyedRequest
    from workspace.writing.plan import Plan, PlanStep
    from workspace.writing.write import WriteResult

NOT_SEARCHABLE = "not searchable yet"


def update_index_after_commit(context: Context, commit: str | None) -> list[str]:
    """Update the index to the tip of the served branch; return a hint if a commit is not searchable yet.

    An index of a later commit contains the commit. A failure of the index also becomes a hint; the next
    search updates the index.
    """
    note_commit(commit)
    return run_with_caveat(partial(_update_index, context, commit), [], NOT_SEARCHABLE)


def _update_index(context: Context, commit: str | None) -> list[str]:
    indexed_commit = context.index.update_to_tip()
    if indexed_commit == context.workspace.tip() or _contains_commit(
        context.workspace.git, indexed_commit, commit
    ):
        return []
    reason = "another call or process is updating the search index"
    return [f"Committed, but {NOT_SEARCHABLE}: {reason}"]


def _contains_commit(git: GitReader, tip: str | None, commit: str | None) -> bool:
    """Return True if `commit` is `tip` or an ancestor; False if this clone lacks the tip of another node."""
    if tip is None or commit is None:
        return False
    return tip == commit or (git.has_object(tip) and commit in git.merge_bases(tip, commit))


_MAX_HINTS = 8
_MAX_MOVE_LOOKUPS = 20  # failed operations whose addresses are searched in the history
_MAX_EXAMPLE_CHARACTERS = 200
_MAX_EXAMPLE_ITEMS = 10


class WriteFields(Arguments):
    """The fields that every writing tool has in addition to those of its operations.

    Only edit_document describes them and lists their values, because all definitions together must be small.
    """

    operations: Objects | None = None
    mode: str | None = None
    dry_run: Boolean = False
    message: str | None = None
    base_commit: str | None = None
    proposal: str | None = None
    new_proposal: Object | None = None
    returned_diff: str | None = Field(None, alias="return")
    idempotency_key: str | None = None


WRITE_FIELD_NAMES = frozenset(list_field_names(WriteFields))


class _Options(Arguments):
    """The validated fields of a whole call; those of its operations are not among them."""

    mode: Literal["each", "all"] = "each"
    dry_run: Boolean = False
    message: str | None = Field(None, max_length=10_000)
    base_commit: str | None = None
    proposal: str | None = None
    new_proposal: Object | None = None
    returned_diff: ReturnedDiff = Field("diff", alias="return")
    idempotency_key: str | None = None


_OPTION_NAMES = frozenset(list_field_names(_Options))


class _NewProposal(Arguments):
    """The fields of the argument `new_proposal`."""

    title: str
    description: str = ""
    submit: Boolean = False


@dataclass(frozen=True, slots=True)
class Writer:
    """The parts of a writing tool: `build` returns an operation; the fields after it are for the answer.

    `call_fields` are fields of the whole call that an idempotency key covers, and no operation has.
    """

    tool: Callable[[], Tool]
    build: Callable[[Context, CallArguments], Operation]
    success_fields: Mapping[str, object]
    next_step: Callable[[Context, WriteResult, Sequence[PlanStep]], NextStep | None]
    build_extra_fields: Callable[[WriteResult, PlanStep], Data] | None = None
    call_fields: frozenset[str] = frozenset()

    def run(self, context: Context, arguments: CallArguments) -> Answer:
        """Run a call that writes, and return its answer.

        Raises WorkspaceError for invalid fields of the call. Invalid operations of a batch, or of a call with
        a key, are reported in the answer.
        """
        arguments = remove_nulls(arguments)
        options = read_arguments(
            _Options, {key: value for key, value in arguments.items() if key in _OPTION_NAMES}
        )
        new_proposal = _read_new_proposal(options)
        call_field_names = WRITE_FIELD_NAMES | self.call_fields
        item = {key: value for key, value in arguments.items() if key not in call_field_names}
        is_batch = OPERATIONS in arguments
        if is_batch and item:
            fields = ", ".join(sorted(item)[:5])[:200]
            raise InvalidArguments(
                f"both '{OPERATIONS}' and fields of a single operation ({fields}) are given",
                fix=f"Put these fields into each of the '{OPERATIONS}', or omit '{OPERATIONS}'.",
                field=OPERATIONS,
            )
        items = read_operations(arguments[OPERATIONS]) if is_batch else [item]
        request = None
        if (key := options.idempotency_key) is not None:
            replay_data = partial(self._build_replay_data, context.tools, is_batch)
            request = make_request(key, self.tool(), arguments, items if is_batch else None, replay_data)
        # A retry may name a document that was deleted since; the retry still gets the first answer.
        collects_errors = is_batch or request is not None
        target = WriteTarget(context, context)
        if options.proposal is not None:
            target = target_proposal(context, options.proposal, None if options.dry_run else request)
        operations = [
            self._build_operation(
                target.context, operation, is_batch=is_batch, collects_errors=collects_errors
            )
            for operation in items
        ]
        target, result = self._commit(target, operations, options, request, new_proposal)
        answer = self._build_answer(target, result, items, options, new_proposal, is_batch=is_batch)
        return target.complete_answer(answer)

    def _commit(
        self,
        target: WriteTarget,
        operations: Sequence[Operation | WorkspaceError],
        options: _Options,
        request: KeyedRequest | None,
        new_proposal: NewProposal | None,
    ) -> tuple[WriteTarget, WriteResult]:
        """Commit the operations to the target, or to a new proposal if requested or a path is protected."""
        from workspace.policy.protection import Protected
        from workspace.writing.plan import BatchMode

        if target.earlier_result is not None:
            return target, target.earlier_result
        context, tool = target.context, self.tool().name
        fields: dict[str, Any] = {
            "mode": BatchMode(options.mode),
            "message": options.message,
            "dry_run": options.dry_run,
            "base_commit": options.base_commit,
            "seen_texts": context.seen_texts,
            "keyed_request": request,
        }
        if new_proposal is not None or (
            target.proposal is None and not options.dry_run and has_proposal_for_request(context, request)
        ):
            return propose_write(context, (), operations, tool, fields, new_proposal)
        try:
            result = context.workspace.write(
                operations, tool=tool, client=context.client, person=context.person, **fields
            )
        except Protected as error:
            return propose_write(context, error.paths, operations, tool, fields)
        return target, result

    def _build_answer(
        self,
        target: WriteTarget,
        result: WriteResult,
        items: Sequence[CallArguments],
        options: _Options,
        new_proposal: NewProposal | None,
        *,
        is_batch: bool,
    ) -> Answer:
        """Return the answer for the result of a write."""
        from workspace.writing.plan import StepStatus

        context = target.context
        has_commit = result.is_committed or result.recorded_request is not None
        if has_commit:
            note_commit(result.commit)
        # The index does not cover proposals; they are searched at their ref.
        hints = (
            update_index_after_commit(context, result.commit)
            if has_commit and target.proposal is None
            else []
        )
        if result.recorded_request:
            answer = replay(context, result.recorded_request, self.tool(), items, hints)
            diff_fields = describe_diff(context, result, options.returned_diff, len(items))
            return replace(answer, data={**answer.data, **diff_fields})
        if is_batch:
            data, is_error = self._describe_batch(context, result, items, is_atomic=options.mode == "all")
        else:
            data, is_error = self._describe_single(context, result, items[0])
        data["commit"] = result.commit
        if new_proposal is not None and not is_batch and "example" in data:
            data["example"] = {**data["example"], "new_proposal": complete_new_proposal(options.new_proposal)}
        if options.dry_run:
            data["dry_run"] = True
            if options.returned_diff != "none":
                data["diff"] = render_planned_diff(result)
            if target.protected:
                data |= build_dry_run_fields(target.protected)
            if new_proposal is not None:
                data["note"] = "without dry_run, this opens the proposal"
            if not is_batch and "example" in data:
                # A client that copies the example of a dry run must not commit.
                data["example"] = {**data["example"], "dry_run": True}
        elif has_commit:
            data |= describe_diff(context, result, options.returned_diff, len(items))
        done_steps = [step for step in result.steps if step.status is StepStatus.DONE]
        if hints:
            data["hints"] = [*hints, *data.get("hints", ())]
        if options.dry_run and not is_error:
            # In the mode "each", a batch with failed operations is not an error.
            has_failures = len(done_steps) < len(result.steps)
            correction = (
                "Correct the failed operations, then send them" if has_failures else "Send the same call"
            )
            data["next_step"] = NextStep(f"{correction} without dry_run: nothing was committed")
        elif not is_error and (next_step := self.next_step(context, result, done_steps)) is not None:
            data["next_step"] = next_step
        return Answer(data, is_error=is_error)

    def _build_operation(
        self, context: Context, item: CallArguments, *, is_batch: bool, collects_errors: bool
    ) -> Operation | WorkspaceError:
        try:
            if is_batch:
                check_call_fields(item, WRITE_FIELD_NAMES)
            if item.get("operation") == self.tool().name:  # as in a batch of edit_document
                item = {name: value for name, value in item.items() if name != "operation"}
            return self.build(context, item)
        except WorkspaceError as error:
            if not collects_errors:
                raise
            return error

    def _describe_single(
        self, context: Context, result: WriteResult, item: CallArguments
    ) -> tuple[Data, bool]:
        [step] = result.steps
        if step.error:
            from tools.errors import TextBudget

            moves = context.workspace.moves
            text_budget = TextBudget(context.seen_texts, context.text_tokens)
            return self._describe_failure(context, step.error, item, result, text_budget, moves), True
        return {**self.success_fields, **self._describe_step(result, step)}, False

    def _describe_failure(
        self,
        context: Context,
        error: WorkspaceError,
        item: CallArguments,
        result: WriteResult,
        text_budget: TextBudget,
        moves: Callable[[], Moves] | None,
    ) -> Data:
        from workspace.proposal_ids import parse_branch_id

        snapshot, proposal_id = result.plan.snapshot, parse_branch_id(context.workspace.branch or "")
        return build_error_response(
            error,
            self.tool(),
            item,
            snapshot,
            text_budget,
            result.commit,
            moves,
            offered_tools=context.tools,
            proposal_id=proposal_id,
        )

    def _describe_step(self, result: WriteResult, step: PlanStep) -> Data:
        assert step.outcome is not None
        extra_fields = self.build_extra_fields(result, step) if self.build_extra_fields else {}
        no_change_field: Data = {} if step.outcome.is_change else {"changed": False}
        hints = list(dict.fromkeys(step.outcome.hints))[:_MAX_HINTS]
        hint_field: Data = {"hints": hints} if hints else {}
        fields = {**step.outcome.result, **extra_fields, **no_change_field, **hint_field}
        return {name: value for name, value in fields.items() if value is not None and value != []}

    def _describe_entry(self, result: WriteResult, step: PlanStep) -> Data:
        """Return the result of an operation of a batch, with its document."""
        data = self._describe_step(result, step)
        if step.outcome is None or {"file", "path"} & data.keys():
            return data
        return {"file": step.outcome.path, **data}

    def _build_replay_data(self, offered_tools: Container[str], is_batch: bool, plan: Plan) -> Data:
        """Return the data that is stored for a retry of the call if its plan is committed."""
        from workspace.writing.write import WriteResult

        result = WriteResult(plan.snapshot.commit, False, plan)
        if is_batch:
            describe = partial(self._describe_entry, result)
            return {"batch_results": [strip_for_replay(step, describe, offered_tools) for step in plan.steps]}
        return {**self.success_fields, **self._describe_step(result, plan.steps[0])}

    def _describe_batch(
        self, context: Context, result: WriteResult, items: Sequence[CallArguments], *, is_atomic: bool
    ) -> tuple[Data, bool]:
        from tools.errors import TextBudget
        from workspace.writing.plan import StepStatus

        text_budget = TextBudget(context.seen_texts, context.text_tokens)
        results: list[Data] = []
        explanations: set[str] = set()
        remaining_lookups = _MAX_MOVE_LOOKUPS
        for step, item in zip(result.steps, items, strict=True):
            match step.status:
                case StepStatus.DONE:
                    results.append({"success": True, **self._describe_entry(result, step)})
                case StepStatus.FAILED:
                    assert step.error is not None
                    moves = context.workspace.moves if remaining_lookups > 0 else None
                    remaining_lookups -= 1
                    failure = self._describe_failure(context, step.error, item, result, text_budget, moves)
                    # The fields of the whole call must not be in an operation.
                    failure["example"] = {
                        name: value
                        for name, value in failure["example"].items()
                        if name not in WRITE_FIELD_NAMES
                    }
                    entry = {"success": False, **failure}
                    explanation = f"{step.error.code} {entry.get('usage')}"
                    if explanation in explanations:
                        # A batch contains one example of each error.
                        del entry["example"]
                    explanations.add(explanation)
                    results.append(entry)
                case StepStatus.ROLLED_BACK | StepStatus.NOT_RUN as status:
                    results.append({"success": False, "status": status.value, "code": status.value.upper()})
        failed_steps = [step for step in result.steps if step.status is StepStatus.FAILED]
        is_error = bool(failed_steps) if is_atomic else len(failed_steps) == len(result.steps)
        data: Data = {"batch_results": results}
        if is_error and is_atomic:
            data["error"] = "nothing was committed: mode is 'all', and an operation failed"
            data["fix"] = "Fix the failed operation, and send the whole batch again."
        return data, is_error


def _read_new_proposal(options: _Options) -> NewProposal | None:
    """Return the proposal that the call requests, or None. Raises InvalidArguments."""
    if options.new_proposal is None:
        return None
    if options.proposal is not None:
        raise InvalidArguments(
            "both 'proposal' (an open one) and 'new_proposal' are given",
            fix="Give 'proposal' to write to that proposal, or 'new_proposal' to open another one.",
            field="new_proposal",
        )
    from workspace.proposals.actions.open import NewProposal

    try:
        fields = read_arguments(_NewProposal, options.new_proposal)
        return NewProposal(fields.title, fields.description, fields.submit).validate()
    except WorkspaceError as error:
        raise InvalidArguments(
            f"in 'new_proposal': {error.message}",
            fix=f"{error.fix} Its fields: title, description, submit.",
            field="new_proposal",
        ) from error


def select_example_arguments(item: CallArguments, names: Sequence[str]) -> dict[str, Any]:
    """Return the caller's values for an example: only those that are short and printable."""
    return {name: item[name] for name in names if _is_usable(item.get(name))}


def _is_usable(value: object) -> bool:
    if isinstance(value, list):
        return 0 < len(value) <= _MAX_EXAMPLE_ITEMS and all(
            isinstance(item, str) and _is_usable(item) for item in value
        )
    if isinstance(value, str):
        single_line = value.replace("\n", " ")
        return bool(value.strip()) and len(value) <= _MAX_EXAMPLE_CHARACTERS and single_line.isprintable()
    return isinstance(value, int)
