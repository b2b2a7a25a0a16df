"""The ranking: the best sections for a query, with exact scores.

bm25.py            the formula of a score, in integers, so that every order of adding gives the same sum
cache.py           a cache of arrays with a limit in bytes
evaluation.py      the best-scoring sections of a group, exactly
hybrid.py          the list of words and the list of vectors as one
results.py         the results of a query: a range of the best sections
segment_groups.py  groups of segments that are scored as one
"""
