"""Measurements of the index and of searches.

adversarial_queries.py  times of adversarial queries until they are answered or refused
artifact.py             a full build of an artifact, and a build after changes of ten documents
artifact_opening.py     opening of an artifact with its key in a new process, and its result lists
first_queries.py        times of whole answers: each query for the first time, and once more
full_index.py           a full build, from a Git commit to a searchable index on disk
known_items.py          queries drawn from a corpus, each with the section that it was drawn from
lists.py                comparison of result lists: the same query must give the same list
queries.py              times of queries in a process that has just opened an index from disk
query_sets.py           sets of different queries of several kinds, the same for the same corpus
rebuild.py              rebuild of an index that followed commits
server_index.py         index and link graph at the place of a server's, built before other measurements
"""
