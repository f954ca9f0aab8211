"""What a run of a command came to."""

import json
from typing import NamedTuple


class Outcome(NamedTuple):
    """What a run of the command came to; progress, which comes by the clock, is left out."""

    status: int
    out: str
    err: str

    @classmethod
    def of(cls, status, capsys):
        """The outcome of a run whose output pytest has caught."""
        out, err = capsys.readouterr()
        told = [line for line in err.splitlines(True) if not line.startswith("progress: ")]
        return cls(status, out, "".join(told))

    @property
    def json(self):
        """Standard output, which must be one strict JSON object on one line."""

        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        assert self.out.endswith("}\n")
        assert self.out.count("\n") == 1
        return json.loads(self.out, parse_constant=refuse)

    def assert_refused(self, *told):
        """Status 1, nothing on standard output, one message that holds these parts."""
        assert (self.status, self.out) == (1, ""), self.err
        assert self.err.startswith("error: "), self.err
        assert self.err.count("\n") == 1
        for part in told:
            assert part in self.err

    def assert_wrong_usage(self, told):
        """Status 2, nothing on standard output, and a message that holds this part."""
        assert (self.status, self.out) == (2, ""), self.err
        assert told in self.err
