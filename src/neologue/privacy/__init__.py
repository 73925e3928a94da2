"""What a campaign costs in privacy, and what it should be given."""
