"""The page of a simulated discovery, `report.html`: its plots, its trie and its layers of likely strings."""
