"""Gates: components that flag sentences which may hold a rare type."""
