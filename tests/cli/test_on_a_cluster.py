"""Commands on a real Ray cluster of two nodes: the same outputs, also where a worker is killed."""

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
from dnip.base.cluster import connect
from processes import free_port, wait_for

ray_cluster = pytest.importorskip("ray.cluster_utils", reason="a cluster needs ray")
parquet = pytest.importorskip("pyarrow.parquet", reason="tables of a cluster need pyarrow")

ROOT = Path(__file__).parents[2]
N_ROWS, CLASSES = 6_000, ("red", "green", "blue", "grey")
NODE = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
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


@pytest.fixture(scope="module", autouse=True)
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
def cluster(patience):
    """A cluster of two nodes with one core each, shared by all tests."""
    cluster = ray_cluster.Cluster()
    for _ in range(2):
        cluster.add_node(wait=False, **NODE)
        cluster.wait_for_nodes(timeout=300)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def address(cluster):
    """What ``--on`` takes."""
    return f"ray:{cluster.address}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a labelled table in six row groups."""
    rng = np.random.default_rng(0)
    labels = rng.choice(4, N_ROWS, p=[0.4, 0.3, 0.2, 0.1])
    scores = rng.normal(size=(N_ROWS, 4)) + 1.5 * np.eye(4)[labels] + [0.8, 0, 0, -0.5]
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    ids = np.array([f"row {i}" for i in range(N_ROWS)], object)
    made = tmp_path_factory.mktemp("tables")
    ProbabilityTable(p, labels, ids, CLASSES).write(made / "whole.parquet")
    whole = parquet.read_table(made / "whole.parquet")
    parquet.write_table(whole, made / "t.parquet", row_group_size=1000)
    return made


@pytest.fixture
def tables(made, folder):
    """The table in the working folder, as ``t.parquet``."""
    shutil.copy(made / "t.parquet", folder)
    return folder


@pytest.fixture
def fitted(tables, dnip):
    """Coefficients that were fitted on one machine, as ``c.json``."""
    dnip("fit", "t.parquet", "--robust", "off", "--no-evidence", "--out", "c.json")
    return tables


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
    whole.to_csv("t.csv", index=False)
    words = "apply", "t.csv", "--coefficients", "c.json", "--json"
    here = dnip(*words, "--out", "here.csv")
    with killed("ray::MapBatches"):
        there = dnip(*words, "--out", "there.csv", "--on", address, "--workers", 2)
    assert there.status == 0, there.err
    assert there.json == {**here.json, "out": "there.csv"}
    assert Path("here.csv").read_bytes() == Path("there.csv").read_bytes()
    assert "2 of 6000 rows did not sum to 1" in here.err
    assert here.err in there.err.replace(f"{fitted}{os.sep}", "")  # Ray may tell of the worker
    made = {"here.csv", "there.csv", "t.csv"}
    assert {path.name for path in fitted.iterdir()} == {"c.json", "t.parquet", *made}


def test_scores_are_the_same(address, fitted, dnip):
    words = "evaluate", "t.parquet", "--coefficients", "c.json", "--json"
    assert dnip(*words, "--on", address, "--workers", 2).json == dnip(*words).json


def test_prompts_are_scored_the_same(address, folder, dnip, tiny_model):
    texts = ROOT / "examples/news/test.jsonl"
    words = "prompt", texts, "--task", "agnews", "--model", tiny_model("llama")
    dnip(*words, "--out", "here.parquet")
    run = dnip(*words, "--out", "there.parquet", "--on", address, "--workers", 1)
    assert run.status == 0, run.err
    assert Path("here.parquet").read_bytes() == Path("there.parquet").read_bytes()


def test_bad_rows_are_refused_by_their_place(address, fitted, dnip):
    Path("parts").mkdir()
    for part in ("parts/a.parquet", "parts/b.parquet"):
        shutil.copy("t.parquet", part)
    words = "parts", "--coefficients", "c.json", "--on", address, "--workers", 1
    told = "b.parquet: row 1: the id 'row 0' is already in an earlier row"
    dnip("apply", *words, "--out", "out.csv").assert_refused(told)
    assert {path.name for path in fitted.iterdir()} == {"c.json", "t.parquet", "parts"}


def test_a_cluster_must_be_there_and_have_room(address, tables, dnip):
    evaluate = "evaluate", "t.parquet"
    too_many = dnip(*evaluate, "--on", address, "--workers", 9)
    too_many.assert_refused("the cluster has room for 2 workers; 9 are asked for")
    dnip(*evaluate, "--on", "dask").assert_refused("--on is 'dask'")
    dnip(*evaluate, "--workers", 2).assert_refused("--workers is for a cluster")
    for gone in ("fit", "check"):
        dnip(gone, "t.parquet", "--on", "ray").assert_wrong_usage("No such option")
    dnip(*evaluate, "--on", "ray:127.0.0.1:1").assert_refused("no cluster that answers")


def test_an_error_of_the_reader_leaves_the_cluster_in_good_order(address):
    def read(counted):
        assert next(counted) == 0
        raise KeyError

    with pytest.raises(KeyError), connect(address, workers=1) as workers:
        read(workers.map(range, [3] * 20))
    assert not [t for t in threading.enumerate() if t.name.startswith(("Stream", "iter_"))]
