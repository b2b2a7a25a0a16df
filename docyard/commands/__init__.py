"""One module for each command, imported when it is called; each holds a click command named `command`."""
