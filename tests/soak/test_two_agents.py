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
from tests.soak.clients import Refused, open_client
from tests.soak.ledger import MARK, Answer, Call, Ledger, Requested
from tests.soak.processes import CONTEXT, running, wait
from workspace.document.document import Document

FILE = "page.md"
PAGE = (
    "# Page\n\nBoth write here.\n\n## Alpha {#alpha}\n\nText «w0n0».\n\n### Below {#alpha/below}\n\nStays.\n"
    "\n## Beta {#beta}\n\nText «w1n0».\n\n## Tasks {#tasks}\n\n- [ ] Begin\n"
)
ADDRESSES = ("_preamble", "alpha", "alpha/below", "beta", "tasks")
SECTIONS = ("alpha", "beta")
# Seconds to wait at the barrier.
LIMIT = 60.0

ROUNDS = [
    pytest.param(10, id="10"),
    pytest.param(50, id="50", marks=pytest.mark.slow),
    pytest.param(500, id="500", marks=pytest.mark.soak),
]


@dataclass(frozen=True, slots=True)
class Agent:
    """One of two agents. In each round it overwrites its own section or adds a task to a shared list."""

    repo: Path
    ledger: Path
    number: int
    rounds: int
    together: Barrier
    home: Path | None = None


def work(agent: Agent) -> None:
    """Run the process of an agent: both agents read, and then both write."""
    ledger = Ledger(agent.ledger)
    section = SECTIONS[agent.number]
    try:
        with open_client(agent.repo, home=agent.home, durable=False) as client:
            for number in range(1, agent.rounds + 1):
                agent.together.wait(LIMIT)
                mark = f"w{agent.number}n{number}"
                _, base = client.read(FILE, section)
                if number % 5 == 0:
                    tool, fields = "add_task", {"file": FILE, "slug": "tasks", "title": f"Task «{mark}»"}
                else:
                    content = f"Text «{mark}»."
                    tool, fields = "update_content", {"file": FILE, "slug": section, "content": content}
                agent.together.wait(LIMIT)
                ledger.add_call(Requested(number, mark, Call(tool, [fields], adds=[mark])))
                while True:
                    try:
                        commit = client.write(tool, [fields], base=base, key=mark)
                    except Refused:
                        continue
                    break
                ledger.add_answer(Answer(number, commit, (), 0.0))
                agent.together.wait(LIMIT)
    except BrokenBarrierError:
        raise SystemExit(2) from None
    except BaseException as problem:
        ledger.fail(repr(problem))
        agent.together.abort()
        raise SystemExit(1) from None


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_concurrent_edits_of_two_agents_are_both_present(
    tmp_path: Path, rounds: int, is_bare: bool, report: Callable[[str], None]
) -> None:
    repo = (create_bare_repository if is_bare else create_repository)(tmp_path / "repo", {FILE: PAGE})
    _drive(tmp_path, repo, rounds, homes=(None, None), report=report)
    inspection.assert_sound(repo, bare=is_bare)


@pytest.mark.slow
def test_concurrent_edits_through_two_servers_are_both_present(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    repo = create_repository(tmp_path / "repo", {FILE: PAGE})
    _drive(tmp_path, repo, 10, homes=(tmp_path / "home-0", tmp_path / "home-1"), report=report)
    inspection.assert_sound(repo)


def _drive(
    folder: Path,
    repo: Repo,
    rounds: int,
    *,
    homes: tuple[Path | None, Path | None],
    report: Callable[[str], None],
) -> None:
    """Run the rounds of both agents, and check the document after each."""
    together = CONTEXT.Barrier(3)
    ledgers = [Ledger(folder / f"ledger-{number}") for number in range(2)]
    agents = [
        Agent(repo.path, ledger.path, number, rounds, together, homes[number])
        for number, ledger in enumerate(ledgers)
    ]
    firsts: Counter[str] = Counter()
    before = repo.head()
    own = {"w0": "w0n0", "w1": "w1n0"}
    tasks: set[str] = set()
    with running(work, agents) as processes:
        try:
            for number in range(1, rounds + 1):
                for _ in range(3):
                    together.wait(LIMIT)
                if number % 5 == 0:
                    tasks |= {f"w0n{number}", f"w1n{number}"}
                else:
                    own = {"w0": f"w0n{number}", "w1": f"w1n{number}"}
                text = inspection.read_texts(repo)[FILE]
                assert Counter(MARK.findall(text)) == Counter([*own.values(), *tasks]), f"round {number}"
                _assert_structure(text, own, tasks)
                log = repo.git("log", "--reverse", "--format=%H", f"{before}..HEAD").split()
                assert len(log) == 2, f"round {number}"
                answers = [ledger.read().answered[number].commit for ledger in ledgers]
                assert sorted(answers) == sorted(log), f"round {number}"
                firsts["the first" if answers[0] == log[0] else "the second"] += 1
                before = log[-1]
            wait(processes, within=LIMIT)
        finally:
            together.abort()
            problems = [problem for ledger in ledgers for problem in ledger.read().failed]
            assert not problems, problems[0]
    report(f"{rounds} rounds, two commits in each; first writer: {dict(firsts)}")


def _assert_structure(text: str, own: dict[str, str], tasks: set[str]) -> None:
    """Check the order of the sections, and that each contains only its agent's text."""
    document = Document.parse(text.encode(), FILE)
    assert tuple(section.address for section in document.sections) == ADDRESSES
    assert document.text(document.sections[2].body, document.sections[2].end).strip() == "Stays."
    for position, agent in ((1, "w0"), (3, "w1")):
        section = document.sections[position]
        assert document.text(section.body, section.end).strip() == f"Text «{own[agent]}»."
    titles = {task.title for task in document.tasks(document.sections[4])}
    assert titles == {"Begin", *(f"Task «{mark}»" for mark in tasks)}
