"""Proposals on pages: read, discussed, decided and merged.

listing.py       the list
viewing.py       one proposal: what it is, what is missing, and what is said of it
conversation.py  what is said, in order
changes.py       what it changes, with the comments where they belong
acting.py        what people do with it, each by a form
refusing.py      what could not be done, with the words kept
conflicts.py     what it and its target changed differently, and how that is decided
deciding.py      the decisions that a form holds
words.py         the words of people as HTML
"""
