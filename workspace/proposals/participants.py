"""The people of a repository's proposals: owners of tokens, and authors of events; and their mentions.

A person is an e-mail address, as for approvals. A text mentions a person as `@handle`. A handle is the name
of a token, the local part of the address, or the name with hyphens instead of spaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.policy.tokens import Person
    from workspace.proposals.events import Author


class Participant(NamedTuple):
    """A person: the name and the e-mail address, and the names of the person's tokens in this repository."""

    name: str
    email: str
    tokens: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of a person: the case-folded address; the name of a person without an address."""
        return self.email.casefold() or self.name

    @property
    def handle(self) -> str:
        """The shortest handle of the person, which may also be that of another person."""
        return min(self.list_handles(), key=len, default=self.name)

    @property
    def shown_name(self) -> str:
        """The name, or else the address."""
        return self.name or self.email or "unknown"

    def list_handles(self) -> tuple[str, ...]:
        """Return the case-folded handles: the names of tokens first."""
        handles = [*self.tokens, self.email.partition("@")[0], "-".join(self.name.split())]
        return tuple(dict.fromkeys(handle.casefold() for handle in handles if handle))


def identify_author(author: Author) -> Participant:
    """Return the person of an event's author; for a client, the person in whose name it writes."""
    return Participant(author.name, author.email)


class Participants:
    """The people of a repository: the owners of tokens, and authors of events.

    An owner of a token is found before an author without one, and a token's name before other handles. A
    handle of several people at one of these levels names none of them.
    """

    def __init__(self, owners: Iterable[Person] = (), authors: Iterable[Author] = ()) -> None:
        self._people: dict[str, Participant] = {}
        self._by_token: dict[str, str] = {}
        for owner in owners:
            person = Participant(owner.name, owner.email)
            known_person = self._people.setdefault(person.key, person)
            self._people[person.key] = known_person._replace(tokens=(*known_person.tokens, owner.token))
            self._by_token[owner.token] = person.key
        owner_keys = frozenset(self._people)
        for author in authors:
            person = identify_author(author)
            if person.key:
                self._people.setdefault(person.key, person)
        self._by_handle: dict[str, str | None] = {}
        self._add_handles(person for key, person in self._people.items() if key in owner_keys)
        self._add_handles(person for key, person in self._people.items() if key not in owner_keys)

    def __iter__(self) -> Iterator[Participant]:
        return iter(self._people.values())

    def find_by_email(self, email: str) -> Participant | None:
        """Return the person with an address."""
        return self._people.get(email.casefold())

    def find_by_token(self, token: str) -> Participant | None:
        """Return the owner of a token."""
        return self._people.get(self._by_token.get(token, ""))

    def find_by_handle(self, handle: str) -> Participant | None:
        """Return the person whom a handle names, with or without `@`; None if it names no one, or several."""
        name = handle.removeprefix("@").casefold()
        return self.find_by_token(name) or self._people.get(self._by_handle.get(name) or "")

    def find(self, text: str) -> Participant | None:
        """Return the person whom a handle, an address or a whole name names."""
        if (person := self.find_by_email(text) or self.find_by_handle(text)) is not None:
            return person
        people = [person for person in self if person.name.casefold() == text.casefold()]
        return people[0] if len(people) == 1 else None

    def recognize(self, author: Author) -> Participant:
        """Return the known person of an event's author, or else a person without tokens."""
        person = identify_author(author)
        return self._people.get(person.key, person)

    def list_mentioned(self, text: str) -> tuple[Participant, ...]:
        """Return the known people whom a Markdown text mentions, each once."""
        return tuple(dict.fromkeys(self.find_mentions(text).values()))

    def find_mentions(self, text: str) -> dict[str, Participant]:
        """Return the known people whom a Markdown text mentions, by their handles as written."""
        if "@" not in text:
            return {}
        # Imported late, because most texts have no mention.
        from workspace.markdown.html.mentions import list_mentions

        people = {handle: self.find_by_handle(handle) for handle in list_mentions(text)}
        return {handle: person for handle, person in people.items() if person is not None}

    def _add_handles(self, people: Iterable[Participant]) -> None:
        """Add handles that no person of an earlier level has; a handle of several people becomes None."""
        new_handles: dict[str, str | None] = {}
        for person in people:
            for handle in person.list_handles():
                new_handles[handle] = None if handle in new_handles else person.key
        self._by_handle = new_handles | self._by_handle
