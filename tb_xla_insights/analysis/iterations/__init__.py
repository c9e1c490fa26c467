"""The iterations of a server that decodes: their kinds, and what devices wait for in them.

(docs/definitions.md, "Iteration")
"""
