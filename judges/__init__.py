"""Judges that nobody here wrote, run against the product: `make judge`, or `python -m judges [NAME ...]`."""
