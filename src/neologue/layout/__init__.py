"""How the users and candidates of a campaign are shared out over its layers."""
