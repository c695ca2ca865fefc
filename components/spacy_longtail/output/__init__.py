"""What leaves the program: files, tables, and numbers in words."""
