"""Studies of many trainings: plans of trials, learning curves, recommendations and searches."""
