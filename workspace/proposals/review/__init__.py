"""The review of a proposal: its changes, what overlaps with them, and a preview of the merge.

changes.py   what a proposal changes
checks.py    the checks are run
overlaps.py  which sections a change touches, and where two changes meet
review.py    who is asked what a reviewer sees of a proposal
"""
