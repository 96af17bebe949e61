"""Functions named as their rules: tables and models in, tables and models out."""
