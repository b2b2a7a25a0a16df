"""The review of a proposal: its changes, the overlaps with other proposals, and a preview of the merge.

changes.py       the changes of a proposal: documents by their sections, other files by name
checks.py        the checks of a merge: findings in changed and linking documents, before and after
overlaps.py      the sections that a change touches, and the overlaps of two changes
review.py        the review of a proposal: changes, overlaps, comments, and a preview of its merge
since_review.py  the changes since a commit that was reviewed, without the changes of the target
"""
