"""The results of a run of many writers: figures, and differences from what the git program reports."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.repositories import Repo
from tests.soak import inspection
from tests.soak.ledger import ExpectedMarks, Record
from tests.soak.person import WORD, Person


@dataclass(slots=True)
class RunResults:
    """The figures of a run, and its problems by name. A correct run has no problems."""

    seed: int
    operations: int
    calls: int
    seconds: list[float]
    refusals: Counter[str]
    most_refusals: int
    person: Person
    problems: dict[str, list[str]]

    @classmethod
    def collect(cls, repo: Repo, records: Sequence[Record], person: Person) -> RunResults:
        """Collect the results after all writers and the person have ended."""
        expected_marks = ExpectedMarks.from_records(records)
        documents = inspection.read_texts(repo)
        mark_problems = expected_marks.compare(documents.values())
        history = inspection.read_commits(repo)
        answers = [answer for record in records for answer in record.answers.values()]
        answer_counts = Counter(answer.commit for answer in answers)
        docyard_commits = {commit for commit, (tool, _) in history.items() if tool}
        subject_counts = Counter(subject for tool, subject in history.values() if not tool)
        word_counts = Counter(word for text in documents.values() for word in WORD.findall(text))
        problems: dict[str, list[str]] = {
            "lost": mark_problems.lost_marks,
            "doubled": mark_problems.duplicate_marks,
            "returned": mark_problems.restored_marks,
            "unticked": mark_problems.unticked_marks,
            "acknowledged commits that are not in history": sorted(answer_counts.keys() - history.keys()),
            "commits that answer two calls": [commit for commit, times in answer_counts.items() if times > 1],
            "commits that answer no call": sorted(docyard_commits - answer_counts.keys()),
            "the person's lost words": [word for word in person.words if word_counts[word] == 0],
            "the person's doubled words": [word for word in word_counts if word_counts[word] > 1],
            "the person's lost commits": [
                word for word in person.words if subject_counts[f"Words {word}"] != 1
            ],
        }
        return cls(
            person.seed,
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
            person,
            {name: value for name, value in problems.items() if value},
        )

    def format_lines(self, elapsed_s: float) -> list[str]:
        """Return the lines to print."""
        lost, doubled = (len(self.problems.get(name, [])) for name in ("lost", "doubled"))
        summary = [
            f"seed {self.seed}: {self.operations} operations acknowledged in {self.calls} calls, "
            f"{lost} lost, {doubled} doubled, {elapsed_s:.1f} s, "
            f"{self.operations / elapsed_s:.0f} operations/s",
            f"{self.refusals.total()} refusals were retried ({dict(self.refusals)}), "
            f"at most {self.most_refusals} for one call",
            f"the person: {self.person.commits} commits, refused for locks: {dict(self.person.failures)}",
        ]
        if len(self.seconds) > 1:
            percentiles = statistics.quantiles(self.seconds, n=20)
            summary.append(
                f"a call that succeeded took p50 {percentiles[9] * 1000:.1f} ms, "
                f"p95 {percentiles[18] * 1000:.1f} ms, at most {self.seconds[-1] * 1000:.0f} ms"
            )
        return summary
