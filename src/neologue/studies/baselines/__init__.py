"""The methods of others that are compared: local, central, and what their authors built them from."""
