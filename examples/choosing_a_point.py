# Needs: pip install '.[plot]'
"""
Accuracy against evenness: choose a point
=========================================

Equal class accuracies can cost accuracy. The *front* holds every choice of weights that no other
choice beats in both. This example draws it, and takes the most even point that loses no accuracy.
"""

# %%
# The front of 500 news items that SmolLM2-135M-Instruct sorted. It is searched on the first
# table; the second has no influence, and shows what the same weights do on other rows.

import matplotlib.pyplot as plt

from dnip import FrontDisplay, evaluate
from dnip.comparing.demonstration import bundled_table
from dnip.fitting.pareto import Rule, trace_front

opt, test = bundled_table("opt"), bundled_table("test")
found = trace_front(opt, test, effort=0.2)
print(len(found.front.points), "points")

# %%
# A rule picks one point, on the first table alone. COBias is the mean gap between the accuracies of
# two classes.

for text in ("max-accuracy", "cobias<=0.03", "loss<=0"):
    coefficients = found.coefficients(Rule.of(text))
    print(text, evaluate(test, coefficients=coefficients), sep="\n    ")

# %%
# The star is the point of the last rule.

FrontDisplay(found, chosen=Rule.of("loss<=0").choose(found.front)).plot()
plt.show()
