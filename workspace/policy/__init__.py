"""What may change only by review, and how it is known that a person said so.

settings.py    the `[[protect]]` tables of `docyard.toml`
reach.py       which of some paths globs stand for
rules.py       which rules govern a change, and the gate that direct writes are asked at
person.py      who a token belongs to, and what they and it may be called
people.py      named tokens: made, trusted, revoked, and known again
keeping.py     the file that tokens are kept in
seals.py       what proves that a verdict was given with a token
verdicts.py    which verdicts of a proposal hold
judging.py     what a proposal lacks before it may be merged
unreviewed.py  text that a merge would bring under a rule, and that nobody reviewed for it

Rules are read from the tip of the branch that is written, never from a proposal. Nothing is imported here:
the settings are read when a server starts, and all else when it is first needed.
"""
