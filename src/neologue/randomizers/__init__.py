"""What a device does to its words before they leave it."""
