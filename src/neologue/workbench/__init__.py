"""What a person uses from Python: discover, plan and certify in one call each, with results for notebooks."""
