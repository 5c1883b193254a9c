"""How what was found is ordered, scored and cut. Pure: numbers in, numbers out."""
