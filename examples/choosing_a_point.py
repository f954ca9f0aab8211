# Needs: pip install '.[plot]'
"""
Accuracy against evenness: choose a point
=========================================

Equal class accuracies can cost accuracy. β says how much evenness counts beside accuracy. This
example fits at several β, draws what is expected of each on other rows, and takes one.
"""

# %%
# The fits of 500 news items that SmolLM2-135M-Instruct sorted. The second table has no influence,
# and shows what the same weights do on other rows.

import matplotlib.pyplot as plt

from dnip import PathDisplay, evaluate
from dnip.comparing.demonstration import bundled_table
from dnip.fitting import trace_path

opt, test = bundled_table("opt"), bundled_table("test")
path = trace_path(opt, test=test)
print(len(path.points), "fits")

# %%
# The knee, where accuracy and evenness gained over both ends are most, or any β of the path. COBias
# is the mean gap between the accuracies of two classes.

for choice in ("knee", 0.5, 2.7):
    fit = path.points[path.choose(choice)].fit
    print(choice, evaluate(test, coefficients=fit.coefficients), sep="\n    ")

# %%
# The star is the point at the default β.

PathDisplay(path, chosen=path.choose(0.5)).plot()
plt.show()
