"""Output of commands: safe writing of files, tables, and numbers in words."""
