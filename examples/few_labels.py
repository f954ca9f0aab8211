# Needs: pip install '.[plot]'
"""
Few labels
==========

With a handful of labels, the best weights on these labels are not the best on other rows. The
robust fit, which is the default, also uses rows without a label. This example compares it with the
plain optimum.
"""

# %%
# From 16 to 256 labels, eight draws each. All other rows of the first table lose their label. Then
# accuracy and COBias (the mean gap between the accuracies of two classes) are counted on the second
# table.

import matplotlib.pyplot as plt
import numpy as np

from dnip import evaluate, fit
from dnip.comparing.demonstration import bundled_table
from dnip.metrics import accuracy, cobias

opt, test = bundled_table("opt"), bundled_table("test")
sizes = [16, 32, 64, 128, 256]
rng = np.random.default_rng(0)
scores = {"robust": [], "plain optimum": []}
for size in sizes:
    draws = [rng.permutation(len(opt)) for _ in range(8)]
    for name, robust in (("robust", "on"), ("plain optimum", "off")):
        drawn = []
        for order in draws:
            fitted = fit(
                opt.take(np.sort(order[:size])),
                unlabelled=opt.take(np.sort(order[size:])) if robust == "on" else None,
                robust=robust,
                evidence=False,
            )
            counts = evaluate(test, coefficients=fitted.coefficients).reweighted
            drawn.append((accuracy(counts), cobias(counts)))
        scores[name].append(np.mean(drawn, axis=0))
        print(f"{size:4} labels, {name:13}: accuracy %.3f, COBias %.3f" % tuple(scores[name][-1]))

# %%
# The most probable class, without coefficients, is the dashed line.

raw = evaluate(test).raw
_, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
titles = ("accuracy on other rows", "COBias on other rows")
for column, (axes, title) in enumerate(zip(panels, titles, strict=True)):
    for name, means in scores.items():
        axes.plot(sizes, np.array(means)[:, column], "o-", label=name)
    axes.axhline((accuracy(raw), cobias(raw))[column], color="grey", ls="--")
    axes.set(xscale="log", xlabel="labels", title=title)
    axes.set_xticks(sizes, sizes)
    axes.minorticks_off()
panels[0].legend(frameon=False)
plt.show()
