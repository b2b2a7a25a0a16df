"""The demonstration: an agent's whole path through a real server, in a repository made for it.

story.py    what the agent calls, and what each answer must hold
person.py   the person who commits in between, and the history that is left
screen.py   how calls and answers are shown
"""
