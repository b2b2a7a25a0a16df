"""Measurements of the index and of searches.

artifact.py          an artifact built, and built again after ten documents have changed
artifact_opening.py  an artifact opened with its key in a new process, and its lists
bombs.py             the nastiest queries: what each takes to be answered or refused
first_asks.py        whole answers in the process: each question for the first time, and once more
following.py         index and link graph where a server would look for them, at the tip before others are …
indexing.py          a full index, from a Git commit to a searchable index on disk
known_items.py       known items: questions drawn from a corpus, each with the one section that it was …
lists.py             the same question on the same commit always gets the same list, or a run fails
querying.py          queries in a process that has just opened an index from disk
questions.py         questions for first asks: many different ones of several kinds, the same for a corpus
rebuilding.py        an index that followed commits, built anew from the last of them
"""
