"""Pipeline components: a folder per kind. Components meet through attributes of the Doc."""
