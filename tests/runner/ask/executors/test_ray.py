"""Replicas as Ray actors: a real cluster of two nodes beside its head, whose actors and nodes are killed."""

import asyncio
import os
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from replica_files import (
    COUNT,
    calls_of,
    keys_of,
    lines_of,
    make_model,
    task,
    values_of,
)

import assay
from assay.core import MissingExtra, UsageError
from assay.report.progress import _note
from assay.runner.ask.executors import ray_actors
from assay.runner.ask.executors.ray_actors import RayActors
from assay.runner.ask.executors.replica import ClusterLost
from assay.runner.events import Silent

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]
"""One cluster at a time on this machine: its processes are many and slow to start."""


@pytest.fixture(scope="module")
def hand() -> Iterator[ThreadPoolExecutor]:
    """A thread that does something to the cluster during a run."""
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def clusters() -> Iterator[list]:
    """The cluster of these tests, if there is one."""
    pytest.importorskip("ray", reason="Ray is not installed")
    made: list = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("RAY_USAGE_STATS_ENABLED", "0"),
            ("RAY_AUTH_MODE", "disabled"),
        ):
            patch.setenv(name, value)
        try:
            yield made
        finally:
            for cluster in made:
                cluster.shutdown()


@pytest.fixture
def cluster(clusters: list):
    """A head without room for replicas, so that every replica is on a node that may be killed."""
    from ray.cluster_utils import Cluster

    if not clusters:
        # A node that is gone is noticed after a second instead of a quarter of a minute.
        quick = {
            "health_check_initial_delay_ms": 0,
            "health_check_period_ms": 500,
            "health_check_failure_threshold": 2,
        }
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        clusters.append(Cluster(initialize_head=True, head_node_args=head))
    return clusters[0]


@pytest.fixture
def nodes(cluster) -> None:
    """Two nodes with room for one replica each, those that were killed before replaced."""
    for _ in range(2 - len(cluster.worker_nodes)):
        cluster.add_node(num_cpus=1)


def run(
    cluster,
    folder: Path,
    cls: str,
    *,
    turns: int = 0,
    fate: dict | None = None,
    **settings,
):
    model = make_model(folder, **(fate or {}))
    spread = (
        {"executor": "ray", "address": cluster.address, "replicas": 2}
        if cluster is not None
        else {}
    )
    return assay.run(
        task(turns), f"{model}:{cls}", output=str(folder / "run"), **spread, **settings
    )


def wait_for_fate(folder: Path) -> str:
    """The node whose replica waits to be killed."""
    until = time.monotonic() + 120
    while not (folder / "waiting").exists():
        assert time.monotonic() < until, "no replica met its fate"
        time.sleep(0.05)
    return (folder / "waiting").read_text()


def kill_its_node(cluster, folder: Path) -> None:
    name = wait_for_fate(folder)
    (node,) = [node for node in cluster.list_all_nodes() if node.node_id == name]
    cluster.remove_node(node, allow_graceful=False)


def kill_its_head(cluster, folder: Path) -> None:
    wait_for_fate(folder)
    for running in list(cluster.head_node.all_processes.values()):
        for one in running:
            one.process.kill()


def test_a_run_without_an_address_starts_a_cluster_of_its_own(tmp_path: Path):
    pytest.importorskip("ray", reason="Ray is not installed")
    model = make_model(tmp_path / "m")

    result = assay.run(
        task(count=8),
        f"{model}:Batches",
        output=str(tmp_path / "run"),
        executor="ray",
        replicas=1,
    )

    assert result.status == "complete" and len(lines_of(tmp_path / "run")) == 8


class Watching(Silent):
    """Lets a node join while both replicas wait, another while one still does; keeps what a bar would say."""

    def __init__(self, cluster) -> None:
        super().__init__()
        self.cluster, self.notes = cluster, []

    def start(self, cells):
        self.cells = cells

    def update(self):
        self.notes.append(_note(self.cells[0], ""))
        waiting = list(self.cells[0].replicas.values()).count("starting")
        if len(self.cluster.worker_nodes) == 2 - waiting:
            self.cluster.add_node(
                num_cpus=1
            )  # Ray starts nodes from the main thread only

    def stop(self):
        self.notes.append(_note(self.cells[0], ""))


@pytest.mark.costly
def test_replicas_join_as_nodes_do_and_the_display_counts_them(cluster, tmp_path: Path):
    for node in list(cluster.worker_nodes):
        cluster.remove_node(node)
    watcher = Watching(cluster)

    result = run(
        cluster,
        tmp_path / "m",
        "Batches",
        fate={"at": "s5.1", "how": "wait for another"},
        watcher=watcher,
    )

    assert result.status == "complete" and result[0].value == 1.0
    shown = (
        "0 of 2 replicas, 2 starting",
        "1 of 2 replicas, 1 starting",
        "2 of 2 replicas",
    )
    assert [watcher.notes.index(note) for note in shown] == sorted(
        watcher.notes.index(note) for note in shown
    )
    assert watcher.notes[-1] == "2 of 2 replicas"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("turns", "at"), [(0, "s13.1"), (2, "s6.2")], ids=["generation", "dialogue"]
)
def test_a_killed_actor_loses_nothing_and_nothing_finished_is_asked_again(
    cluster, nodes, tmp_path: Path, turns: int, at: str
):
    result = run(
        cluster,
        tmp_path / "killed",
        "Batches",
        turns=turns,
        fate={"at": at, "how": "kill"},
    )

    check_nothing_lost(tmp_path, result, turns)
    assert any(
        "replica" in note and "died (ActorDiedError" in note for note in result.notes
    )


@pytest.mark.costly
def test_a_dialogue_whose_memory_died_with_its_actor_starts_again_whole(
    cluster, nodes, tmp_path: Path
):
    undisturbed = run(None, tmp_path / "clean", "Remembering", turns=2)

    result = run(
        cluster,
        tmp_path / "killed",
        "Remembering",
        turns=2,
        fate={"at": "s6.2", "how": "kill"},
    )

    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(tmp_path / "killed" / "run") == keys_of(tmp_path / "clean" / "run")
    assert calls_of(tmp_path / "killed", "end").count("s6.1") == 2


@pytest.mark.costly
@pytest.mark.parametrize(
    ("turns", "at"), [(0, "s13.1"), (2, "s6.2")], ids=["generation", "dialogue"]
)
def test_a_killed_node_loses_nothing_and_nothing_finished_is_asked_again(
    cluster, nodes, hand: ThreadPoolExecutor, tmp_path: Path, turns: int, at: str
):
    killing = hand.submit(kill_its_node, cluster, tmp_path / "killed")

    result = run(
        cluster,
        tmp_path / "killed",
        "Batches",
        turns=turns,
        fate={"at": at, "how": "wait"},
    )
    killing.result()

    check_nothing_lost(tmp_path, result, turns)


@pytest.mark.costly
def test_a_cluster_whose_head_is_killed_ends_the_run_with_one_line_and_it_continues_where_it_stopped(
    clusters, cluster, nodes, hand: ThreadPoolExecutor, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(ray_actors, "SECONDS_BETWEEN_LOOKS", 0.2)
    monkeypatch.setattr(ray_actors, "LONGEST_ABSENCE", 1.0)
    killing = hand.submit(kill_its_head, cluster, tmp_path / "killed")
    clusters.clear()

    try:
        result = run(
            cluster, tmp_path / "killed", "Batches", fate={"at": "s13.1", "how": "wait"}
        )
        killing.result()
    finally:
        cluster.shutdown()
    kept = lines_of(tmp_path / "killed" / "run")
    resumed = run(None, tmp_path / "killed", "Batches", fate={"at": "never"})

    # Its head is on this machine: whichever is missed first is said.
    line = re.compile(
        r"stopped: (the head node of the Ray cluster|Ray on this machine) has not answered for 1 s; "
        r"fix: run the same command again.*"
    )
    assert result.status == "failed"
    assert any(line.fullmatch(note) for note in result.notes), result.notes
    assert 0 < len(kept) < COUNT and resumed.status == "complete"
    assert lines_of(tmp_path / "killed" / "run")[: len(kept)] == kept
    undisturbed = run(None, tmp_path / "clean", "Batches")
    assert values_of(resumed) == values_of(undisturbed)
    assert keys_of(tmp_path / "killed" / "run") == keys_of(tmp_path / "clean" / "run")


def check_nothing_lost(folder: Path, result, turns: int) -> None:
    undisturbed = run(None, folder / "clean", "Batches", turns=turns)
    assert (folder / "killed" / "met").exists()
    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(folder / "killed" / "run") == keys_of(folder / "clean" / "run")
    written = lines_of(folder / "killed" / "run")
    assert len(written) == len(set(written)) == COUNT * (turns + 1)
    finished = calls_of(folder / "killed", "end")
    assert len(finished) == len(set(finished)) == COUNT * (turns + 1)


@pytest.mark.parametrize(
    "gone", ["the head node of the Ray cluster", "Ray on this machine"]
)
def test_a_lost_required_node_is_reported_by_name(monkeypatch, gone: str):
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.setattr(ray_actors, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(ray_actors, "LONGEST_ABSENCE", 0.05)
    executor = RayActors(None)

    async def watch() -> None:
        servers = {}
        for what in ("the head node of the Ray cluster", "Ray on this machine"):
            servers[what] = await asyncio.start_server(
                lambda reader, writer: writer.close(), "127.0.0.1", 0
            )
            host, port = servers[what].sockets[0].getsockname()
            executor.needed[what] = f"{host}:{port}"
        servers[gone].close()
        await executor.watch()

    with pytest.raises(
        ClusterLost,
        match=f"stopped: {gone} has not answered for 0.05 s; fix: run the same command",
    ):
        asyncio.run(watch())


def test_an_address_without_a_server_is_one_clear_line(tmp_path: Path):
    pytest.importorskip("ray", reason="Ray is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = make_model(tmp_path / "m")

    address = f"127.0.0.1:{port}"
    with pytest.raises(
        UsageError, match=f"no Ray cluster answers at {address} .Connection refused"
    ) as caught:
        assay.run(
            task(),
            f"{model}:Batches",
            output=str(tmp_path / "run"),
            executor="ray",
            address=address,
        )

    assert "\n" not in str(caught.value) and not (tmp_path / "run").exists()


def test_a_cluster_that_wants_a_token_is_one_clear_line(tmp_path: Path, monkeypatch):
    exceptions = pytest.importorskip("ray.exceptions", reason="Ray is not installed")

    def refuse(**settings):
        os.environ["RAY_AUTH_MODE"] = "token"  # as Ray itself does, for good
        raise exceptions.AuthenticationError(
            "no authentication token was found\nTo make one, do this"
        )

    monkeypatch.setattr("ray.init", refuse)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)

    with pytest.raises(
        UsageError,
        match=r"cannot join .* local: no authentication token .*RAY_AUTH_MODE=token",
    ) as caught:
        assay.run(
            task(),
            f"{make_model(tmp_path / 'm')}:Batches",
            output=str(tmp_path / "run"),
            executor="ray",
        )

    assert "\n" not in str(caught.value) and "RAY_AUTH_MODE" not in os.environ


def test_what_is_not_an_address_is_refused(tmp_path: Path):
    pytest.importorskip("ray", reason="Ray is not installed")

    with pytest.raises(
        UsageError,
        match="'ray://head' is not an address of a Ray cluster; fix: HOST:PORT",
    ):
        assay.run(
            task(),
            f"{make_model(tmp_path / 'm')}:Batches",
            executor="ray",
            address="ray://head",
        )


def test_ray_that_is_not_installed_is_named_with_its_pip_line(
    tmp_path: Path, monkeypatch
):
    monkeypatch.setattr("assay.runner.ask.executors.check._has_ray", lambda: False)

    with pytest.raises(
        MissingExtra,
        match=r"--executor ray: Ray is not installed; fix: pip install 'assay\[ray\]'",
    ):
        assay.run(task(), f"{make_model(tmp_path / 'm')}:Batches", executor="ray")
