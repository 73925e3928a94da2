"""What an operator asks of a population: parameters, profiles and the campaign itself."""
