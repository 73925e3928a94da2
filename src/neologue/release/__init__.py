"""What is published: documents, signatures, word lists, and the certification of all of it."""
