"""The history of a document or section: its commits, and the author of each line.

blame.py    blame
commits.py  A change of a document or section, as one commit made it
log.py      the history of documents and sections
moves.py    where a document or a section is now that stood at an address before
origins.py  where a place of one commit was in its parent
places.py   places
walk.py     A trail
"""
