"""The data of proposals that both commands and pages show.

activity.py       openings, reviews, merges and other events of which people are notified
conflicts.py      conflicts of a proposal with its target, and their versions as text
inbox.py          the people whom each proposal concerns
list.py           the list of proposals: its filters, and the values of each entry
state_filters.py  the filter of states of the list
view.py           a proposal with the state of its reviews and of its merge
"""
