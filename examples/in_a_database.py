# Needs: pip install '.[pandas,plot]' duckdb
"""
A table in DuckDB
=================

Coefficients are one number per class, so a database can use them. This example fits on a table of
DuckDB, makes a query of the coefficients, and runs it there. In a shell the query is ``dnip export
--to sql``.
"""

# %%
# Two tables of news that SmolLM2-135M-Instruct sorted: a label, and a probability for each class.

from pathlib import Path

try:
    import duckdb
except ImportError:
    raise SystemExit("this example needs DuckDB: pip install duckdb") from None
import matplotlib.pyplot as plt

import dnip
from dnip.using.sql import Sql

folder = Path("examples" if Path("examples").exists() else ".")
database = duckdb.connect()
for name in ("opt", "test"):
    database.sql(f"CREATE TABLE {name} AS FROM '{folder / name}.csv'")
database.table("opt").limit(3).show()

# %%
# Fit on the first one. A query gives a data frame, and its columns are the classes.

fitted = dnip.fit(database.table("opt").df())
print(fitted)

# %%
# The query that decides. There are more dialects, such as PostgreSQL and Spark.

classes = fitted.coefficients.classes
query = Sql("duckdb", "test", ",".join(classes)).render(fitted.coefficients)
print(query)

# %%
# The decisions of the database are those of DNIP, in every row.

test = database.table("test").df()
decided = database.sql(query).df().iloc[:, -1]
same = decided == fitted.coefficients.predict(test[list(classes)])
print(f"{same.mean():.0%} the same")

# %%
# How accurate every class is, before and after.

dnip.ClassAccuracyDisplay(dnip.evaluate(test, coefficients=fitted.coefficients)).plot()
plt.show()
