"""Rows of one split from folders, and from object stores by their addresses."""

import shutil
import subprocess
import time
from contextlib import suppress
from urllib.request import Request, urlopen

import pytest

from dnip.base.errors import BackendError, InvalidInputError
from dnip.prompting.data_files import read_split
from dnip.prompting.plan import make_plan
from fakes import TASK, write_data

arrow = pytest.importorskip("pyarrow", reason="object stores need pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")


def rows(source, split="test"):
    return list(read_split(source, split)[1])


@pytest.fixture
def data(tmp_path):
    """A folder with train.jsonl and test.jsonl."""
    write_data(tmp_path)
    return tmp_path


def test_parquet_says_what_json_lines_say(data):
    said = rows(data)
    (data / "other").mkdir()
    parquet.write_table(arrow.Table.from_pylist(said), data / "other/test.parquet")
    assert rows(data / "other") == said


def test_a_damaged_parquet_file_is_refused(tmp_path):
    (tmp_path / "test.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InvalidInputError, match=r"test\.parquet: cannot be read: "):
        rows(tmp_path)


def test_the_address_of_a_folder_gives_the_same_prompts_so_that_runs_resume(data):
    here, there = make_plan(TASK, data), make_plan(TASK, f"file://{data}")
    assert there.prompts == here.prompts
    assert there.settings == here.settings


SERVER = "127.0.0.1:5077"


@pytest.fixture
def put():
    """Store an object in a real server of S3 on this machine."""
    command = shutil.which("moto_server")
    if command is None:
        pytest.skip("moto[server] is not installed")
    host, port = SERVER.split(":")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([command, "-H", host, "-p", port], **quiet)

    def put(path, content=b""):
        headers = {"Content-Type": "application/octet-stream"}
        request = Request(f"http://{SERVER}/{path}", content, headers, method="PUT")
        urlopen(request, timeout=10).close()

    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(OSError):
            put("bucket")
            break
    yield put
    server.kill()
    server.wait()


def test_a_bucket_gives_what_the_folder_gives(data, put):
    put("bucket/news/test.jsonl", (data / "test.jsonl").read_bytes())
    parquet.write_table(arrow.Table.from_pylist(rows(data)), data / "more.parquet")
    put("bucket/news/more.parquet", (data / "more.parquet").read_bytes())
    news = f"s3://key:secret@bucket/news?scheme=http&endpoint_override={SERVER}&region=us-east-1"
    assert rows(news) == rows(news, "more") == rows(data)
    with pytest.raises(InvalidInputError, match=r"s3://bucket/news: there is no none\.jsonl"):
        rows(news, "none")
    with pytest.raises(InvalidInputError, match="s3://no-bucket/news: there is no test"):
        rows(news.replace("@bucket", "@no-bucket"))


@pytest.mark.parametrize(
    ("address", "kind", "told"),
    [
        ("ftp://host/news", InvalidInputError, "pyarrow opens no ftp:// address like this"),
        ("file:///no/folder", InvalidInputError, "file:///no/folder: there is no test.jsonl"),
        (
            "s3://key:secret@bucket/news?scheme=http&endpoint_override=127.0.0.1:1",
            BackendError,
            "s3://…/news cannot be reached: .*Could not connect",
        ),
    ],
)
def test_what_cannot_be_opened_is_named_without_keys(address, kind, told):
    with pytest.raises(kind, match=told) as refusal:
        rows(address)
    assert "secret" not in str(refusal.value)
