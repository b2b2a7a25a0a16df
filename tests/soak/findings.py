"""The result of a run of many writers, compared with the output of the git program."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.repositories import Repo
from tests.soak import inspection
from tests.soak.ledger import Expected, Record
from tests.soak.person import WORD, Person


@dataclass(slots=True)
class Findings:
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
    def of(cls, repo: Repo, records: Sequence[Record], person: Person) -> Findings:
        """Collect the results after all writers and the person have ended."""
        expected = Expected.of(records)
        documents = inspection.read_texts(repo)
        verdict = expected.compare(documents.values())
        history = inspection.read_commits(repo)
        answers = [answer for record in records for answer in record.answered.values()]
        acknowledged = Counter(answer.commit for answer in answers)
        ours = {commit for commit, (tool, _) in history.items() if tool}
        theirs = Counter(subject for tool, subject in history.values() if not tool)
        words = Counter(word for text in documents.values() for word in WORD.findall(text))
        problems: dict[str, list[str]] = {
            "lost": verdict.lost,
            "doubled": verdict.doubled,
            "returned": verdict.returned,
            "unticked": verdict.unticked,
            "acknowledged commits that are not in history": sorted(acknowledged.keys() - history.keys()),
            "commits that answer two calls": [commit for commit, times in acknowledged.items() if times > 1],
            "commits that answer no call": sorted(ours - acknowledged.keys()),
            "the person's lost words": [word for word in person.words if words[word] == 0],
            "the person's doubled words": [word for word in words if words[word] > 1],
            "the person's lost commits": [word for word in person.words if theirs[f"Words {word}"] != 1],
        }
        return cls(
            person.seed,
            sum(
                len(requested.call.items)
                for record in records
                for number, requested in record.requested.items()
                if number in record.answered
            ),
            len(answers),
            sorted(answer.seconds for answer in answers),
            Counter(code for answer in answers for code in answer.refusals),
            max((len(answer.refusals) for answer in answers), default=0),
            person,
            {name: value for name, value in problems.items() if value},
        )

    def lines(self, took: float) -> list[str]:
        """Return the lines to print."""
        lost, doubled = (len(self.problems.get(name, [])) for name in ("lost", "doubled"))
        lines = [
            f"seed {self.seed}: {self.operations} operations acknowledged in {self.calls} calls, "
            f"{lost} lost, {doubled} doubled, {took:.1f} s, {self.operations / took:.0f} operations/s",
            f"called again {self.refusals.total()} times ({dict(self.refusals)}), "
            f"at most {self.most_refusals} for one call",
            f"the person: {self.person.commits} commits, refused for locks: {dict(self.person.failures)}",
        ]
        if len(self.seconds) > 1:
            cuts = statistics.quantiles(self.seconds, n=20)
            lines.append(
                f"a call that succeeded took p50 {cuts[9] * 1000:.1f} ms, p95 {cuts[18] * 1000:.1f} ms, "
                f"at most {self.seconds[-1] * 1000:.0f} ms"
            )
        return lines
