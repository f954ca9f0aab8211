"""Jobs on the workers of a cluster; tests of `dnip reproduce` use a real one."""

from dnip.base.errors import BackendError
from fake_cells import die, draw, fake
from reproduction.engine import run_cells
from reproduction.store import Store


class FakeCluster:
    """Calls functions in this process; a call that would end the process fails as Ray's does."""

    workers = 2

    def call(self, work, folder, job, *, stopped):
        """Call a function with its arguments."""
        assert not stopped.is_set()
        if job.args[0] is die:
            raise BackendError("the cluster failed: a worker died")
        return work(folder, job)


def test_a_cell_whose_workers_die_again_and_again_takes_no_other_with_it(tmp_path):
    cells = [fake(die, "bad", seed=0), *(fake(draw, seed, seed=seed) for seed in range(4))]
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    there = run_cells({"fake": cells}, {}, Store(tmp_path / "there"), cluster=FakeCluster())
    assert there.failures == {"fake bad": "the cluster failed: a worker died"}
    here = run_cells({"fake": cells[1:]}, {}, Store(tmp_path / "here"), jobs=2)
    assert [row.result for row in there.results["fake"]] == [
        row.result for row in here.results["fake"]
    ]
