"""What Ray does is told in words of this package; a cluster itself is in tests/cli."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError
from dnip.base import __version__
from dnip.base.cluster import Cluster, _run, connect
from dnip.base.errors import BackendError


class RayError(Exception):
    pass


class RayTaskError(RayError):
    cause = KeyError("a")


def double(item):
    yield 2 * item


def refuse(item):
    raise InvalidInputError(f"row {item} is bad")


def ray_of(*, error=None, resources=None):
    """A library that does the work here, or fails."""

    class Rows(list):
        def map_batches(self, work, **settings):
            self.work, self.settings = work, settings
            return self

        def iter_rows(self):
            if error is not None:
                raise error
            for row in self:
                for batch in self.work({"item": np.array([row["item"]], object)}):
                    yield from ({"result": result} for result in batch["result"])

    context = SimpleNamespace(execution_options=SimpleNamespace())
    data = SimpleNamespace(
        DataContext=SimpleNamespace(get_current=lambda: context),
        from_items=lambda rows, override_num_blocks: Rows(rows),
    )
    return SimpleNamespace(
        data=data,
        exceptions=SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError),
        init=lambda **settings: None,
        cluster_resources=lambda: resources,
        shutdown=lambda: None,
    )


def cluster_of(**settings):
    return Cluster(ray_of(**settings), 1, 0.0, 0.0, [])


def test_results_come_in_order_and_an_error_of_the_work_is_itself():
    cluster = cluster_of()
    assert list(cluster.map(double, [1, 2])) == [2, 4]
    with pytest.raises(InvalidInputError, match="row 7 is bad"):
        list(cluster.map(refuse, [7]))


@cases(
    (RayTaskError("a worker raised"), "a task failed: 'a'", False),
    (RayError("no memory\nat all"), "the cluster failed: no memory. A task is repeated 4", True),
)
def test_an_error_of_ray_is_one_of_a_backend(error, told, retryable):
    with pytest.raises(BackendError) as caught:
        list(cluster_of(error=error).map(double, [1]))
    assert str(caught.value).startswith(told)
    assert caught.value.retryable == retryable


def test_a_node_with_another_version_is_refused():
    [batch] = _run("0.0.1", double, {"item": [pickle.dumps(1)]})
    error = pickle.loads(batch["result"][0])
    assert f": dnip {__version__}, but 0.0.1 where the command runs" in error.message
    assert error.hint == "Install the same version on all nodes"


@cases(
    ({"CPU": 8}, None, True, (8, 0)),
    ({"CPU": 8, "GPU": 2}, None, True, (2, 1)),
    ({"CPU": 8, "GPU": 2}, 3, True, (3, 0.5)),
    ({"CPU": 8, "GPU": 2}, 1, True, (1, 1)),
    ({"CPU": 8, "GPU": 2}, None, False, (8, 0)),
)
def test_workers_share_the_gpus_there_are(monkeypatch, resources, workers, gpus, expected):
    ray, environment = ray_of(resources=resources), {}
    monkeypatch.setattr("dnip.base.cluster.load_optional", lambda *_, **__: ray)
    monkeypatch.setattr("os.environ", environment)
    with connect("ray", workers, gpus=gpus) as cluster:
        assert (cluster.workers, cluster.gpus) == expected
    # else a task that runs out of memory would be repeated for ever
    assert environment.items() >= {"RAY_task_oom_retries": "4"}.items()


def test_more_workers_than_there_is_room_for_are_refused(monkeypatch):
    monkeypatch.setattr(
        "dnip.base.cluster.load_optional", lambda *_, **__: ray_of(resources={"CPU": 2})
    )
    told = "the cluster has room for 2 workers; 9 are asked for"
    with pytest.raises(InvalidInputError, match=told), connect("ray", 9):
        pass
