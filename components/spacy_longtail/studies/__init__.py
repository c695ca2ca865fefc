"""Many trainings: plans, searches, curves, recommendations, and pretraining on donors."""
