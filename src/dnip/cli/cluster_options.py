"""Options of the commands that can work on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from dnip.base.errors import InvalidInputError
from dnip.base.option import Option
from dnip.cli.console import complain

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster

#: The heading of the options in `--help`.
CLUSTER = "Cluster"


@dataclass(frozen=True)
class ClusterOptions:
    """Where to work."""

    on: Annotated[
        str | None,
        Option(
            "Work on a Ray cluster: ray for one that is started on this machine and stopped in the "
            "end, or ray:ADDRESS.",
            CLUSTER,
            metavar="CLUSTER",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "Processes of the cluster that share the work.  [default: one per core]",
            CLUSTER,
            metavar="N",
        ),
    ] = None

    @contextmanager
    def connect(self, gpus: float | None = None) -> Iterator[Cluster | None]:
        """Connect to the cluster, for a block; None stands for this process."""
        if self.on is None:
            if self.workers is not None or gpus is not None:
                name = "--workers" if self.workers is not None else "--gpus-per-worker"
                raise InvalidInputError(
                    f"{name} is for a cluster", hint=f"Give --on ray, or leave {name} out"
                )
            yield None
            return
        from dnip.base.cluster import connect

        with connect(self.on, self.workers, gpus or 0.0) as cluster:
            if self.on == "ray":
                complain("note", f"it took {cluster.seconds:.1f} s to start the cluster")
            yield cluster
