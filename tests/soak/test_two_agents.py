"""Two agents edit a document concurrently in many rounds: both edits are always present."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError

import pytest

from tests.repositories import Repo, create_bare_repository, create_repository
from tests.soak import inspection
from tests.soak.clients import WriteRefused, open_client
from tests.soak.ledger import MARK, Answer, Call, Ledger, LedgerCall
from tests.soak.processes import CONTEXT, run_processes, wait_for_exit
from workspace.document.document import Document

FILE = "page.md"
PAGE = (
    "# Page\n\nBoth write here.\n\n## Alpha {#alpha}\n\nText «w0n0».\n\n### Below {#alpha/below}\n\nStays.\n"
    "\n## Beta {#beta}\n\nText «w1n0».\n\n## Tasks {#tasks}\n\n- [ ] Begin\n"
)
ADDRESSES = ("_preamble", "alpha", "alpha/below", "beta", "tasks")
SECTIONS = ("alpha", "beta")
BARRIER_TIMEOUT_S = 60.0
ROUNDS_PER_TASK = 5

ROUND_COUNTS = [
    pytest.param(10, id="10"),
    pytest.param(50, id="50", marks=pytest.mark.slow),
    pytest.param(500, id="500", marks=pytest.mark.soak),
]


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that, in each round, replaces its own section or adds a task to a shared list."""

    repo: Path
    ledger: Path
    number: int
    round_count: int
    barrier: Barrier
    home: Path | None = None


def run_agent(agent: Agent) -> None:
    """Run the process of an agent: both agents read, and then both write."""
    ledger = Ledger(agent.ledger)
    section = SECTIONS[agent.number]
    try:
        with open_client(agent.repo, home=agent.home, durable=False) as client:
            for number in range(1, agent.round_count + 1):
                agent.barrier.wait(BARRIER_TIMEOUT_S)
                mark = f"w{agent.number}n{number}"
                _, base = client.read(FILE, section)
                if number % ROUNDS_PER_TASK == 0:
                    operation_name, fields = (
                        "add_task",
                        {"file": FILE, "slug": "tasks", "title": f"Task «{mark}»"},
                    )
                else:
                    content = f"Text «{mark}»."
                    operation_name, fields = (
                        "update_content",
                        {"file": FILE, "slug": section, "content": content},
                    )
                agent.barrier.wait(BARRIER_TIMEOUT_S)
                ledger.add_call(LedgerCall(number, mark, Call(operation_name, [fields], added_marks=[mark])))
                while True:
                    try:
                        commit = client.write(operation_name, [fields], base=base, key=mark)
                    except WriteRefused:
                        continue
                    break
                ledger.add_answer(Answer(number, commit, (), 0.0))
                agent.barrier.wait(BARRIER_TIMEOUT_S)
    except BrokenBarrierError:
        raise SystemExit(2) from None
    except BaseException as problem:
        ledger.add_failure(repr(problem))
        agent.barrier.abort()
        raise SystemExit(1) from None


@pytest.mark.parametrize("round_count", ROUND_COUNTS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_concurrent_edits_of_two_agents_are_both_present(
    tmp_path: Path, round_count: int, is_bare: bool, report_line: Callable[[str], None]
) -> None:
    repo = (create_bare_repository if is_bare else create_repository)(tmp_path / "repo", {FILE: PAGE})
    _run_rounds(tmp_path, repo, round_count, homes=(None, None), report_line=report_line)
    inspection.assert_valid(repo, is_bare=is_bare)


@pytest.mark.slow
def test_concurrent_edits_through_two_servers_are_both_present(
    tmp_path: Path, report_line: Callable[[str], None]
) -> None:
    repo = create_repository(tmp_path / "repo", {FILE: PAGE})
    _run_rounds(tmp_path, repo, 10, homes=(tmp_path / "home-0", tmp_path / "home-1"), report_line=report_line)
    inspection.assert_valid(repo)


def _run_rounds(
    folder: Path,
    repo: Repo,
    round_count: int,
    *,
    homes: tuple[Path | None, Path | None],
    report_line: Callable[[str], None],
) -> None:
    """Run the rounds of both agents, and check the document after each."""
    barrier = CONTEXT.Barrier(3)  # two agents, and this process
    ledgers = [Ledger(folder / f"ledger-{number}") for number in range(2)]
    agents = [
        Agent(repo.path, ledger.path, number, round_count, barrier, homes[number])
        for number, ledger in enumerate(ledgers)
    ]
    first_counts: Counter[str] = Counter()
    before = repo.head()
    agent_marks = {"w0": "w0n0", "w1": "w1n0"}
    task_marks: set[str] = set()
    with run_processes(run_agent, agents) as processes:
        try:
            for number in range(1, round_count + 1):
                for _ in range(3):  # as often as `run_agent` waits in a round
                    barrier.wait(BARRIER_TIMEOUT_S)
                if number % ROUNDS_PER_TASK == 0:
                    task_marks |= {f"w0n{number}", f"w1n{number}"}
                else:
                    agent_marks = {"w0": f"w0n{number}", "w1": f"w1n{number}"}
                text = inspection.read_markdown_files(repo)[FILE]
                assert Counter(MARK.findall(text)) == Counter([*agent_marks.values(), *task_marks]), (
                    f"round {number}"
                )
                _assert_structure(text, agent_marks, task_marks)
                log = repo.git("log", "--reverse", "--format=%H", f"{before}..HEAD").split()
                assert len(log) == 2, f"round {number}"
                answers = [ledger.read().answers[number].commit for ledger in ledgers]
                assert sorted(answers) == sorted(log), f"round {number}"
                first_counts["the first" if answers[0] == log[0] else "the second"] += 1
                before = log[-1]
            wait_for_exit(processes, timeout_s=BARRIER_TIMEOUT_S)
        finally:
            barrier.abort()
            problems = [problem for ledger in ledgers for problem in ledger.read().failures]
            assert not problems, problems[0]
    report_line(f"{round_count} rounds, two commits in each; first writer: {dict(first_counts)}")


def _assert_structure(text: str, agent_marks: dict[str, str], task_marks: set[str]) -> None:
    """Check the order of the sections, and that each contains only its agent's text."""
    document = Document.parse(text.encode(), FILE)
    assert tuple(section.address for section in document.sections) == ADDRESSES
    assert document.text(document.sections[2].body_start, document.sections[2].end).strip() == "Stays."
    for position, agent in ((1, "w0"), (3, "w1")):
        section = document.sections[position]
        assert document.text(section.body_start, section.end).strip() == f"Text «{agent_marks[agent]}»."
    titles = {task.title for task in document.tasks(document.sections[4])}
    assert titles == {"Begin", *(f"Task «{mark}»" for mark in task_marks)}
