"""Many trainings by a plan: each in a process of its own, recorded once, and never lost."""
