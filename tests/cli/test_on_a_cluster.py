"""Commands on a real Ray cluster of two nodes: the same outputs, also where a worker is killed."""

import os
import re
import shutil
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import ProbabilityTable
from dnip.base.cluster import connect
from processes import free_port, ran, wait_for

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
    """Let all clusters of this file have it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENCE.items():
            patch.setenv(name, value)
        be_patient(patch.setattr)
        yield


def be_patient(set_attribute=setattr):
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

    set_attribute(services, "get_node", get_node)
    set_attribute(services, "start_raylet", start_raylet)


@pytest.fixture(scope="module")
def cluster(patience):
    """A cluster of two nodes with one core each, shared by all tests."""
    cluster = ray_cluster.Cluster()
    for _ in range(2):
        add_node(cluster)
    yield cluster
    cluster.shutdown()


def add_node(cluster, **settings):
    """Add a node, and wait until the others know of it."""
    node = cluster.add_node(wait=False, **NODE, **settings)
    cluster.wait_for_nodes(timeout=300)
    return node


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


@cases(
    ("ids", "b.parquet: row 1: the id 'row 0' is already in an earlier row", "apply"),
    ("cell", "b.parquet: row 2502, column green: the probability is negative", "evaluate"),
)
def test_bad_rows_are_refused_by_their_place(address, fitted, dnip, damage, told, command):
    Path("parts").mkdir()
    shutil.copy("t.parquet", "parts/a.parquet")
    whole = parquet.read_table("t.parquet").to_pandas()
    if damage == "ids":
        shutil.copy("t.parquet", "parts/b.parquet")
    else:
        whole["id"] += " again"
        whole.loc[2501, "green"] = -1.0
        whole.to_parquet("parts/b.parquet", row_group_size=1000)
    words = "parts", "--coefficients", "c.json", "--on", address, "--workers", 1
    out = ("--out", "out.csv") if command == "apply" else ()
    dnip(command, *words, *out).assert_refused(told)
    assert {path.name for path in fitted.iterdir()} == {"c.json", "t.parquet", "parts"}


def test_a_worker_that_runs_out_of_memory_again_and_again_ends_the_command(tables):
    limits = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "50"}
    limits["RAY_task_oom_retry_delay_base_ms"] = "10"
    patient = "from dnip.cli import main; import test_on_a_cluster as of; of.be_patient();"
    once = "import dnip.base.cluster as on; on._RETRIES = 1; main()"
    words = "evaluate", "t.parquet", "--on", "ray", "--workers", 1
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, **limits, "PYTHONPATH": path}
    run = ran(sys.executable, "-c", f"{patient} {once}", *words, env=environment)
    assert (run.returncode, run.stdout) == (1, "")
    assert re.search("error: the cluster failed: .*memory", run.stderr), run.stderr


def test_a_cluster_must_be_there_and_have_room(address, tables, dnip):
    evaluate = "evaluate", "t.parquet"
    too_many = dnip(*evaluate, "--on", address, "--workers", 9)
    too_many.assert_refused("the cluster has room for 2 workers; 9 are asked for")
    dnip(*evaluate, "--on", "dask").assert_refused("--on is 'dask'")
    dnip(*evaluate, "--workers", 2).assert_refused("--workers is for a cluster")
    for gone in ("fit", "check"):
        dnip(gone, "t.parquet", "--on", "ray").assert_wrong_usage("No such option")
    dnip(*evaluate, "--on", "ray:127.0.0.1:1").assert_refused("no cluster that answers")


def test_a_node_with_another_version_is_refused(cluster, address, tables, dnip, tmp_path):
    other = "import dnip.base as of; of.__version__ = '0.0.1'"
    (tmp_path / "sitecustomize.py").write_text(other)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    node = add_node(cluster, env_vars={"PYTHONPATH": path})
    try:
        run = dnip("evaluate", "t.parquet", "--on", address)
    finally:
        cluster.remove_node(node)
    run.assert_refused("dnip 0.0.1, but", "Install the same version on all nodes")


def test_an_error_of_the_reader_leaves_the_cluster_in_good_order(address):
    def read(counted):
        assert next(counted) == 0
        raise KeyError

    with pytest.raises(KeyError), connect(address, workers=1) as workers:
        read(workers.map(range, [3] * 20))
    assert not [t for t in threading.enumerate() if t.name.startswith(("Stream", "iter_"))]
