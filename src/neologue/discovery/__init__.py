"""From votes to words: the server side of Algorithm 2."""
