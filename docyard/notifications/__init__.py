"""Notifications of the activity of proposals, by a webhook and by e-mail.

channels.py   the ways of delivery that the settings configure
content.py    the facts of a notification, which contain no text of documents
events.py     the events of proposals, and the people whom each concerns
mail.py       the delivery by e-mail
notifier.py   the thread that finds events, queues notifications and delivers them
queue.py      the queue in the database
sender.py     the errors and the time limit of a delivery
webhook.py    the delivery by a signed HTTP request
"""
