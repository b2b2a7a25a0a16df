"""Measurements and checks over folders of real Markdown.

__main__.py  measurements over a folder of Markdown, compared with SQLite FTS5 and, if installed, tantivy
checks/      checks over folders of real Markdown
child.py     measurements in separate processes, without the memory or caches of earlier measurements
corpus.py    a folder of Markdown, and a temporary repository with its documents
documents/   measurements of edits, links and the fast readers
engines/     other search engines, for comparison
git/         measurements of commits, checkouts and history
growth.py    time, memory and index size for three corpora of increasing size
memory.py    the peak memory of a process and of a process tree
node_growth.py  an index that nodes share in PostgreSQL, up to 3 million sections
reports/     reports: measured values with their limits, tables, plots, and RESULTS.md
search/      measurements of the index and of searches
serving/     measurements of servers: starts, calls, pages and memory
stages.py    the stages of a run, in order: each measures one subject and returns its results
timing.py    times of calls, and their percentiles
"""
