"""The pages of proposals: read, discuss, decide and merge.

actions.py       what people do with a proposal, each by a form, and done once however often that is …
changes.py       what a proposal changes, section by section, with the comments where they belong
conflicts.py     conflicts of a proposal with its target
conversation.py  what is said of a proposal, in order
list.py          the list of proposals
routes.py        the routes of these pages
view.py          one proposal for who is to review it
"""
