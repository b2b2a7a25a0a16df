"""The ranking: the best sections for a query, with exact scores.

blocks.py      parts that are scored together, as if they were one segment
bm25.py        the formula of a score, in integers, so that every order of adding gives the same sum
cache.py       cache what was made of an index's files, within a limit of bytes
evaluation.py  which sections of a block score best, exactly
results.py     the list that answers a query
"""
