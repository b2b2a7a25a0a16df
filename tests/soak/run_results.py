"""The results of a run of many writers: counts, times, and differences from the output of the git program."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.repositories import Repo
from tests.soak import inspection
from tests.soak.git_user import USER_WORD, GitUser
from tests.soak.ledger import ExpectedMarks, LedgerRecord


@dataclass(slots=True)
class RunResults:
    """The counts and times of a run, and the problems by name. A correct run has no problems."""

    seed: int
    operation_count: int
    call_count: int
    call_seconds: list[float]
    refusal_counts: Counter[str]
    max_refusals_of_a_call: int
    git_user: GitUser
    problems: dict[str, list[str]]

    @classmethod
    def collect(cls, repo: Repo, records: Sequence[LedgerRecord], git_user: GitUser) -> RunResults:
        """Collect the results after all writers and the user have ended."""
        expected_marks = ExpectedMarks.from_records(records)
        documents = inspection.read_markdown_files(repo)
        mark_problems = expected_marks.compare(documents.values())
        history = inspection.read_commits(repo)
        answers = [answer for record in records for answer in record.answers.values()]
        answer_counts = Counter(answer.commit for answer in answers)
        docyard_commits = {commit for commit, (tool, _) in history.items() if tool}
        subject_counts = Counter(subject for tool, subject in history.values() if not tool)
        word_counts = Counter(word for text in documents.values() for word in USER_WORD.findall(text))
        problems: dict[str, list[str]] = {
            "lost marks": mark_problems.lost_marks,
            "duplicate marks": mark_problems.duplicate_marks,
            "restored marks": mark_problems.restored_marks,
            "marks of tasks that are not completed": mark_problems.uncompleted_marks,
            "acknowledged commits that are not in history": sorted(answer_counts.keys() - history.keys()),
            "commits that answer two calls": [commit for commit, count in answer_counts.items() if count > 1],
            "commits that answer no call": sorted(docyard_commits - answer_counts.keys()),
            "the user's lost words": [word for word in git_user.words if word_counts[word] == 0],
            "the user's duplicate words": [word for word in word_counts if word_counts[word] > 1],
            "the user's lost commits": [
                word for word in git_user.words if subject_counts[f"Words {word}"] != 1
            ],
        }
        return cls(
            git_user.seed,
            sum(
                len(ledger_call.call.items)
                for record in records
                for number, ledger_call in record.calls.items()
                if number in record.answers
            ),
            len(answers),
            sorted(answer.seconds for answer in answers),
            Counter(code for answer in answers for code in answer.refusals),
            max((len(answer.refusals) for answer in answers), default=0),
            git_user,
            {name: value for name, value in problems.items() if value},
        )

    def format_lines(self, elapsed_s: float) -> list[str]:
        """Return the lines to print."""
        lost_count, duplicate_count = (
            len(self.problems.get(name, [])) for name in ("lost marks", "duplicate marks")
        )
        summary = [
            f"seed {self.seed}: {self.operation_count} operations acknowledged in {self.call_count} calls, "
            f"{lost_count} lost, {duplicate_count} duplicate, {elapsed_s:.1f} s, "
            f"{self.operation_count / elapsed_s:.0f} operations/s",
            f"{self.refusal_counts.total()} refusals were retried ({dict(self.refusal_counts)}), "
            f"at most {self.max_refusals_of_a_call} for one call",
            f"the user: {self.git_user.commit_count} commits, "
            f"refused for locks: {dict(self.git_user.failure_counts)}",
        ]
        if len(self.call_seconds) > 1:
            percentiles = statistics.quantiles(self.call_seconds, n=20)
            summary.append(
                f"a call that succeeded took p50 {percentiles[9] * 1000:.1f} ms, "
                f"p95 {percentiles[18] * 1000:.1f} ms, at most {self.call_seconds[-1] * 1000:.0f} ms"
            )
        return summary
