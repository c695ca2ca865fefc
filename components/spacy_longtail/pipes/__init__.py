"""Pipeline components. They meet only through attributes of the Doc."""
