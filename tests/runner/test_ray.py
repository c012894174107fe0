"""Replicas as Ray actors: a real cluster of two nodes beside its head, whose actors and nodes are killed."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from replica_files import COUNT, calls_of, keys_of, lines_of, make_model, task, values_of

import assay
from assay.core import MissingExtra, UsageError
from assay.runner.events import Silent

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]
"""One cluster at a time on this machine: its processes are many and slow to start."""


@pytest.fixture(scope="module")
def hand() -> Iterator[ThreadPoolExecutor]:
    """A thread that does something to the cluster during a run."""
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def cluster(hand: ThreadPoolExecutor):
    """A head without room for replicas, so that every replica is on a node that may be killed."""
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "disabled")):
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        # A node that is gone is noticed after a second instead of a quarter of a minute.
        quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
        made = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        )
        try:
            yield made
        finally:
            made.shutdown()


@pytest.fixture
def nodes(cluster) -> None:
    """Two nodes with room for one replica each, those that were killed before replaced."""
    for _ in range(2 - len(cluster.worker_nodes)):
        cluster.add_node(num_cpus=1)


def run(cluster, folder: Path, cls: str, *, turns: int = 0, fate: dict | None = None, **settings):
    model = make_model(folder, **(fate or {}))
    spread = {"executor": "ray", "address": cluster.address, "replicas": 2} if cluster is not None else {}
    return assay.run(task(turns), f"{model}:{cls}", output=str(folder / "run"), **spread, **settings)


def kill_its_node(cluster, folder: Path) -> None:
    """Kills the node whose replica waits for it."""
    until = time.monotonic() + 120
    while not (folder / "waiting").exists():
        assert time.monotonic() < until, "no replica met its fate"
        time.sleep(0.05)
    name = (folder / "waiting").read_text()
    (node,) = [node for node in cluster.list_all_nodes() if node.node_id == name]
    cluster.remove_node(node, allow_graceful=False)


class Watching(Silent):
    """Lets a node join once the run has begun and its replicas are seen to wait."""

    def __init__(self, cluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.has_joined = False

    def start(self, cells):
        self.cells = cells

    def update(self):
        if not self.has_joined and self.cells[0].replicas == {1: "starting", 2: "starting"}:
            self.has_joined = True
            self.cluster.add_node(num_cpus=1)  # Ray starts nodes from the main thread only


def test_a_run_without_room_waits_for_a_node_and_is_done_by_the_replicas_that_join(cluster, tmp_path: Path):
    watcher = Watching(cluster)

    result = run(cluster, tmp_path / "m", "Asynchronous", watcher=watcher)

    assert watcher.has_joined and result.status == "complete" and result[0].value == 1.0
    assert sorted(watcher.cells[0].replicas.values()) == ["ready", "starting"]


@pytest.mark.parametrize(("turns", "at"), [(0, "s13.1"), (2, "s6.2")], ids=["generation", "dialogue"])
def test_a_killed_actor_loses_nothing_and_nothing_finished_is_asked_again(
    cluster, nodes, tmp_path: Path, turns: int, at: str
):
    result = run(cluster, tmp_path / "killed", "Batches", turns=turns, fate={"at": at, "how": "kill"})

    check_nothing_lost(tmp_path, result, turns)
    assert any("replica" in note and "died (ActorDiedError" in note for note in result.notes)


def test_a_dialogue_whose_memory_died_with_its_actor_starts_again_whole(cluster, nodes, tmp_path: Path):
    undisturbed = run(None, tmp_path / "clean", "Remembering", turns=2)

    result = run(cluster, tmp_path / "killed", "Remembering", turns=2, fate={"at": "s6.2", "how": "kill"})

    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(tmp_path / "killed" / "run") == keys_of(tmp_path / "clean" / "run")
    assert calls_of(tmp_path / "killed", "end").count("s6.1") == 2


@pytest.mark.parametrize(("turns", "at"), [(0, "s13.1"), (2, "s6.2")], ids=["generation", "dialogue"])
def test_a_killed_node_loses_nothing_and_nothing_finished_is_asked_again(
    cluster, nodes, hand: ThreadPoolExecutor, tmp_path: Path, turns: int, at: str
):
    killing = hand.submit(kill_its_node, cluster, tmp_path / "killed")

    result = run(cluster, tmp_path / "killed", "Batches", turns=turns, fate={"at": at, "how": "wait"})
    killing.result()

    check_nothing_lost(tmp_path, result, turns)


def check_nothing_lost(folder: Path, result, turns: int) -> None:
    undisturbed = run(None, folder / "clean", "Batches", turns=turns)
    assert (folder / "killed" / "met").exists()
    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(folder / "killed" / "run") == keys_of(folder / "clean" / "run")
    written = lines_of(folder / "killed" / "run")
    assert len(written) == len(set(written)) == COUNT * (turns + 1)
    finished = calls_of(folder / "killed", "end")
    assert len(finished) == len(set(finished)) == COUNT * (turns + 1)


# After the tests of the shared cluster: started first, in one process with it, it leaves that one's actors dying.
def test_a_run_without_an_address_starts_a_cluster_of_its_own(tmp_path: Path):
    pytest.importorskip("ray", reason="Ray is not installed")
    model = make_model(tmp_path / "m")

    result = assay.run(task(count=8), f"{model}:Batches", output=str(tmp_path / "run"), executor="ray", replicas=1)

    assert result.status == "complete" and len(lines_of(tmp_path / "run")) == 8


def test_an_address_where_nobody_answers_is_one_clear_line(tmp_path: Path):
    pytest.importorskip("ray", reason="Ray is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = make_model(tmp_path / "m")

    address = f"127.0.0.1:{port}"
    with pytest.raises(UsageError, match=f"no Ray cluster answers at {address} .Connection refused") as caught:
        assay.run(task(), f"{model}:Batches", output=str(tmp_path / "run"), executor="ray", address=address)

    assert "\n" not in str(caught.value) and not (tmp_path / "run").exists()


def test_what_is_no_address_is_refused(tmp_path: Path):
    pytest.importorskip("ray", reason="Ray is not installed")

    with pytest.raises(UsageError, match="'ray://head' is no address of a Ray cluster; fix: HOST:PORT"):
        assay.run(task(), f"{make_model(tmp_path / 'm')}:Batches", executor="ray", address="ray://head")


def test_ray_that_is_not_installed_is_named_with_its_pip_line(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("assay.runner.executors.check._has_ray", lambda: False)

    with pytest.raises(MissingExtra, match=r"--executor ray: Ray is not installed; fix: pip install 'assay\[ray\]'"):
        assay.run(task(), f"{make_model(tmp_path / 'm')}:Batches", executor="ray")
