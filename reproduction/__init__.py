"""The paper's experiments, on saved class probabilities of a prompted language model.

``python -m reproduction prompt`` makes such a file of any model, ``python -m reproduction`` every
table and figure of the paper from it. The way of the numbers:

- `prompting` asks a model, `probabilities` reads and checks what it answered;
- `methods` are what experiments compare, and give predictions of test rows;
- `experiments` holds one file per theme: what is fitted, its figure, and what the paper says of it;
- `judging` scores predictions, with intervals, and judges; `presenting` writes tables and pictures.
"""
