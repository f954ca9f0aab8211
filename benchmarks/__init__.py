"""Measurements behind the results page: each module prints one Markdown table.

    python -m benchmarks                      all of them
    python -m benchmarks speed quality        some
    python -m benchmarks --tables DIR speed   on the tables of DIR/<name>/{opt,test}.csv.gz

Prompting, equality and kills need the texts of ``../shared/datasets`` and take up to ten minutes.
Without a folder of tables (``../shared/tables`` by default) the bundled table is measured alone.
"""
