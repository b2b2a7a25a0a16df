"""Measurements of the index and of searches.

adversarial_queries.py  times of adversarial queries until a result or a refusal
artifact.py             a full build of an artifact, and a second build after changes of ten documents
artifact_opening.py     the time that a new process takes to open an artifact, and its result lists
first_queries.py        times of searches: the first and the second run of each query
full_index.py           a full build, from a Git commit to a searchable index on disk
hash_builds.py          the time that the provider `hash` adds to builds
known_items.py          queries drawn from a corpus, each with the section from which it was drawn
queries.py              times of queries in a process that has just opened an index from disk
query_sets.py           sets of distinct queries of several kinds, equal for equal corpora
rebuild.py              rebuild of an index that was updated after commits
result_lists.py         comparison of result lists: the same query must give the same list
server_index.py         the build of the index and the link graph that a server uses
shared_index.py         an index that nodes share in PostgreSQL, next to the index in files
vectors.py              hybrid searches with vectors that need no model, and their memory
vectors_on_disk.py      the vectors of all sections, and their bytes
"""
