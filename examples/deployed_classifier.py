# Needs: pip install '.[plot]'
"""
Do the coefficients still fit?
==============================

Coefficients are right for the model that they were fitted on. If the model changes, so do its
probabilities. This example checks rows of today against those of the fit. It needs no labels. In a
shell it is ``dnip check``.
"""

# %%
# Fit once, and check rows of the same model.

import matplotlib.pyplot as plt
import numpy as np

from dnip import ClassAccuracyDisplay, ProbabilityTable, check, fit
from dnip.comparing.demonstration import bundled_table

coefficients = fit(bundled_table("opt")).coefficients
today = bundled_table("test")
found = check(today, coefficients)
print(f"they hold: {found.holds}, the difference is {found.effect}")

# %%
# A new version of the model is surer of Technology: its probability is four times as high, before
# the row is normalised.

changed = today.probabilities * [1, 1, 1, 4]
changed /= changed.sum(axis=1, keepdims=True)
unlabelled = ProbabilityTable(changed, classes=today.classes)
found = check(unlabelled, coefficients)
print(f"they hold: {found.holds}, the difference is {found.effect}")
print(f"farthest from the fit: {found.farthest[0]}")

# %%
# With labels one can see what would have happened: the old coefficients now prefer Technology twice
# over.

true = np.array(today.classes)[today.labels]
ClassAccuracyDisplay.from_predictions(true, changed, coefficients)
plt.show()
