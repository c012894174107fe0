"""`task.toml` is read as harbor 0.25.0 reads it: `task_configs.jsonl` holds its verdict and values for each file."""

import json
import tomllib
from pathlib import Path

from each_row import each

from assay.dialects.harbor.task_config import ConfigFault, config_of

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "task_configs.jsonl").read_text().splitlines()
]


@each("case", CASES)
def test_settings_are_read_as_harbor_reads_them(case):
    try:
        config = config_of(tomllib.loads(case["toml"]))
    except (ConfigFault, tomllib.TOMLDecodeError):
        assert not case["valid"]
        return

    assert case["valid"]
    values = [
        config.agent_seconds,
        config.verifier_seconds,
        config.build_seconds,
        config.memory_mb,
        config.storage_mb,
        config.gpus or None,
        config.docker_image,
        config.operating_system,
        config.workdir,
        config.environment_env,
        config.verifier_env,
        config.solution_env,
    ]
    assert values == case["values"]
