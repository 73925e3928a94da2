"""What an operator asks, what a device is told, what it sends."""
