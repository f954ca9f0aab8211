"""
Coefficients in a database
==========================

Coefficients are one number per class, so a database can use them. This example turns them into a
query, and runs it in SQLite. In a shell it is ``dnip export --to sql``.
"""

# %%
# Fit, and make the query. There are more dialects: DuckDB, BigQuery and Snowflake.

import sqlite3

import matplotlib.pyplot as plt
import numpy as np

from dnip import OddClassDisplay, evaluate, fit_table
from dnip.comparing.demonstration import bundled_table
from dnip.deploying.exports.sql import Sql

coefficients = fit_table(bundled_table("opt")).coefficients
query = Sql("sqlite", "scores").render(coefficients)
print(query)

# %%
# The decisions of the database are those of DNIP, in every row.

test = bundled_table("test")
with sqlite3.connect(":memory:") as database:
    database.execute("CREATE TABLE scores (p0, p1, p2, p3)")
    database.executemany("INSERT INTO scores VALUES (?, ?, ?, ?)", test.probabilities.tolist())
    decided = [row[-1] for row in database.execute(query)]
same = np.array(decided) == coefficients.predict(test.probabilities, names=True)
print(f"{same.mean():.0%} the same")

# %%
# How accurate they are, and which class the errors of each class go to.

OddClassDisplay(evaluate(test, coefficients)).plot()
plt.show()
