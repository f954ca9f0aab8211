"""Measurements behind the documentation: each module prints one Markdown table or a few.

    python -m benchmarks                      all of them
    python -m benchmarks scores drift         some
    python -m benchmarks --tables DIR scores  on the tables of DIR/<name>/{opt,test}.csv.gz

Without a folder of tables (``../shared/tables`` by default) the bundled table is measured alone.
"""
