"""The pages of studies: the paper repeated, methods side by side, and what each choice is worth."""
