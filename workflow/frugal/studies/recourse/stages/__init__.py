"""One module a rule, one function a module: tables and models in, tables and models out."""
