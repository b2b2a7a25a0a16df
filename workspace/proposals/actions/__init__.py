"""The actions on a proposal: open, discuss, refresh, merge.

actions.py     all that one does with the proposals of a workspace
discuss.py     what is said of a proposal that is open
merge.py       A proposal is merged into its target
merge_gate.py  what a proposal lacks before it may be merged
open.py        A proposal is opened
refresh.py     A proposal takes in what its target has come to
register.py    the proposals of a workspace, and the adding of words to one
"""
