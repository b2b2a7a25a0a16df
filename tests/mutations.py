"""Break each guarantee by a mutation of a copy of the source, and name the first test that fails.

    python -m tests.mutations [WORD…]    tries only mutations whose guarantee contains one of these words

A mutation replaces a text that occurs exactly once in its source file. If the code has changed so that this
is not true, `test_mutations.py` fails, and the mutation must be updated.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 300
_FOLDERS = ("docyard", "tools", "index", "workspace", "templates", "tests", "docs")
_FILES = ("pyproject.toml", "README.md", "CHANGELOG.md")


class Mutation(NamedTuple):
    """A guarantee, the file that implements it, the text to replace, the new text, and the tests to run."""

    guarantee: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_IDENTITY_TESTS = ("tests/docyard/identity",)

_LIST_PAGE_TESTS = ("tests/docyard/web/proposals/test_list_page.py",)

_UPSTREAM_TESTS = ("tests/workspace/sync/test_upstream.py",)

MUTATIONS = (
    Mutation(
        "a commit of another node that this clone lacks is no damage",
        "tools/writer.py",
        "(git.has_object(tip) and commit in git.merge_bases(tip, commit))",
        "commit in git.merge_bases(tip, commit)",
        ("tests/tools/test_nodes.py",),
    ),
    Mutation(
        "a lack of open files is no damage",
        "workspace/git/loose.py",
        "return error.errno in _SHORTAGES",
        "return False",
        ("tests/workspace/git/test_reader.py",),
    ),
    Mutation(
        "a removed pack of an old handle is not found again",
        "workspace/git/reader.py",
        "        self._repo.free()\n",
        "",
        ("tests/workspace/git/test_reader.py",),
    ),
    Mutation(
        "a call that failed on a node does not answer with the commit of another node",
        "workspace/publishing/publish.py",
        "        if not self._is_local:\n            note_commit(journal.commit)\n",
        "        note_commit(journal.commit)\n",
        _UPSTREAM_TESTS,
    ),
    Mutation(
        "a refresh is no change since a review",
        "workspace/proposals/review/since_review.py",
        "merge_commits(reviewed, base) if base is not None else None",
        "None",
        ("tests/workspace/proposals/review/test_since_review.py",),
    ),
    Mutation(
        "a change of the target that authors undid is a change since a review",
        "workspace/proposals/review/since_review.py",
        "list_changed_paths(reviewed, new).union(merge.changes)",
        "list_changed_paths(reviewed, new)",
        ("tests/workspace/proposals/review/test_since_review.py",),
    ),
    Mutation(
        "marks of changed words do not break sanitized HTML",
        "docyard/web/diff/html_comparison.py",
        "for part in _ENTITY.split(block[start:end]):",
        "for part in [block[start:end]]:",
        ("tests/docyard/web/diff/test_html_comparison.py",),
    ),
    Mutation(
        "a change that the rendered view cannot show is shown as source",
        "docyard/web/diff/section_renderer.py",
        "is_hidden or _has_changed_comments(changes)",
        "is_hidden",
        ("tests/docyard/web/diff/test_section_renderer.py",),
    ),
    Mutation(
        "tokens that nodes share are read for each decision",
        "workspace/policy/shared_tokens.py",
        "stored = self._storage.read(last_read[0] if last_read is not None else None)",
        "stored = StoredTokens(last_read[0], None) if last_read else self._storage.read(None)",
        ("tests/workspace/policy/test_shared_tokens.py",),
    ),
    Mutation(
        "the file of a node that shares tokens contains none",
        "workspace/policy/tokens.py",
        "        self.replace(_SHARED_NOTE)\n",
        "",
        ("tests/workspace/policy/test_shared_tokens.py",),
    ),
    Mutation(
        "lists that differ between two storages of an index prevent the switch",
        "docyard/commands/engine/use.py",
        "are_equal = not any(result.comparison.differences for result",
        "are_equal = bool(results) or any(result.comparison for result",
        ("tests/docyard/commands/engine",),
    ),
    Mutation(
        "a node whose index lags behind the others for too long is not ready",
        "docyard/http/health.py",
        "            if seconds > self._max_lag_s:\n",
        "            if seconds < 0:\n",
        ("tests/docyard/http/test_index_readiness.py",),
    ),
    Mutation(
        "a node whose replica lags for too long is not ready",
        "docyard/http/health.py",
        "replica_seconds or 0.0)",
        "0.0)",
        ("tests/docyard/http/test_index_readiness.py",),
    ),
    Mutation(
        "an answer of an earlier commit than min_commit says so",
        "tools/search/minimum_commit.py",
        'return result, {"behind": _describe_lag(id, commit)}',
        "return result, {}",
        ("tests/tools/search/test_minimum_commit.py",),
    ),
    Mutation(
        "a read of a commit that the clone lacks fetches it",
        "tools/search/minimum_commit.py",
        "        context.request_fetch()\n",
        "",
        ("tests/tools/search/test_minimum_commit.py",),
    ),
    Mutation(
        "a token that one node has signed is valid on the other nodes",
        "index/postgres/shared_keys.py",
        "return super().get_signing_key() if keys is None else keys.key",
        "return super().get_signing_key()",
        ("tests/index/postgres/test_shared_keys.py",),
    ),
    Mutation(
        "a token of the shared key before a rotation is valid until the next one",
        "index/postgres/shared_keys.py",
        "SET previous_key = key, key = %s",
        "SET key = %s",
        ("tests/index/postgres/test_shared_keys.py",),
    ),
    Mutation(
        "the nodes of a repository share the sessions of browsers",
        "docyard/http/server.py",
        "shared_sessions=open_engine_sessions(service.shared_engine)",
        "shared_sessions=None and open_engine_sessions(service.shared_engine)",
        ("tests/docyard/nodes/test_browser_sessions.py",),
    ),
    Mutation(
        "a session that ended in another process permits no change",
        "docyard/sessions/storage.py",
        "if is_read_only and cached is not None",
        "if cached is not None",
        ("tests/docyard/sessions/test_sessions.py",),
    ),
    Mutation(
        "a copy of the table of sessions has no digest of a token",
        "docyard/sessions/engine.py",
        "mask = hashlib.shake_256(seed).digest(len(data))",
        "mask = bytes(len(data))",
        ("tests/docyard/sessions/test_sessions.py",),
    ),
    Mutation(
        "a session has no key that makes seals",
        "docyard/identity/verifier.py",
        'return hashlib.sha256(b"docyard session\\n" + key).digest()',
        "return key",
        ("tests/docyard/http/test_authentication.py",),
    ),
    Mutation(
        "an outage of the database of people's tokens ends no session",
        "docyard/http/authentication.py",
        """            if isinstance(error, EngineUnavailable):
                raise DatabaseUnavailable.from_engine(error) from error
            return None
        if (""",
        "            return None\n        if (",
        ("tests/docyard/http/test_authentication.py",),
    ),
    Mutation(
        "a session of another token of the server has ended",
        "docyard/http/authentication.py",
        "return authenticated if is_current else None",
        "return authenticated",
        ("tests/docyard/http/test_authentication.py",),
    ),
    Mutation(
        "a node pushes only while it has the lease to write",
        "workspace/sync/upstream.py",
        "is_moved = is_held and _push_commit(",
        "is_moved = _push_commit(",
        _UPSTREAM_TESTS,
    ),
    Mutation(
        "the check of the lease asks the database",
        "docyard/nodes/lease.py",
        "if token is None or not self._renew(token):",
        "if token is None:",
        ("tests/docyard/nodes/test_lease.py",),
    ),
    Mutation(
        "the branch of a shared repository in a folder is moved only from the base of the commit",
        "workspace/git/remotes/local_push.py",
        "if old_commit not in (commit, (expected or {}).get(branch, old_commit)):",
        "if not branch:",
        _UPSTREAM_TESTS,
    ),
    Mutation(
        "the branch of a shared repository on a server is moved only from the base of the commit",
        "workspace/git/remotes/exchange.py",
        "if old_commit not in (expected or NULL_ID, str(update.dst)):",
        "if old_commit is None:",
        _UPSTREAM_TESTS,
    ),
    Mutation(
        "a forwarded call that may have been executed is not sent again without a key",
        "docyard/nodes/node.py",
        "if not call.has_key or time.monotonic() > deadline:",
        "if time.monotonic() > deadline:",
        ("tests/docyard/nodes/test_node.py",),
    ),
    Mutation(
        "a read waits once for min_commit, also if its answer is too long at first",
        "tools/search/minimum_commit.py",
        "deadline = context.started_at + MAX_WAIT_S",
        "deadline = time.monotonic() + MAX_WAIT_S",
        ("tests/docyard/test_sync.py",),
    ),
    Mutation(
        "a write to a branch that has diverged from the shared one is refused, and not busy",
        "workspace/sync/upstream.py",
        "if is_held and branch in self._diverged_branches:",
        "if not branch:",
        _UPSTREAM_TESTS,
    ),
    Mutation(
        "a node that pushes a proposal does not wait for its own lock",
        "workspace/sync/push.py",
        "is_shared = session.store.upstream is not None",
        "is_shared = False",
        ("tests/docyard/nodes/test_proposal_push.py",),
    ),
    Mutation(
        "a request without a signature is refused before its body is read",
        "docyard/nodes/endpoint.py",
        "if not _SIGNATURE.fullmatch(signature):",
        "if not request.method:",
        ("tests/docyard/nodes/test_endpoint.py",),
    ),
    Mutation(
        "of two nodes that change an index in PostgreSQL at once, one wins",
        "index/postgres/heads.py",
        " AND generation = %(expected)s",
        "",
        ("tests/index/postgres/test_storage.py",),
    ),
    Mutation(
        "a head in PostgreSQL is visible only with its segments",
        "index/postgres/storage.py",
        "        with connection.transaction():\n            for segment",
        "        with suppress(ValueError):\n            for segment",
        ("tests/index/postgres/test_storage.py",),
    ),
    Mutation(
        "a server of PostgreSQL that does not answer delays one connection only",
        "index/postgres/servers.py",
        "        _silent_servers.add(server.key)\n",
        "        pass\n",
        ("tests/index/postgres/test_servers.py",),
    ),
    Mutation(
        "a request to a server of PostgreSQL that stops answering ends",
        "index/postgres/servers.py",
        "                end.shutdown(socket.SHUT_RDWR)",
        "                pass",
        ("tests/index/postgres/test_servers.py",),
    ),
    Mutation(
        "the page of proposals computes merges for a limited time",
        "docyard/web/proposals/list.py",
        "page.items, proposals, max_merge_s=_MAX_MERGE_S)",
        "page.items, proposals)",
        _LIST_PAGE_TESTS,
    ),
    Mutation(
        "the page of proposals computes merges only of its entries",
        "docyard/web/proposals/list.py",
        "    unknown = [entry.proposal for entry in entries if entry.attention.has_conflicts is None]\n",
        "    unknown = matches\n",
        _LIST_PAGE_TESTS,
    ),
    Mutation(
        "the cookie of read proposals is bounded",
        "docyard/web/proposals/read_marks.py",
        "list(new_marks.items())[-MAX_MARKS:]",
        "list(new_marks.items())",
        _LIST_PAGE_TESTS,
    ),
    Mutation(
        "a read proposal that changes is unread again",
        "docyard/web/proposals/read_marks.py",
        "marks.get(proposal.id) != _digest(proposal)",
        "proposal.id not in marks",
        _LIST_PAGE_TESTS,
    ),
    Mutation(
        "a rule that denies a group is stronger than one that permits",
        "docyard/identity/rules.py",
        "        self._roles.update(dict.fromkeys(denied_prefixes, Role.NONE))\n",
        "",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "only the rules with the longest prefix decide",
        "docyard/identity/rules.py",
        "sorted({len(prefix) for prefix in self._roles}, reverse=True)",
        "sorted({len(prefix) for prefix in self._roles})",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "a token for another audience is refused",
        "docyard/identity/signed_tokens.py",
        "        _check_audience(claims, audiences)\n",
        "",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "an expired token is refused",
        "docyard/identity/signed_tokens.py",
        "    if now >= expires_at + LEEWAY_S:\n",
        "    if False:\n",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "a token of another issuer is refused",
        "docyard/identity/signed_tokens.py",
        '    if claims.get("iss") != provider.issuer:\n',
        "    if False:\n",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "an ID token is no access token",
        "docyard/identity/resource_server.py",
        "            _check_type(header, claims)\n",
        "",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "a sign-in ends only in the browser that began it",
        "docyard/identity/sign_in.py",
        '        if not hmac.compare_digest(state.encode("utf-8", "replace"), pending.state.encode()):\n',
        "        if not state:\n",
        (*_IDENTITY_TESTS, "tests/docyard/http/test_identity.py"),
    ),
    Mutation(
        "an ID token is for one sign-in",
        "docyard/identity/sign_in.py",
        "            self._check_claims(claims, pending.nonce)\n",
        "",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "a provider that cannot be reached never opens a server",
        "docyard/identity/provider.py",
        "                if is_forced or not self._is_usable(MAX_STALE_S):\n                    raise\n",
        "                if is_forced:\n                    raise\n",
        _IDENTITY_TESTS,
    ),
    Mutation(
        "a request needs the scope of its route",
        "docyard/http/authentication.py",
        "            if required_scope is not None and required_scope not in caller.principal.scopes:\n",
        "            if False:\n",
        ("tests/docyard/http/test_identity.py",),
    ),
    Mutation(
        "a caller who may only read has no tools that write",
        "docyard/http/server.py",
        "self._endpoint if WRITE_SCOPE in principal.scopes else self._reading_endpoint",
        "self._endpoint",
        ("tests/docyard/http/test_identity.py",),
    ),
    Mutation(
        "a token without the scope for reviews approves nothing",
        "workspace/proposals/actions/discuss.py",
        "    if verdict is not ReviewDecision.COMMENT and not actor.may_review:\n",
        "    if False:\n",
        ("tests/docyard/http/test_identity.py",),
    ),
    Mutation(
        "a comment is on the text that its author read",
        "docyard/web/proposals/actions.py",
        '        commit=fields.get("commit") or None,\n        reply_to=',
        "        reply_to=",
        ("tests/docyard/web/proposals/test_actions.py",),
    ),
    Mutation(
        "a token without the scope for reviews merges nothing that is protected",
        "workspace/proposals/actions/merge_gate.py",
        "(person is None or not may_review)",
        "person is None",
        ("tests/docyard/http/test_identity.py", "tests/workspace/proposals/actions/test_merge_gate.py"),
    ),
    Mutation(
        "an expired token of a person does not authenticate",
        "workspace/policy/tokens.py",
        "        if owner.has_expired():\n            raise _make_expired_error(owner)\n"
        "        return owner\n",
        "        return owner\n",
        ("tests/workspace/policy/test_tokens.py",),
    ),
    Mutation(
        "seals of a rotated token stay valid",
        "workspace/proposals/approvals.py",
        "            for key in (known_person.key, *known_person.old_keys)\n",
        "            for key in (known_person.key,)\n",
        ("tests/workspace/policy/test_tokens.py", "tests/workspace/proposals/test_approvals.py"),
    ),
    Mutation(
        "later pages of a search use the vectors of the first page",
        "index/vectors/query_vectors.py",
        "codes.scan(self.vector)[: codes.count_rows(self.position.last_id)]",
        "codes.scan(self.vector)",
        ("tests/index/vectors/test_vector_search.py",),
    ),
    Mutation(
        "vectors of another model are not compared",
        "index/vectors/embedder.py",
        "len(probe) == len(other) and float(probe @ other) >= MIN_PROBE_SIMILARITY",
        "len(probe) == len(other)",
        ("tests/index/vectors/test_vector_search.py",),
    ),
    Mutation(
        "names and phrases keep the order of words",
        "index/query.py",
        "        return ALL_HITS\n",
        "        return 0\n",
        ("tests/index/vectors/test_vector_search.py",),
    ),
    Mutation(
        "writer lock",
        "workspace/publishing/locks.py",
        "        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "        pass\n",
        ("tests/workspace/publishing/test_publishing.py", "tests/workspace/publishing/test_recovery.py"),
    ),
    Mutation(
        "another program's lock is never removed",
        "workspace/publishing/locks.py",
        "            if self._is_ours():\n                self.path.unlink()\n",
        "            self.path.unlink()\n",
        ("tests/workspace/publishing/test_publishing.py", "tests/workspace/publishing/test_recovery.py"),
    ),
    Mutation(
        "journal of a publication",
        "workspace/publishing/publish.py",
        "            self._ensure_staging_folder().write_journal(journal)\n            self._lock(",
        "            self._lock(",
        ("tests/workspace/publishing/test_recovery.py", "tests/faults"),
    ),
    Mutation(
        "recovery after a crash",
        "workspace/publishing/publish.py",
        "            self.recovery_result = recover_locked(self._store)\n",
        "",
        ("tests/workspace/publishing/test_recovery.py", "tests/faults"),
    ),
    Mutation(
        "branch moves only from the base of the batch",
        "workspace/publishing/refs.py",
        "    if tip != base:\n        raise BranchMoved(tip)\n",
        "",
        ("tests/workspace/publishing/test_publishing.py",),
    ),
    Mutation(
        "a batch that conflicts with uncommitted files is refused",
        "workspace/publishing/checkout.py",
        "        if conflicts:\n            raise WorktreeConflict(conflicts)\n",
        "",
        (
            "tests/workspace/publishing/test_publishing.py",
            "tests/workspace/publishing/test_refused_states.py",
        ),
    ),
    Mutation(
        "a batch is refused if a file is written during its replacement",
        "workspace/publishing/checkout.py",
        "            self._files.check_replaced(journal.files)\n",
        "",
        ("tests/workspace/publishing/test_publishing.py",),
    ),
    Mutation(
        "complete files are on the disk before the commit",
        "workspace/publishing/checkout.py",
        "                stream.flush()\n                os.fsync(descriptor)\n",
        "                stream.flush()\n",
        ("tests/faults",),
    ),
    Mutation(
        "objects are checked immediately before the branch moves",
        "workspace/publishing/publish.py",
        "            objects.protect()\n            self._ensure_branch_ref().move(ref_name)\n",
        "            self._ensure_branch_ref().move(ref_name)\n",
        ("tests/workspace/publishing/test_housekeeping.py",),
    ),
    Mutation(
        "objects are checked immediately after the branch has moved",
        "workspace/publishing/publish.py",
        "are_objects_protected = run_with_caveat(partial(_protect_objects, objects), False, caveat)\n",
        "are_objects_protected = True\n",
        ("tests/workspace/publishing/test_housekeeping.py",),
    ),
    Mutation(
        "a journal of a foreign repository is ignored",
        "workspace/publishing/journal.py",
        "        if not is_valid:\n            raise ValueError\n",
        "",
        ("tests/workspace/publishing/test_recovery.py",),
    ),
    Mutation(
        "a deleted branch is not created again",
        "workspace/branch.py",
        "        if head.branch is not None and head.branch in self._seen_branches:\n",
        "        if False:\n",
        ("tests/workspace/test_missing_repository.py",),
    ),
    Mutation(
        "a repository or work tree of a different folder is refused",
        "workspace/git/repository.py",
        "    if workdir is None or dot_git_parent is None:\n        return None\n",
        "    return None\n",
        ("tests/docyard/test_hostile_repository.py",),
    ),
    Mutation(
        "other users cannot read the private folder",
        "workspace/git/private_folder.py",
        "    return GROUP_MODES if is_group_shared(common_dir) else PRIVATE_MODES\n",
        "    return FolderModes(0o755, 0o644)\n",
        ("tests/workspace/git/test_private_folder.py",),
    ),
    Mutation(
        "a read-only workspace cannot write",
        "workspace/workspace.py",
        "GitReader(path) if read_only else GitStore(path)",
        "GitStore(path)",
        ("tests/workspace/test_workspace.py",),
    ),
    Mutation(
        "a read-only server has no tools that write",
        "tools/toolsets.py",
        " and not (read_only and tool.writes)",
        "",
        ("tests/tools/test_dispatcher.py",),
    ),
    Mutation(
        "a call that fails after its commit is reported as a success",
        "tools/dispatcher.py",
        "                    answer = build_committed_answer(record, error, self.offers)\n",
        "                    raise\n",
        ("tests/tools/test_after_commit.py",),
    ),
    Mutation(
        "a step that fails after the commit adds only a caveat",
        "workspace/publishing/after_commit.py",
        "        record.caveats.append(f",
        "        raise\n        record.caveats.append(f",
        ("tests/tools/test_after_commit.py",),
    ),
    Mutation(
        "policy check of a direct write",
        "workspace/writing/write.py",
        "            check_direct_write(result.plan.snapshot, result.changes)\n",
        "            pass\n",
        ("tests/workspace/policy", "tests/tools/proposals", "tests/acceptance/gate/test_gate.py"),
    ),
    Mutation(
        "a proposal is approved only with the approvals that its rules require",
        "workspace/proposals/actions/repository.py",
        "        return proposal._replace(state=ProposalState.OPEN)\n",
        "        return proposal\n",
        ("tests/docyard/commands/test_proposals.py",),
    ),
    Mutation(
        "policy check of a merge",
        "workspace/proposals/actions/merge.py",
        "            raise MergeBlocked(proposal, evaluation, (blocker.code, blocker.message))\n",
        "            pass\n",
        ("tests/workspace/proposals/actions", "tests/tools/proposals"),
    ),
    Mutation(
        "a skill is offered only if a rule requires an approval of its changes",
        "workspace/validation/skill_faults.py",
        "    if not find_approved_paths(config, [TouchedPath(document.path, read_types(document))]):\n",
        "    if not config.protect:\n",
        ("tests/workspace/test_skills.py",),
    ),
    Mutation(
        "a rule without approvals does not permit a skill",
        "workspace/policy/unapproved_text.py",
        "        if governing_rule.rule.approvals >= 1\n",
        "",
        ("tests/workspace/test_skills.py",),
    ),
    Mutation(
        "text that was written before the rule is no skill",
        "workspace/policy/unapproved_text.py",
        "                    verdicts[text] = _is_unapproved(git, node, text)\n",
        "                    verdicts[text] = False\n",
        ("tests/workspace/policy/test_unapproved_text.py",),
    ),
    Mutation(
        "skills of a proposal's branch are not offered",
        "workspace/skills.py",
        "name is None or name.startswith(PROPOSAL_BRANCH_PREFIX)",
        "name is None",
        ("tests/workspace/test_skills.py",),
    ),
    Mutation(
        "the files of rules and types are protected",
        "workspace/policy/protection.py",
        "    settings_paths = {\n"
        "        touched_path.path for touched_path in touched_paths if is_settings_path(touched_path.path)\n"
        "    }\n",
        "    settings_paths: set[str] = set()\n",
        ("tests/workspace/policy",),
    ),
    Mutation(
        "a branch with an open decision about its remote is not written to",
        "workspace/workspace.py",
        "self.sync_status().check_writable(snapshot, changes)\n",
        "None\n",
        ("tests/workspace/proposals/actions/test_guards.py",),
    ),
    Mutation(
        "text of a merged proposal under a rule is reviewed",
        "workspace/proposals/actions/merge_gate.py",
        "        find_unreviewed_changes(merge) if config.protect else (),\n",
        "        (),\n",
        ("tests/workspace/proposals/actions",),
    ),
    Mutation(
        "text of a synchronization under a rule is reviewed",
        "workspace/sync/sync.py",
        "            _check_content(merge, resolutions)\n            _check_reviewed(merge)\n",
        "            pass\n",
        ("tests/acceptance/gate/test_gate_clones.py",),
    ),
    Mutation(
        "a proposal that changes during its merge is evaluated again",
        "workspace/proposals/actions/merge.py",
        "        if (current.tip, current.content, current.unread_event_count) != (\n            tip,",
        "        if False and (\n            tip,",
        ("tests/workspace/proposals/actions",),
    ),
    Mutation(
        "a merge that waits for a person is for the commit that the user was asked about",
        "tools/proposals/missing_decision.py",
        '{**fields, "commit": proposal.tip}',
        "fields",
        ("tests/acceptance/proposals/test_review_page.py",),
    ),
    Mutation(
        "a user who declines to open a page permits no merge",
        "docyard/mcp_server/review_page.py",
        '        if action not in (None, "accept"):\n',
        '        action = action and "accept"\n        if False:\n',
        ("tests/acceptance/proposals/test_review_page.py",),
    ),
    Mutation(
        "a client cannot forge the state of a call that it repeats",
        "docyard/mcp_server/server.py",
        "        server.middleware.append(build_state_boundary())\n",
        "        pass\n",
        ("tests/acceptance/proposals/test_review_page.py",),
    ),
    Mutation(
        "answers to comments are checked before the edit",
        "tools/comments/address_comments.py",
        "    append(dry_run=True)  # raises an error before the edit is written\n",
        "",
        ("tests/tools/comments/test_address_comments.py",),
    ),
    Mutation(
        "a resolution comes after its comment in spite of a wrong clock",
        "workspace/proposals/discussion.py",
        "        return (*event.after, body.thread)\n",
        "        return event.after\n",
        ("tests/workspace/proposals/test_resolutions.py",),
    ),
    Mutation(
        "each branch has its own comments on documents",
        "workspace/proposals/actions/document_discussion.py",
        '    return derive_id(f"comments on {branch}")\n',
        '    return derive_id("comments on documents")\n',
        ("tests/workspace/proposals/actions/test_document_discussion.py",),
    ),
    Mutation(
        "an edit invalidates earlier approvals",
        "workspace/proposals/approvals.py",
        "        if approval.commit != proposal.tip:\n",
        "        if False:\n",
        ("tests/workspace/proposals/test_approvals.py",),
    ),
    Mutation(
        "the opener of a proposal cannot approve it",
        "workspace/proposals/approvals.py",
        "is_opened_by(proposal.content.author, approval.person)\n            or ",
        "",
        ("tests/workspace/proposals/test_approvals.py",),
    ),
    Mutation(
        "the author of a commit cannot approve it",
        "workspace/proposals/approvals.py",
        "            or approval.person.email.casefold() in authors\n",
        "",
        ("tests/workspace/proposals/test_approvals.py",),
    ),
    Mutation(
        "the author of an applied suggestion cannot approve it",
        "workspace/proposals/approvals.py",
        "                addresses |= read_co_author_emails(commit.message)\n",
        "                pass\n",
        ("tests/workspace/proposals/actions/test_suggestions.py",),
    ),
    Mutation(
        "a suggestion is applied once",
        "workspace/proposals/actions/suggestions.py",
        "            keyed_request=request,\n",
        "            keyed_request=None,\n",
        ("tests/workspace/proposals/actions/test_suggestions.py",),
    ),
    Mutation(
        "an approval counts once",
        "workspace/proposals/approvals.py",
        "        if body.seal in self._seals and body.verdict is ReviewDecision.APPROVE:\n",
        "        if False:\n",
        ("tests/workspace/proposals/test_approvals.py",),
    ),
    Mutation(
        "seal of approvals",
        "workspace/proposals/approvals.py",
        "    return hmac.compare_digest(seal[_NONCE_CHARACTERS:].encode(), expected.encode())\n",
        "    return True\n",
        ("tests/workspace/policy", "tests/workspace/proposals/actions"),
    ),
    Mutation(
        "only owners of tokens are people",
        "workspace/policy/tokens.py",
        "            if hmac.compare_digest(known_person.key, digest):\n"
        "                owner = known_person\n",
        "            owner = known_person\n",
        ("tests/workspace/policy",),
    ),
    Mutation(
        "unread text is not overwritten",
        "workspace/writing/read_before_write.py",
        "            if unread_sections:\n                raise self._make_error(",
        "            if False:\n                raise self._make_error(",
        ("tests/workspace/writing/test_read_before_write.py", "tests/tools/documents/test_overwrites.py"),
    ),
    Mutation(
        "a change since base_commit is a conflict",
        "workspace/writing/read_before_write.py",
        "        return base is not None and compute_digest(*base) == digest\n",
        "        return base is not None\n",
        ("tests/tools/documents/test_overwrites.py", "tests/workspace/writing/test_read_before_write.py"),
    ),
    Mutation(
        "only one claim of a task is valid",
        "workspace/edits/task_claim.py",
        "        if claim is not None and not is_holder and claim.is_valid_at(self.time):\n",
        "        if False:\n",
        ("tests/tools/planning/test_claim_task.py",),
    ),
    Mutation(
        "of two claims in the discussion, the earlier one counts",
        "workspace/proposals/actions/task_claims.py",
        "        if _is_valid(current, event.time) and previous != current:\n",
        "        if False:\n",
        ("tests/workspace/proposals/actions/test_task_claims.py",),
    ),
    Mutation(
        "dependencies follow tasks to other documents",
        "workspace/writing/dependency_updates.py",
        "    if not moves:\n",
        "    if True:\n",
        ("tests/workspace/writing/test_dependency_updates.py",),
    ),
    Mutation(
        "a change of the end of a section ends its drift",
        "workspace/history/drift.py",
        "        return data.endswith(self._context) if self._is_last else self._context in data\n",
        '        return self._context.rpartition(b"## ")[0] in data\n',
        ("tests/workspace/history/test_drift.py",),
    ),
    Mutation(
        "no task waits for itself",
        "workspace/edits/task_plan.py",
        "        if circle is not None:\n",
        "        if False:\n",
        ("tests/workspace/edits/test_task_plan.py",),
    ),
    Mutation(
        "an address refers to its section in base_commit",
        "workspace/diff/section_mapping.py",
        "    if old.data == new.data or (section.is_preamble and task is None):\n",
        "    if True:\n",
        ("tests/workspace/diff/test_section_mapping.py",),
    ),
    Mutation(
        "renames and moves update links",
        "workspace/writing/plan.py",
        "    updates = update_links(before, after, offset_map, inbound_links or InboundLinkScanner())\n",
        "    from workspace.links.updates import NO_UPDATES\n\n    updates = NO_UPDATES\n",
        ("tests/workspace/links",),
    ),
    Mutation(
        "the result of an edit is parsed and compared",
        "workspace/document/splices.py",
        "    _check_structure(document, edited_document, splices, edit.renamed_position)\n",
        "",
        ("tests/workspace/edits/test_introduction.py", "tests/workspace/edits/test_rewrite_text.py"),
    ),
    Mutation(
        "a merge loses no line",
        "workspace/merge/documents.py",
        "return data if preserves_all_lines(base, ours, theirs, document, conflicts.versions) else None",
        "return data",
        ("tests/workspace/merge",),
    ),
    Mutation(
        "a repeated idempotency key is not executed twice",
        "workspace/writing/idempotency.py",
        "                    if recorded_request is not None:\n"
        "                        return recorded_request\n",
        "",
        ("tests/workspace/writing/test_idempotency.py", "tests/workspace/writing/test_retries.py"),
    ),
    Mutation(
        "an idempotency key of a different call is refused",
        "workspace/writing/idempotency.py",
        "        if recorded_request is not None and recorded_request.digest != request.digest:\n",
        "        if False:\n",
        ("tests/workspace/writing/test_idempotency.py",),
    ),
    Mutation(
        "no push over the network is forced",
        "workspace/git/remotes/remote.py",
        "{commit or ''}:{_HEADS}{branch}",
        "+{commit or ''}:{_HEADS}{branch}",
        ("tests/workspace/sync/test_sync.py",),
    ),
    Mutation(
        "no push to a folder is forced",
        "workspace/git/remotes/local_push.py",
        "        elif old_commit is not None and not _is_fast_forward(local_repo, commit, old_commit):\n",
        "        elif False:\n",
        ("tests/workspace/sync/test_sync.py",),
    ),
    Mutation(
        "no path leads into Git's folder",
        "workspace/paths.py",
        '        return "it leads into Git\'s own folder"\n',
        "        return None\n",
        ("tests/workspace/test_paths.py",),
    ),
    Mutation(
        "MAC of cursors",
        "index/cursors.py",
        "    if not (is_signed and is_canonical):\n",
        "    if not is_canonical:\n",
        ("tests/index/test_search.py", "tests/tools/reading/test_pages.py"),
    ),
    Mutation(
        "seal of the index",
        "index/storage/manifest.py",
        "        if not hmac.compare_digest(seal.encode(), _compute_seal(folder, values).encode()):\n",
        "        if not seal:\n",
        (
            "tests/index/storage/test_damage.py",
            "tests/index/storage/test_concurrency.py",
            "tests/index/segments",
        ),
    ),
    Mutation(
        "checksums of the index",
        "index/storage/manifest.py",
        '            raise IndexDamaged.with_reason(f"file {name} has a wrong checksum")\n',
        "            pass\n",
        ("tests/index/storage/test_damage.py",),
    ),
    Mutation(
        "a search uses the tip of the branch",
        "index/live.py",
        "        return state.commit != self._workspace.tip()\n",
        "        return False\n",
        ("tests/index/test_branch_updates.py",),
    ),
    Mutation(
        "seal of artifacts",
        "index/artifacts/manifest.py",
        "    return seal is not None and hmac.compare_digest(\n"
        "        seal.encode(), _compute_seal(metadata, manifest, key).encode()\n    )\n",
        "    return seal is not None\n",
        ("tests/index/artifacts",),
    ),
    Mutation(
        "token of the HTTP server",
        "docyard/http/authentication.py",
        "        if self._token_digest is not None and hmac.compare_digest(self._token_digest, digest):\n",
        "        if self._token_digest is not None:\n",
        ("tests/docyard/http/test_authentication.py",),
    ),
    Mutation(
        "without a token only this machine may write",
        "docyard/http/settings.py",
        "    if no_token and not is_local and not read_only:\n",
        "    if False:\n",
        ("tests/docyard/http/test_settings.py",),
    ),
    Mutation(
        "a revoked token ends its sessions",
        "docyard/http/authentication.py",
        "            await self._sessions.end(value)\n            return None\n        return session",
        "            return session\n        return session",
        ("tests/docyard/http/test_authentication.py",),
    ),
    Mutation(
        "a session cannot call /mcp",
        "docyard/http/authentication.py",
        "if not is_mcp_path(path) and (session",
        "if (session",
        ("tests/docyard/http/test_authentication.py",),
    ),
    Mutation(
        "the HTTP server accepts requests of its own host only",
        "docyard/http/host_origin.py",
        "        if not self._allowed_hosts.allows_host(hosts[0]):\n",
        "        if False:\n",
        ("tests/docyard/http/test_host_origin.py",),
    ),
    Mutation(
        "a form has the token of its session",
        "docyard/web/forms.py",
        "    if not hmac.compare_digest(token, request.state.caller.csrf.encode()):\n",
        "    if False:\n",
        ("tests/docyard/web/documents/test_edit.py", "tests/docyard/web/proposals/test_actions.py"),
    ),
    Mutation(
        "a user who writes on a page without a token is an author",
        "docyard/web/documents/page_write.py",
        "                trailers=actor.decision_trailers,\n",
        "",
        ("tests/docyard/web/documents/test_authorship.py",),
    ),
    Mutation(
        "direct writes at once open one draft",
        "workspace/proposals/actions/drafts.py",
        "    with docyard_lock(repository.workspace.git.common_dir, LOCK_PATH, timeout_s=_LOCK_TIMEOUT_S):\n",
        "    if True:\n",
        ("tests/workspace/proposals/actions/test_drafts.py",),
    ),
    Mutation(
        "a draft gets the direct writes of one hour",
        "workspace/proposals/actions/drafts.py",
        "    return datetime.now(UTC) - _find_opening_time(events) < MAX_DRAFT_AGE\n",
        "    return True\n",
        ("tests/workspace/proposals/actions/test_drafts.py",),
    ),
    Mutation(
        "a draft that another author changed gets no further write",
        "workspace/proposals/actions/drafts.py",
        "event.author != actor.event_author or isinstance",
        "isinstance",
        ("tests/workspace/proposals/actions/test_drafts.py",),
    ),
    Mutation(
        "a draft that is submitted during a write does not get it",
        "workspace/proposals/actions/drafts.py",
        "            result = replace(call, confirm=confirm).write()\n",
        "            result = replace(call).write()\n",
        ("tests/workspace/proposals/actions/test_drafts.py",),
    ),
    Mutation(
        "a form of a page that is sent twice writes once",
        "docyard/web/documents/page_write.py",
        "                keyed_request=keyed_request,\n                person=actor.person,\n",
        "                person=actor.person,\n",
        ("tests/docyard/web/documents/test_document_forms.py",),
    ),
    Mutation(
        "a form of a page overwrites only the text that it showed",
        "docyard/web/documents/page_write.py",
        "                base_commit=write.base_commit,\n                keyed_request",
        "                base_commit=workspace.snapshot().commit,\n                keyed_request",
        ("tests/docyard/web/documents/test_document_forms.py",),
    ),
    Mutation(
        "a box changes only the task that its page showed",
        "docyard/web/documents/task_boxes.py",
        "            base_commit=commit,\n",
        "",
        ("tests/docyard/web/documents/test_task_boxes.py",),
    ),
    Mutation(
        "the content of an uploaded file decides whether it is an image",
        "workspace/edits/images.py",
        " or size is None or not size.width or not size.height:\n",
        " or size is None:\n",
        ("tests/docyard/web/documents/test_images.py",),
    ),
    Mutation(
        "an uploaded image is committed to a proposal",
        "docyard/web/documents/images.py",
        "        target.proposal or NEW_PROPOSAL,\n",
        "        target.proposal,\n",
        ("tests/docyard/web/documents/test_images.py",),
    ),
    Mutation(
        "a review applies to the commit of its page",
        "docyard/web/proposals/actions.py",
        '        commit=request.fields.get("commit") or None,\n',
        "        commit=None,\n",
        ("tests/docyard/web/proposals/test_actions.py",),
    ),
    Mutation(
        "the HTML of a page is sanitized",
        "workspace/rendering/sanitizer.py",
        "    html = cleaner.clean(html)\n",
        "",
        ("tests/workspace/rendering",),
    ),
    Mutation(
        "images of other hosts are not loaded",
        "workspace/rendering/sanitizer.py",
        'is_allowed = value[:1] == "/" and value in addresses\n',
        "is_allowed = True\n",
        ("tests/workspace/rendering",),
    ),
    Mutation(
        "a browser saves an SVG image that is opened by itself",
        "workspace/rendering/raw.py",
        "            _format_attachment(path),\n",
        '            "inline",\n',
        ("tests/workspace/rendering/test_raw.py",),
    ),
    Mutation(
        "a formula has only elements and attributes of MathML",
        "workspace/rendering/sanitizer.py",
        "            return value if is_allowed else None\n        match name:\n",
        "        match name:\n",
        ("tests/workspace/rendering/test_formulas.py",),
    ),
    Mutation(
        "formulas do not change the blocks of a page",
        "workspace/markdown/html/reader.py",
        'parser.inline.ruler.before("escape", "math", read_formula)\n',
        '__import__("mdit_py_plugins.dollarmath").dollarmath.dollarmath_plugin(parser)\n',
        ("tests/workspace/rendering/test_formulas.py",),
    ),
    Mutation(
        "a frame of diagrams has no origin",
        "docyard/web/diagrams.py",
        "; sandbox allow-scripts",
        "",
        ("tests/docyard/web/documents/test_diagrams.py",),
    ),
    Mutation(
        "values in pages are escaped",
        "docyard/web/templates.py",
        "autoescape=True",
        "autoescape=False",
        ("tests/docyard/web/documents",),
    ),
    Mutation(
        "an answer of a server of sources fits the budget of its call",
        "tools/retrieval/dispatcher.py",
        "                limit = narrowed_limit\n",
        "                limit = int(limit)\n",
        ("tests/tools/retrieval/test_search_documentation.py",),
    ),
    Mutation(
        "a source serves only the history of its ref",
        "workspace/source_workspace.py",
        "            return snapshot\n        raise _make_ref_error()\n",
        "            return snapshot\n        return snapshot\n",
        ("tests/index/sources/test_sources.py",),
    ),
    Mutation(
        "a source serves only its folder",
        "workspace/source_workspace.py",
        ", previous, folder=self._folder)",
        ", previous)",
        ("tests/index/sources/test_sources.py",),
    ),
    Mutation(
        "a reader's suggestion replaces no text directly",
        "tools/proposals/report_problem.py",
        '    options = {"new_proposal": new_proposal, "idempotency_key": report.key}',
        '    options = {"idempotency_key": report.key}',
        ("tests/tools/proposals/test_report_problem.py",),
    ),
    Mutation(
        "webhooks are signed",
        "docyard/forges/webhooks/signatures.py",
        '    return hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode())\n',
        "    return True\n",
        ("tests/docyard/forges/test_webhooks.py",),
    ),
    Mutation(
        "a forge's token is sent to its origin only",
        "docyard/forges/transport.py",
        "        if _get_origin(resolved_url) != self._origin:\n",
        "        if False:\n",
        ("tests/docyard/forges/test_failures.py",),
    ),
    Mutation(
        "administrators name repositories only in folders that the operator listed",
        "docyard/organizations/authority.py",
        "any(path == root or root in path.parents for root in roots)",
        "any(str(path).startswith(str(root)) for root in roots)",
        ("tests/docyard/organizations/test_authority.py",),
    ),
    Mutation(
        "administrators lose no change of another administrator",
        "docyard/organizations/administration.py",
        "if expected is not None and expected != compute_version(fields):",
        "if expected is not None and not fields:",
        ("tests/docyard/organizations/test_administration.py",),
    ),
    Mutation(
        "a view has only the namespaces that its caller may read",
        "docyard/hosting/views.py",
        "        if name in organization.namespaces and rules.find_role(name) > Role.NONE\n",
        "        if name in organization.namespaces\n",
        ("tests/docyard/hosting/test_organization_sources.py",),
    ),
    Mutation(
        "groups of a member count in no other organization",
        "docyard/hosting/views.py",
        "    return principal.groups if is_known or directory.shares_groups else frozenset()\n",
        "    return principal.groups\n",
        ("tests/docyard/hosting/test_organization_sources.py",),
    ),
    Mutation(
        "handles of one organization are invalid for another",
        "tools/retrieval/walkthroughs.py",
        "if (source.organization, source.name) == owner), None)",
        "if source.name == owner[1]), None)",
        ("tests/acceptance/organizations/test_differential.py",),
    ),
    Mutation(
        "cursors of one organization are invalid for another",
        "tools/retrieval/search_documentation.py",
        "[(source.organization, source.name) for source in sources]",
        "[source.name for source in sources]",
        ("tests/acceptance/organizations/test_differential.py",),
    ),
    Mutation(
        "administrators of an organization see no other organization",
        "docyard/organizations/administration.py",
        "(connection)\n        return read_state(connection, self.administrator.organization)",
        "(connection)\n        return read_state(connection)",
        ("tests/docyard/organizations/test_administration.py",),
    ),
    Mutation(
        "a removed entry of the audit log is found",
        "docyard/organizations/audit.py",
        "hashlib.sha256((previous_hash + format_canonical_json(dict(fields))).encode())",
        "hashlib.sha256(format_canonical_json(dict(fields)).encode())",
        ("tests/docyard/organizations/test_audit.py",),
    ),
    Mutation(
        "pages of administrators do not exist for others",
        "docyard/web/administration/routes.py",
        "        if page is None:\n            raise HTTPException(404)",
        "        if page is None:\n            raise HTTPException(403)",
        ("tests/docyard/web/administration/test_administration_pages.py",),
    ),
    Mutation(
        "a call that exceeds a limit is refused",
        "docyard/limits/buckets.py",
        "            if empty:\n                return max(",
        "            if empty and not charges:\n                return max(",
        ("tests/docyard/limits",),
    ),
    Mutation(
        "a refused call takes no tokens and is not in flight",
        "docyard/limits/limiter.py",
        "        self._running.finish(caps)\n        limit = ",
        "        limit = ",
        ("tests/docyard/limits",),
    ),
    Mutation(
        "a header of a client does not choose its address",
        "docyard/http/client_address.py",
        "        if not self._is_trusted(address):\n",
        "        if not address:\n",
        ("tests/docyard/http/test_operations.py",),
    ),
    Mutation(
        "metrics are for operators",
        "docyard/http/health.py",
        "if metrics is None or not is_operator(_get_caller(request)):",
        "if metrics is None:",
        ("tests/docyard/http/test_operations.py",),
    ),
    Mutation(
        "logs have no content",
        "docyard/telemetry/logs.py",
        "return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else _HIDDEN",
        "return value",
        ("tests/docyard/telemetry/test_logs.py",),
    ),
    Mutation(
        "an event is found and sent after a restart, although no server ran at its commit",
        "docyard/notifications/notifier.py",
        "since = datetime.now(UTC) - EVENT_AGE",
        "since = datetime.now(UTC)",
        ("tests/docyard/notifications/test_notifier.py",),
    ),
    Mutation(
        "an event is queued once",
        "docyard/notifications/queue.py",
        "        return connection.execute(statement).first() is not None\n",
        "        return connection.execute(statement).first() is not None or event_id != _START_EVENT\n",
        ("tests/docyard/notifications/test_queue.py",),
    ),
    Mutation(
        "a delivery is not repeated because the database did not record its result",
        "docyard/notifications/notifier.py",
        "            record()\n            del self._results[id]\n",
        "            del self._results[id]\n            record()\n",
        ("tests/docyard/notifications/test_notifier.py",),
    ),
    Mutation(
        "a webhook never connects to a private address that is not listed",
        "docyard/notifications/webhook.py",
        "return address.is_global and not address.is_multicast",
        "return not address.is_multicast",
        ("tests/docyard/notifications/test_webhook.py",),
    ),
    Mutation(
        "a webhook connects to the address that was checked",
        "docyard/notifications/webhook.py",
        "socket.create_connection((ip, port), self._timeout_s)",
        "socket.create_connection((self.host, port), self._timeout_s)",
        ("tests/docyard/notifications/test_webhook.py",),
    ),
    Mutation(
        "a redirect of a webhook is a failure",
        "docyard/notifications/webhook.py",
        "        if not 200 <= status < 300:\n",
        "        if not 200 <= status < 600:\n",
        ("tests/docyard/notifications/test_webhook.py",),
    ),
    Mutation(
        "a text of a person adds no header to an e-mail",
        "docyard/notifications/mail.py",
        """escape_invisible(" ".join(text.split()))""",
        "text",
        ("tests/docyard/notifications/test_mail.py",),
    ),
    Mutation(
        "the command shows no part of the URL of a webhook that may be a secret",
        "docyard/notifications/channels.py",
        """f"{url.scheme}://{url.netloc}", details""",
        "section.webhook_url, details",
        ("tests/docyard/commands/config/test_notify.py",),
    ),
    Mutation(
        "queued notifications are erased",
        "docyard/records/erasure.py",
        "connection.execute(delete(NOTIFICATIONS).where(_match_notifications(text))).rowcount",
        "0",
        ("tests/docyard/records/test_erasure.py",),
    ),
    Mutation(
        "secrets in the file of settings are refused",
        "docyard/settings/file.py",
        "if field.is_secret or (isinstance(value, str) and mask_password(value) != value):",
        "if not field.location:",
        ("tests/docyard/settings",),
    ),
    Mutation(
        "an ambiguous prefix of an id names no proposal",
        "workspace/proposals/proposal.py",
        "        if len(opened_ids) > 1:\n",
        "        if False:\n",
        ("tests/workspace/proposals/test_proposals.py",),
    ),
)


def main(words: list[str]) -> int:
    """Try the mutations, and print the failed test for each; return 1 if a mutation fails no test."""
    mutations = [
        mutation for mutation in MUTATIONS if not words or any(word in mutation.guarantee for word in words)
    ]
    assert mutations, f"no guarantee contains one of these words: {', '.join(words)}"
    for mutation in mutations:
        if (mismatch := describe_mismatch(mutation)) is not None:
            sys.exit(mismatch)
    missed_count = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder)
        for name in _FOLDERS:
            shutil.copytree(ROOT / name, copy / name)
        for name in _FILES:
            shutil.copy2(ROOT / name, copy / name)
        print("| guarantee | failed test | seconds |\n|---|---|--:|", flush=True)
        for number, mutation in enumerate(mutations, 1):
            start = time.monotonic()
            failed_test = try_mutation(copy, mutation, number)
            missed_count += failed_test is None
            print(
                f"| {mutation.guarantee} | {failed_test or '**nothing**'} | {time.monotonic() - start:.0f} |",
                flush=True,
            )
    return 1 if missed_count else 0


def describe_mismatch(mutation: Mutation) -> str | None:
    """Return the reason why a mutation does not match the present code, or None."""
    if missing_tests := [test for test in mutation.tests if not (ROOT / test).exists()]:
        return f"{mutation.guarantee}: {missing_tests[0]} does not exist"
    count = (ROOT / mutation.file).read_text("utf-8").count(mutation.old)
    return None if count == 1 else f"{mutation.guarantee}: {mutation.file} contains the text {count} times"


def try_mutation(copy: Path, mutation: Mutation, number: int) -> str | None:
    """Return the first test that fails under a mutation and passes without it, or None."""
    file = copy / mutation.file
    original_text = file.read_text("utf-8")
    _write(file, original_text.replace(mutation.old, mutation.new), 2 * number)
    try:
        code, output = _run(copy, mutation.tests)
    finally:
        _write(file, original_text, 2 * number + 1)
    failure = re.search(r"^FAILED (.+?)(?: - .*)?$", output, re.MULTILINE)
    if code != 1 or failure is None:
        print(output[-2_000:], file=sys.stderr)
        return None
    code, output = _run(copy, [failure[1]])
    if code != 0:
        print(f"{failure[1]} also fails without the mutation\n{output[-2_000:]}", file=sys.stderr)
        return None
    return failure[1]


def _run(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests of `make test` in the copy until one fails; return the exit code and the output."""
    try:
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "400"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return -1, f"the tests took more than {TIMEOUT_S} seconds"
    return process.returncode, process.stdout


def _write(file: Path, text: str, timestamp: int) -> None:
    """Write a module with a distinct time, since Python identifies its compiled modules by time and size."""
    file.write_text(text, "utf-8")
    os.utime(file, (timestamp, timestamp))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
