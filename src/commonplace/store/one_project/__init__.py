"""A store that lets through one project only: whoever holds it neither sees nor touches anything else."""
