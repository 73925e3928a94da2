"""The live service: campaigns with real devices, nothing lost, nothing kept."""
