"""The paper's experiments: one plan file says what to run, and killed runs continue.

*Plan* (``plan.py``). One TOML file names models, tasks, shots, seeds and sizes.

*Source* (``sources.py``). What experiments work on: one model on one task under one prompt, with an
opt table and a test table. Tables come from prompting (``planned_sources.py``) or from a folder of
saved tables (``saved_sources.py``); experiments do not see the difference.

*Experiment* (``experiment.py``). A class with two methods: ``cells(sources)`` names what to
compute, and ``present(results)`` makes tables, figures, texts and statements of the results. It
opens no file. A new experiment is a file in ``experiments`` and a line in ``registry.py``.

*Methods* (``methods.py``). The two methods that all experiments compare: the published fit, and
what ``dnip fit`` does.

*Cell* (``cell.py``). The unit of work, of caching and of failure: a function, its tables and its
settings. Equal work is computed once, whatever experiments ask for it.

*Engine* (``engine.py``). Runs cells over processes (``worker_pool.py``), keeps their results
(``store.py``), and reports cells that failed.

*Run* (``reproduction.py``). Puts all of this together, and writes results, manifest
(``manifest.py``) and report (``report.py``).
"""
