"""The paper's experiments: planned from one file, cached cell by cell, resumable, reported.

How the room works:

*Plan* (``plan.py``). One TOML file names models, tasks, shots, seeds and sizes.

*Sources* (``sources.py``). What experiments work on: a ``Source`` is one model on one task under
one prompt, and has an opt table and a test table. They come from prompting (planned, not yet made
when experiments ask for them) or from a folder of saved tables; experiments do not see which.

*Experiment* (``experiment.py``). A module with a class that has a ``name``, a ``title``, what it
is in the ``paper``, and two methods: ``cells(plan, sources)`` says what to compute, and
``present(plan, results)`` makes tables, figures, texts and statements of what came out. It opens no
file and draws nothing itself. ``registry.py`` names all of them.

*Cell* (``cell.py``). The unit of work, of caching and of failure: a module-level function, the
tables that it takes and its settings. ``function(**tables, **settings)`` gets each table as a
`ProbabilityTable` and returns plain JSON values. It must depend on nothing else: seeds are among
the settings. Two cells that are to compute the same are computed once, whichever experiments they
belong to. ``labels`` (model, task, shots, seed, method, …) say what a cell is about; they are
columns of the results and no part of the work.

*Protocol* (``protocol.py``). What all experiments share: the cut into opt and dev, the choice of
settings on dev, "published" (annealing) and "ours", and the scores of a test table.

*Engine* (``engine.py``). Runs cells over processes (``crew.py``), keeps what they return
(``store.py``), goes on after a kill, reports cells that failed and writes results and manifest.

*Artefacts* (``dnip.presenting.artefacts``). What ``present`` returns, gathered as one ``Section``
per experiment; ``dnip.presenting`` renders them as Markdown, LaTeX, CSV, HTML and pictures.
``reproduction.py`` ends with ``write_report(folder, sections, manifest)``, which returns the paths
that it wrote.
"""
