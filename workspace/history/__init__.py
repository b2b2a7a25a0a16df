"""The history of a document or section: its commits, and the author of each line.

blame.py            the commit that wrote each line, through renames and moves (git-blame(1))
commits.py          changes of a document or section by commit, and the description of a commit
covered_text.py     the text of a document or section whose changes end its drift
drift.py            sections whose covered files changed after their text last did
growth.py           the numbers of documents and tasks over time
log.py              the history of documents and sections
moved_addresses.py  find the current location of an old address in the first-parent history
occurrences.py      the commits that contain a text
origins.py          find the origin of a text range in a parent commit
periods.py          days, weeks or longer periods that cover a time
section_tracker.py  track a document or section from one tree to the next
text_ranges.py      text ranges: the bytes of a document or section in one commit
walk.py             walk back from a commit, newest commit first, until enough changes are found
"""
