"""`docyard serve --http`: who may speak to the server, and what it answers with."""
