"""One module per rule, one function per module: tables and models in, tables and models out.

A stage wires what lower layers compute; it reads and writes no file and holds no formula.
"""
