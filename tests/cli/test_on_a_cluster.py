"""Commands on a real Ray cluster: the same outputs, also where a worker is killed."""

import os
import shutil
import signal
import threading
from contextlib import contextmanager, suppress
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from dnip import ProbabilityTable
from processes import free_port, wait_for

ray_cluster = pytest.importorskip("ray.cluster_utils", reason="a cluster needs ray")
parquet = pytest.importorskip("pyarrow.parquet", reason="tables of a cluster need pyarrow")

N_ROWS, CLASSES = 6_000, ("red", "green", "blue", "grey")
NODE = {"num_cpus": 2, "object_store_memory": 100_000_000, "include_dashboard": False}
#: What Ray waits for on a busy machine, where its parts take long to start; its workers, which
#: else give way to all others, have their share of it, and there are no more parts than needed.
PATIENCE = {
    "RAY_worker_niceness": "0",
    **{"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_USAGE_DISABLED": "1"},
    "RAY_prestart_worker_first_driver": "0",
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_raylet_start_wait_time_s": "300",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_NUM_REDIS_GET_RETRIES": "300",
    "RAY_gcs_server_request_timeout_seconds": "300",
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "300",
}


@pytest.fixture(scope="module")
def patience():
    """Let Ray wait for a node until it is there, which else has 30 s, and its agents 15 s."""
    from ray._private import services

    def get_node(*arguments, get_node=services.get_node):
        def node():
            with suppress(RuntimeError):
                return get_node(*arguments)

        return wait_for(node)

    def start_raylet(*arguments, start_raylet=services.start_raylet, **settings):
        agents = "metrics_agent", "metrics_export", "dashboard_agent_listen", "runtime_env_agent"
        ports = {f"{agent}_port": free_port() for agent in agents}
        named = signature(start_raylet).bind(*arguments, **settings).arguments | ports
        for name, port in ports.items():
            Path(named["session_dir"], f"{name}_{named['node_id']}").write_text(str(port))
        return start_raylet(**named)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENCE.items():
            patch.setenv(name, value)
        patch.setattr(services, "get_node", get_node)
        patch.setattr(services, "start_raylet", start_raylet)
        yield


@pytest.fixture(scope="module")
def address(patience):
    """What ``--on`` takes: a cluster that all tests share."""
    cluster = ray_cluster.Cluster()
    cluster.add_node(wait=False, **NODE)
    cluster.wait_for_nodes(timeout=300)
    yield f"ray:{cluster.address}"
    cluster.shutdown()


@pytest.fixture
def fitted(dnip, folder):
    """A labelled table in six row groups, ``t.parquet``, and coefficients, ``c.json``."""
    rng = np.random.default_rng(0)
    labels = rng.choice(4, N_ROWS, p=[0.4, 0.3, 0.2, 0.1])
    p = np.exp(rng.normal(size=(N_ROWS, 4)) + 1.5 * np.eye(4)[labels] + [0.8, 0, 0, -0.5])
    p /= p.sum(axis=1, keepdims=True)
    ids = np.array([f"row {i}" for i in range(N_ROWS)], object)
    ProbabilityTable(p, labels, ids, CLASSES).write("t.parquet")
    parquet.write_table(parquet.read_table("t.parquet"), "t.parquet", row_group_size=1000)
    dnip("fit", "t.parquet", "--robust", "off", "--no-evidence", "--out", "c.json")
    return folder


def parent(process):
    """The process that started another one, of Linux's /proc."""
    return Path("/proc", (process / "stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def killed(title):
    """Kill a worker of this process's own cluster with SIGKILL as soon as there is one."""
    seen, over = [], threading.Event()

    def watch():
        while not seen and not over.wait(0.01):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    ours = (process / "cmdline").read_text().startswith(title)
                    if ours and parent(parent(process)).name == str(os.getpid()):
                        os.kill(int(process.name), signal.SIGKILL)
                        seen.append(process)
                        return

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    over.set()
    thread.join()
    assert seen, f"no process {title} was seen"


def test_apply_writes_and_tells_the_same_though_a_worker_is_killed(address, fitted, dnip):
    whole = parquet.read_table("t.parquet").to_pandas()
    whole.loc[[5, 4000], list(CLASSES)] *= 100
    whole.to_parquet("odd.parquet", row_group_size=1000)
    words = "apply", "odd.parquet", "--coefficients", "c.json", "--json"
    here = dnip(*words, "--out", "here.csv")
    with killed("ray::MapBatches"):
        there = dnip(*words, "--out", "there.csv", "--on", address, "--workers", 2)
    assert there.status == 0, there.err
    assert there.json == {**here.json, "out": "there.csv"}
    assert Path("here.csv").read_bytes() == Path("there.csv").read_bytes()
    assert "2 of 6000 rows did not sum to 1" in here.err
    assert here.err in there.err.replace(f"{fitted}{os.sep}", "")  # Ray may tell of the worker
    made = {"here.csv", "there.csv", "odd.parquet"}
    assert {path.name for path in fitted.iterdir()} == {"c.json", "t.parquet", *made}


def test_bad_rows_are_refused_by_their_place_and_the_cluster_stays_in_good_order(
    address, fitted, dnip
):
    Path("parts").mkdir()
    for part in ("parts/a.parquet", "parts/b.parquet"):
        shutil.copy("t.parquet", part)
    words = "evaluate", "parts", "--coefficients", "c.json", "--on", address, "--workers"
    told = "b.parquet: row 1: the id 'row 0' is already in an earlier row"
    dnip(*words, 1).assert_refused(told)
    assert not [t for t in threading.enumerate() if t.name.startswith(("Stream", "iter_"))]


def test_a_cluster_must_be_there(dnip, fitted):
    evaluate = "evaluate", "t.parquet"
    dnip(*evaluate, "--on", "dask").assert_refused("--on is 'dask'")
    dnip(*evaluate, "--workers", 2).assert_refused("--workers is for a cluster")
    dnip(*evaluate, "--on", "ray:127.0.0.1:1").assert_refused("no cluster that answers")
