"""The search engine on Whoosh: the only package that imports `whoosh`.

Whoosh's `Searcher.search_with_collector` runs every search, with Whoosh's readers of our codec. The collector
is our own: it evaluates a query with NumPy arrays, where Whoosh's collectors step through matchers.

analyzer.py         the analysis of texts as a Whoosh analyzer
codec.py            the codec: terms, postings, lengths and stored fields of our segments
collector.py        the collector that evaluates a query for sections
condition_nodes.py  the conditions of a query as nodes of a Whoosh query tree, and their evaluation
engine.py           the engine: one writer, any number of readers
flat_index.py       one generation as a Whoosh index, and its readers
section_query.py    queries for sections as nodes of a Whoosh query tree
"""

import warnings

with warnings.catch_warnings():
    # Whoosh 2.7.4 has invalid escape sequences: Python warns of them when it compiles the files.
    warnings.simplefilter("ignore")
    import whoosh.codec.base
    import whoosh.collectors
    import whoosh.index
    import whoosh.query
    import whoosh.searching  # noqa: F401
