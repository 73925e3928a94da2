"""The commands of devices, and of many of them."""
