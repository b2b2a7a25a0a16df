"""`docyard proposals`: how it prints conflicts, and how decisions are given by name or in a file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docyard.cli.main import main
from docyard.cli.proposals.conflicts import (
    check_versions,
    conflict_to_data,
    format_conflict_name,
    parse_decisions,
    resolve_choices,
)
from docyard.terminal.exits import CommandError
from tests.docyard.conftest import Git
from tests.loops import loop_over
from workspace.escapes import escape_invisible
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitConflict, UnitId, UnitKind
from workspace.merge.trees import FileConflict
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]
RunCommand = Callable[..., str]

TEXT = "# Plan\n\nFirst words.\n\n## Steps\n\nOne step.\n\n## Tasks\n\n- [ ] Measure it\n"
OURS = TEXT.replace("One step.", "Our step.").replace("First", "Our").replace("Measure it", "Measure ours")
THEIRS = (
    TEXT.replace("One step.", "Their step.").replace("First", "Their").replace("Measure it", "Measure theirs")
)


@pytest.fixture
def proposal_id(repo: Path, git: Git) -> str:
    """Return the id of a proposal that has a conflict with main in each of three units of a document."""
    (repo / "plan.md").write_text(TEXT)
    git("add", ".")
    git("commit", "--quiet", "--message", "Plan")
    assert main(["proposals", "create", "Steps", "-C", str(repo)]) == 0
    [proposal] = Workspace.open(repo, read_only=True).proposal_actions().list_all()
    for branch, text in ((proposal.content.branch, OURS), ("main", THEIRS)):
        git("switch", "--quiet", branch)
        (repo / "plan.md").write_text(text)
        git("commit", "--quiet", "--all", "--message", branch)
    return proposal.id


@pytest.fixture
def run_command(repo: Path, capsys: Capture) -> RunCommand:
    """Return a function that runs a command, checks its exit code, and returns its output."""
    capsys.readouterr()

    def run_command(*arguments: str, code: int = 0) -> str:
        assert main(["proposals", *arguments, "-C", str(repo)]) == code
        captured = capsys.readouterr()
        return (captured.out + captured.err).replace(f" -C {repo}", "")

    return run_command


def read_merged_plan(repo: Path, git: Git) -> str:
    return git("show", f"{git('branch', '--list', 'proposals/*').strip(' *+')}:plan.md") + "\n"


def test_unresolved_conflict_changes_no_branch(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand
) -> None:
    refs_before = git("for-each-ref")
    output = run_command("conflicts", proposal_id, code=1)
    assert output.startswith(f"3 conflicts of proposal {proposal_id} with main; nothing was merged.\n")
    assert (
        "text:plan.md#steps\n  base\n    One step.\n  ours\n    Our step.\n  theirs\n    Their step.\n"
        in output
    )
    for command in ("refresh", "merge"):
        assert run_command(command, proposal_id, code=1) == output
    for page in (output, run_command("show", proposal_id)):
        assert "Resolving a conflict makes you an author of the proposal, who cannot approve it." in page
    assert git("for-each-ref") == refs_before
    [name] = [line for line in output.splitlines() if line.startswith("task")]
    assert (
        json.loads(run_command("refresh", proposal_id, "--ours", name, "--json", code=1))["conflicts"][0][
            "choice"
        ]
        is None
    )
    assert git("for-each-ref") == refs_before


def test_union_keeps_both_texts(repo: Path, git: Git, proposal_id: str, run_command: RunCommand) -> None:
    options = ["--union", "plan.md#steps", "--union", "plan.md#_preamble"]
    # No union of a task has a meaning, so its conflict needs a side.
    error = run_command("refresh", proposal_id, "--union", "plan.md", code=3)
    assert "both versions of the task" in error
    [name] = [
        line for line in run_command("conflicts", proposal_id, code=1).splitlines() if line.startswith("task")
    ]
    run_command("refresh", proposal_id, *options, "--ours", name)
    merged_text = read_merged_plan(repo, git)
    assert "Our step.\n\nTheir step.\n" in merged_text
    assert "Our words.\n\nTheir words.\n" in merged_text
    assert "- [ ] Measure ours" in merged_text


def test_names_resolve_one_unit_or_whole_file(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand
) -> None:
    run_command("refresh", proposal_id, "--ours", "plan.md", "--theirs", "text:plan.md#steps", code=2)
    error = run_command("refresh", proposal_id, "--ours", "text:plan.md#step", code=2)
    assert "the conflicts include text:plan.md#steps" in error
    [name] = [
        line for line in run_command("conflicts", proposal_id, code=1).splitlines() if line.startswith("task")
    ]
    output = run_command(
        "refresh",
        proposal_id,
        "--ours",
        "plan.md#steps",
        "--theirs",
        "text:plan.md#_preamble",
        "--theirs",
        name,
    )
    assert output.startswith(f"Refreshed {proposal_id} as ")
    assert "You are an author of the proposal now, and cannot approve it" in output
    assert read_merged_plan(repo, git) == TEXT.replace("One", "Our").replace("First", "Their").replace(
        "it", "theirs"
    )
    assert run_command("conflicts", proposal_id) == f"Proposal {proposal_id} has no conflict with main.\n"
    assert "contains all commits of its target already" in run_command("refresh", proposal_id)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_conflict_with_removed_document_is_resolved(
    side: str, repo: Path, git: Git, proposal_id: str, run_command: RunCommand
) -> None:
    git("rm", "--quiet", "plan.md")
    git("commit", "--quiet", "--message", "No plan")
    output = run_command("conflicts", proposal_id, code=1)
    assert output.startswith(f"1 conflict of proposal {proposal_id} with main; nothing was merged.\n")
    assert "plan.md" in output
    assert run_command("merge", proposal_id, code=1) == output
    run_command("refresh", proposal_id, f"--{side}", "plan.md")
    run_command("merge", proposal_id)
    assert (repo / "plan.md").exists() == (side == "ours")
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("file_format", ["json", "toml"])
def test_decision_file_resolves_conflicts_with_new_content(
    file_format: str, repo: Path, git: Git, tmp_path: Path, proposal_id: str, run_command: RunCommand
) -> None:
    data = json.loads(run_command("conflicts", proposal_id, "--json", code=1))
    for conflict in data["conflicts"]:
        conflict["choice"] = "theirs"
        if conflict["where"] == "steps":
            conflict |= {"choice": "content", "content": "Both steps.\n"}
    decision_file = tmp_path / f"decisions.{file_format}"
    if file_format == "json":
        decision_file.write_text(json.dumps(data))
    else:
        tables = [
            "\n".join(
                ["[[conflicts]]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items() if value)]
            )
            for entry in data["conflicts"]
        ]
        decision_file.write_text("\n\n".join(tables))
    run_command("refresh", proposal_id, "--resolve", str(decision_file))
    assert read_merged_plan(repo, git) == THEIRS.replace("Their step.", "Both steps.")


@loop_over(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[[conflicts", "not JSON, and as TOML"),
        ("a = ", "TOML"),
        ("a" + ".a" * 5_000 + " = 1", "nested too deeply"),
        ("{}", "no list 'conflicts'"),
        ('{"conflicts": [1]}', "decision 1 must be an object"),
        ('[{"choice": "ours"}]', "decision 1 does not name a conflict"),
        ('[{"choice": "ours", "file": "a.md", "kind": "poem"}]', "does not name a conflict"),
        ('[{"choice": ["ours"], "file": "a.md", "kind": "text"}]', "the choice of decision 1 is unknown"),
        ('[{"choice": "content", "file": "a.md", "kind": "text"}]', "decision 1 has no content"),
        ('[{"choice": "content", "file": "a.md", "kind": "text", "content": 1}]', "must be a string"),
        (
            '[{"choice": "content", "file": "a.md", "kind": "text", "content": "\\ud800"}]',
            "not valid Unicode",
        ),
    ],
)
def test_malformed_decisions_are_refused(text: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason) as error_info:
        parse_decisions(text)
    assert error_info.value.fix


def test_decision_without_choice_is_ignored() -> None:
    entries = [{"file": "a.md", "kind": "text", "where": "b", "choice": None}]
    assert parse_decisions(json.dumps(entries)) == {}


def test_empty_content_of_section_or_document_removes_it() -> None:
    entries = [
        {"file": "a.md", "kind": "section", "where": "c", "choice": "content", "content": None},
        {"file": "b.md", "kind": "document", "choice": "content", "content": ""},
    ]
    assert parse_decisions(json.dumps(entries)) == {
        "a.md": {UnitId(UnitKind.SECTION, "c"): Resolution(ResolutionChoice.CONTENT, None)},
        "b.md": {UnitId(UnitKind.DOCUMENT): Resolution(ResolutionChoice.CONTENT, None)},
    }


name_strategy = st.text(st.sampled_from("ab#~:/[]0 é\u202e"), max_size=5)
unit_strategy = st.builds(
    UnitId, st.sampled_from([*UnitKind]), name_strategy, st.sampled_from(["", "0", "1"])
)
version_strategy = st.none() | st.binary(max_size=5)
conflict_lists_strategy = st.lists(
    st.builds(
        FileConflict,
        name_strategy.filter(bool),
        st.builds(UnitConflict, unit_strategy, version_strategy, version_strategy, version_strategy),
    ),
    unique_by=lambda file_conflict: (file_conflict.path, file_conflict.conflict.unit),
    max_size=5,
)


@given(conflict_lists_strategy)
def test_printed_conflict_name_resolves_only_its_conflict(file_conflicts: list[FileConflict]) -> None:
    for path, conflict in file_conflicts:
        entry = json.loads(json.dumps(conflict_to_data(FileConflict(path, conflict))))
        assert parse_decisions(json.dumps([entry | {"choice": "theirs"}])) == {
            path: {conflict.unit: Resolution(ResolutionChoice.THEIRS)}
        }
        decisions = resolve_choices(file_conflicts, {}, [entry["name"]], [])
        assert decisions[path][conflict.unit] == Resolution(ResolutionChoice.OURS)
        for path_of_decision, units in decisions.items():
            assert all({*_list_accepted_names(path_of_decision, unit)} & {entry["name"]} for unit in units)
    with pytest.raises(click.UsageError):
        resolve_choices(file_conflicts, {}, ["no such name"], [])


def _list_accepted_names(path: str, unit: UnitId) -> tuple[str, ...]:
    return (
        path,
        f"{path}#{unit.where}",
        format_conflict_name(path, unit),
        escape_invisible(format_conflict_name(path, unit)),
    )


def test_printed_command_resolves_remaining_conflicts_and_repeats_decisions(
    proposal_id: str, run_command: RunCommand, repo: Path, git: Git
) -> None:
    output = run_command("refresh", proposal_id, "--theirs", "text:plan.md#steps", code=1)
    command = next(
        line for line in output.splitlines() if f"refresh {proposal_id} --" in line and "--ours" in line
    )
    run_command(*shlex.split(command)[2:])
    [proposal] = Workspace.open(repo, read_only=True).proposal_actions().list_all()
    assert "Their step." in git("show", f"{proposal.content.branch}:plan.md")


def test_decisions_for_older_commits_are_refused(
    repo: Path, git: Git, tmp_path: Path, proposal_id: str, run_command: RunCommand
) -> None:
    data = json.loads(run_command("conflicts", proposal_id, "--json", code=1))
    for conflict in data["conflicts"]:
        conflict["choice"] = "ours"
    decision_file = tmp_path / "decisions.json"
    decision_file.write_text(json.dumps(data))
    git("switch", "--quiet", next(name for name in git("branch").split() if name.startswith("proposals/")))
    (repo / "plan.md").write_text(OURS.replace("Our step.", "Never seen."))
    git("commit", "--quiet", "--all", "--message", "Later")
    refs_before = git("for-each-ref")
    output = run_command("refresh", proposal_id, "--resolve", str(decision_file), code=3)
    assert "has changed since" in output
    assert f"docyard proposals conflicts {proposal_id}" in output
    assert git("for-each-ref") == refs_before
    # A decision by name applies to the current versions, and the output lists it.
    assert "text:plan.md#steps was resolved with theirs" in run_command(
        "refresh", proposal_id, "--theirs", "plan.md"
    )


def test_decision_for_changed_version_is_refused() -> None:
    unit = UnitId(UnitKind.TEXT, "steps")
    old_conflict = FileConflict("plan.md", UnitConflict(unit, b"One.", b"Ours.", None))
    new_conflict = FileConflict("plan.md", UnitConflict(unit, b"One.", b"Ours.", b"Never seen."))
    text = json.dumps({"conflicts": [{**conflict_to_data(old_conflict), "choice": "ours"}]})
    check_versions(text, [old_conflict])
    check_versions(
        '{"conflicts": [{"file": "plan.md", "kind": "text", "where": "steps", "choice": "ours"}]}',
        [new_conflict],
    )
    with pytest.raises(CommandError):
        check_versions(text, [new_conflict])
