"""The conformance kit: judges a device in any language by what it sends to a scripted service, rule by rule."""
