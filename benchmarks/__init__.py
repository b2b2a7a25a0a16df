"""Measurements and checks over folders of real Markdown.

__main__.py  measurements over a folder of Markdown, beside SQLite FTS5 and, where it is installed, tantivy
checks/      checks over folders of real Markdown
child.py     a measurement in a process of its own, so that its memory is its own and no earlier one has …
corpus.py    a folder of Markdown, and a repository made of it in a temporary place
documents/   measurements of edits, links and the quick readers
engines/     other search engines, measured beside ours
git/         measurements of commits, checkouts and history
growth.py    how time, memory and the index grow with a corpus
memory.py    the most memory that processes have held
reports/     reports: figures with their limits, tables, plots, and the page of docs
search/      measurements of the index and of searches
serving/     measurements of servers: starts, calls, pages and memory
stages.py    the stages of a run, in order: each measures one subject and gives what it found
timing.py    how long something takes, and what is typical of many times
"""
