"""A proposal as a page of Markdown, equivalent to its data.

Texts of persons and documents are quoted, escaped or fenced, so that a reader can distinguish them from the
page's own text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.tool import Data

_MARKUP = re.compile(r"[\\`*_\[\]<>~#|]")
_MAX_FENCE_LINES = 12
_MAX_LINE_CHARACTERS = 400


def render_page(data: Data, changes: str) -> str:
    """Return the page for the data of a view and its changes as Markdown."""
    parts = [
        *_render_header(data),
        *_render_merge_requirements(data),
        *_render_unreviewed_changes(data),
        *_render_checks(data),
        *_render_conflicts(data),
        *_render_overlaps(data),
        *_render_reviews(data),
        *_render_commits(data),
        *_render_changes(data, changes),
        *_render_comments(data),
        f"\n---\n\nCommit: {data['commit']}\n\nNext: {data['next_step'].text()}\n",
    ]
    return "".join(parts)


def _render_header(data: Data) -> Iterator[str]:
    author = data["author"]
    author_name = author["by"]
    yield f"# {_escape(data['title'])}\n\n"
    yield f"Proposal `{data['proposal']}`: {data['state'].replace('_', ' ')}. By {_escape(author_name)}, "
    merge_label = "merged" if data["state"] == "merged" else "to be merged"
    yield f"{data['opened']}, {merge_label} into `{data['target']}`; branch `{data['branch']}`.\n"
    if behind := data.get("behind"):
        yield f"{data['target']} is {behind} commit{'s' * (behind != 1)} ahead of it.\n"
    for hint in data.get("hints", ()):
        yield f"\nNote: {_escape(hint)}.\n"
    if data.get("description"):
        yield f"\n{_quote(data['description'])}\n{_render_rest(data.get('description_rest'))}"


def _render_merge_requirements(data: Data) -> Iterator[str]:
    if "missing" not in data:
        return
    yield "\n## Merge requirements\n\n"
    for blocker in data["missing"]:
        suffix = " (blocks only clients, not persons)" if blocker.get("only_clients") else ""
        yield f"- {_escape(blocker['message'])}{suffix}\n"
    for requirement in data.get("demands", ()):
        approvers = f", by {', '.join(requirement['approved_by'])}" if requirement["approved_by"] else ""
        approval_count, needed_count = len(requirement["approved_by"]), requirement["approvals_needed"]
        merge = f"; merged by {', '.join(requirement['may_merge']) or 'a person'}"
        yield f"- Protected by rule {requirement['rule']}: {_format_codes(requirement['paths'])}; "
        yield f"{approval_count} of {needed_count} approvals{approvers}{merge}\n"
    if not (data["missing"] or data.get("demands")):
        yield "All merge requirements are met.\n"


def _render_unreviewed_changes(data: Data) -> Iterator[str]:
    if "unreviewed" not in data:
        return
    yield f"\n## Unreviewed changes that a merge would add from {_format_code(data['target'])}\n"
    for document in data["unreviewed"]["documents"]:
        for change in document["changes"]:
            address = f"{document['path']}#{change['address']}" if change["address"] else document["path"]
            yield f"\n{change['kind'].replace('_', ' ')}: {_format_code(address)}\n"
            for version in ("before", "after"):
                if change.get(version):
                    yield f"\n{version}:\n\n{_fence(change[version])}\n"
            if change.get("is_cut"):
                yield "\n(cut)\n"
    if omitted_count := data["unreviewed"]["more"]:
        yield f"\nand {omitted_count} more\n"
    if files := data["unreviewed"]["files"]:
        yield f"\nOther files: {_format_codes(files)}\n"


def _render_checks(data: Data) -> Iterator[str]:
    if not data.get("checks"):
        return
    yield "\n## Checks of the merge\n\n"
    for check in data["checks"]:
        yield f"- {check['name']}: {'passed' if check['passed'] else 'failed'}\n"
        for problem in check["problems"]:
            location = (
                f"{_format_code(problem['address'])}, line {problem['line']}: " if problem["address"] else ""
            )
            yield f"  - {location}{_escape(problem['message'])} ({problem['rule']})\n"
        if omitted_count := check.get("more"):
            yield f"  - and {omitted_count} more\n"


def _render_conflicts(data: Data) -> Iterator[str]:
    if not data.get("conflicts"):
        return
    yield "\n## Conflicts\n\nours is the proposal's version, theirs the target's. Resolve each with "
    yield "update_proposal, action refresh, resolutions: file, kind, where and part as here, and a choice.\n"
    for conflict in data["conflicts"]:
        part_suffix = f", part {_format_code(conflict['part'])}" if conflict.get("part") else ""
        file = _format_code(conflict["file"])
        yield f"\n### {conflict['kind']} {_format_code(conflict['where'])} of {file}{part_suffix}\n"
        for version in ("base", "ours", "theirs"):
            text = conflict[version]
            yield f"\n{version}: missing\n" if text is None else f"\n{version}:\n\n{_fence(text)}\n"
        if conflict.get("truncated"):
            yield "\n(cut)\n"
    if omitted_count := data.get("more_conflicts"):
        yield f"\nand {omitted_count} more\n"


def _render_overlaps(data: Data) -> Iterator[str]:
    if data.get("overlaps"):
        yield "\n## Overlaps with other open proposals\n\n"
        for overlap in data["overlaps"]:
            addresses = _format_codes(overlap["addresses"])
            yield f"- `{overlap['proposal']}` {_escape(overlap['title'])}: {addresses}\n"


def _render_reviews(data: Data) -> Iterator[str]:
    if data.get("reviews"):
        yield "\n## Reviews\n\n"
        for review in data["reviews"]:
            void_note = "" if review["holds"] else f" (does not count: {review.get('void', 'void')})"
            yield f"- {review['verdict'].replace('_', ' ')} by {_format_author(review)}, {review['time']}, "
            yield f"on {review['commit'][:7]}{void_note}\n"
            if review["text"]:
                yield f"\n{_quote(review['text'], '  ')}\n{_render_rest(review.get('rest'), '  ')}\n"
        if rest_call := data.get("reviews_rest"):
            yield f"\nAll {data['reviews_total']} reviews: {rest_call}\n"


def _render_commits(data: Data) -> Iterator[str]:
    if data.get("commits"):
        yield "\n## Commits\n\n"
        for commit in data["commits"]:
            author_name = commit["by"]
            subject = _escape(commit["subject"])
            yield f"- {commit['commit'][:7]} {subject} ({_escape(author_name)}, {commit['date']})\n"
        if data.get("more_commits"):
            yield "- and older ones\n"


def _render_changes(data: Data, changes: str) -> Iterator[str]:
    yield "\n## Changes\n"
    if "reason" in data["changes"]:
        yield f"\n{_escape(data['changes']['reason'])}.\n"
    yield f"\n{changes}" if changes else "\nNone.\n"
    if files := data["changes"].get("files"):
        yield f"\nOther files: {_format_codes(files)}\n"


def _render_comments(data: Data) -> Iterator[str]:
    if not (data.get("comments") or data.get("comments_rest")):
        return
    total = data.get("comments_total", len(data["comments"]))
    yield f"\n## Comments ({total})\n"
    for thread in data["comments"]:
        yield f"\n- `{thread['comment']}` {_format_author(thread)}, {thread['time']}"
        yield f"{_format_location(thread)}"
        yield (
            f", resolved by {_format_author(resolution)}\n"
            if (resolution := thread.get("resolved"))
            else "\n"
        )
        if thread.get("quote"):
            yield f"\n{_quote(thread['quote'], '  > ')}\n"
        yield f"\n{_quote(thread['text'], '  ')}\n{_render_rest(thread.get('rest'), '  ')}"
        for reply in thread["replies"]:
            yield f"\n  - {_format_author(reply)}, {reply['time']}\n\n{_quote(reply['text'], '    ')}\n"
            yield _render_rest(reply.get("rest"), "    ")
        if rest_call := thread.get("replies_rest"):
            yield f"\n  And {thread['more_replies']} more replies: {rest_call}\n"
    if rest_call := data.get("comments_rest"):
        yield f"\nMore comments: {rest_call}\n"


def _render_rest(step: str | None, indent: str = "") -> str:
    """Return a line with the call for the rest of a cut text; an empty string without a rest."""
    return f"\n{indent}The rest: {step}\n" if step else ""


def _format_location(thread: Data) -> str:
    if "file" not in thread:
        return ""
    address = _format_address(thread)
    current_state = thread.get("now")
    current_location = thread.get("now_at")
    status = (
        f" (now at {_format_code(_format_address(current_location))})"
        if current_location
        else f" ({current_state})"
        if current_state not in (None, "here")
        else ""
    )
    return f", on {_format_code(address)}{status}"


def _format_address(location: Data) -> str:
    return f"{location['file']}#{location['slug']}" if location["slug"] else str(location["file"])


def _format_author(entry: Data) -> str:
    author = entry["author"]
    name = _escape(author["name"] or author["email"] or "someone")
    if author["token"]:
        return f"{name} (token {_escape(author['token'])})"
    return _escape(author["by"]) if author["client"] else name


def _escape(text: str) -> str:
    """Return text on one line, with markup escaped."""
    short_text = text if len(text) <= _MAX_LINE_CHARACTERS else text[:_MAX_LINE_CHARACTERS] + "…"
    return _MARKUP.sub(r"\\\g<0>", short_text.replace("\n", " "))


def _quote(text: str, indent: str = "") -> str:
    return "\n".join(f"{indent}> {line}" for line in text.split("\n"))


def _format_code(text: str) -> str:
    """Return a code span (CommonMark 0.31 §6.1)."""
    if not text:
        return "the document"
    longest_run = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest_run + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text.replace(chr(10), ' ')}{space}{ticks}"


def _format_codes(names: Iterable[str]) -> str:
    return ", ".join(_format_code(name) for name in names)


def _fence(text: str) -> str:
    """Return a text in a fence that is longer than any run of backticks in it (CommonMark 0.31 §4.5)."""
    longest_run = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    lines = text.rstrip("\n").split("\n")
    omitted_note = f"\n… {len(lines) - _MAX_FENCE_LINES} more lines" if len(lines) > _MAX_FENCE_LINES else ""
    return f"{fence}\n" + "\n".join(lines[:_MAX_FENCE_LINES]) + omitted_note + f"\n{fence}"
