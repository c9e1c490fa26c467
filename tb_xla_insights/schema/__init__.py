"""The types of every document that the product writes: the report, a window, a comparison, the answers of routes.

The types check the code that builds the documents, and the JSON Schema, the page's types and docs/report.md are
generated from them (`make schema`). The product itself takes from them only the columns of tables without rows. The
string below a key is its description in all of these. Keys that end in `_ps` are times in picoseconds.
"""
