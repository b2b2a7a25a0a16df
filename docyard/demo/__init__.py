"""The demonstration: an agent and a reviewer use a real server in a temporary repository.

story.py  what the agent calls, in order, and what each answer must hold
"""
