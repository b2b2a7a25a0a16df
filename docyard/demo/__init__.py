"""The demonstration: an agent uses a real server in a temporary repository.

steps.py  the calls of the agent, the conditions on their responses, and the output
"""
