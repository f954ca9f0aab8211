# Needs: pip install '.[plot]'
"""
Accuracy against evenness: choose a point
=========================================

Equal class accuracies can cost accuracy. β says how much evenness counts next to accuracy. This
example fits at several β, draws what is expected of each on other rows, and takes one.
"""

# %%
# The fits of 500 news items that SmolLM2-135M-Instruct sorted.

import matplotlib.pyplot as plt

from dnip import PathDisplay, evaluate
from dnip.comparing.demonstration import bundled_table
from dnip.fitting import trace_path

opt, test = bundled_table("opt"), bundled_table("test")
path = trace_path(opt)
print(len(path.points), "fits")

# %%
# What some of them do to a second table, which had no influence. COBias is the mean gap between the
# accuracies of two classes.

for point in path.points[1::4]:
    print(point.beta, evaluate(test, coefficients=point.fit.coefficients), sep="\n    ")

# %%
# The star is the point at the default β.

PathDisplay(path, chosen=[point.beta for point in path.points].index(0.5)).plot()
plt.show()
