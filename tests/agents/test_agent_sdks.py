"""Agent programs of others: loops with the official SDKs, mini-swe-agent, and curl."""

import importlib.util
import json
import shutil

import pytest
from agent_runs import AgentFolder

from assay.sandbox import choose

pytestmark = pytest.mark.skipif(
    choose("bubblewrap").tier is None, reason="bubblewrap does not run"
)
SDKS = {"chat": "openai", "responses": "openai", "messages": "anthropic"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = AgentFolder(tmp_path, monkeypatch)
    shutil.copy(__file__.replace("test_agent_sdks", "sdk_agent"), tmp_path / "sdk.py")
    return made


def plain_turns(prompt):
    """Return turns of the journal as role, text, and calls; a result as its text."""
    plain = []
    for turn in prompt:
        content = turn["content"]
        pieces = (
            content
            if isinstance(content, list)
            else [{"type": "text", "text": content}]
        )
        text, calls = "", []
        for piece in pieces:
            if piece["type"] == "tool_call":
                calls.append([piece["id"], piece["name"], piece["arguments"]])
            elif piece["type"] == "tool_result":
                text += "".join(part["text"] for part in piece["content"])
            else:
                text += piece["text"]
        plain.append([turn["role"], text, calls])
    return plain


@pytest.mark.parametrize("stream", ["", "--stream "])
@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_a_loop_with_an_official_sdk_is_recorded_as_it_was_sent(folder, api, stream):
    if importlib.util.find_spec(SDKS[api]) is None:
        pytest.skip(f"pip install {SDKS[api]}")

    assert folder.run(f"python sdk.py {api} {stream}{{instruction}}") == 0

    answer = folder.answer()["output"]
    assert answer["candidates"][0]["text"].strip() == "finished"
    assert answer["details"]["turns"] == len(folder.asked) == 4
    seen = json.loads(answer["details"]["files"]["seen.json"])
    prompt, _ = folder.exchanges()[-1]
    assert plain_turns(prompt) == seen
    assert [turn[1] for turn in seen if turn[0] == "tool"] == [
        "step 0\n",
        "step 1\n",
        "step 2\n",
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_a_shell_script_with_curl_is_answered(folder):
    (folder.path / "agent.sh").write_text(
        """
body='{"messages": [{"role": "user", "content": "Do it"}]}'
curl -sS "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -d "$body" > chat.json
curl -sSN "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" \\
  -d '{"max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "Do that"}]}' > messages.txt
curl -sS -o refused.json -w '%{http_code}' "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer x" -d "$body"
"""
    )

    assert folder.run("bash agent.sh") == 0

    details = folder.answer()["output"]["details"]
    reply = json.loads(details["files"]["chat.json"])
    [call] = reply["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"command": "echo step 0"}
    assert "event: message_stop" in details["files"]["messages.txt"]
    assert folder.answer()["output"]["candidates"][0]["text"] == "401"
    assert details["turns"] == 2


@pytest.mark.skipif(
    shutil.which("mini") is None, reason="pip install mini-swe-agent, on the PATH"
)
def test_mini_swe_agent_works_through_the_endpoint(folder):
    (folder.path / "bash_model.py").write_text(
        '''
import json, os
from assay import ToolCall
COMMANDS = ["echo hello > made.txt", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat made.txt"]
def generate(messages):
    """Writes a file, and submits it."""
    with open(os.environ["ASKED"], "a") as file:
        file.write(json.dumps([str(message) for message in messages]) + "\\n")
    done = sum((m["role"] if isinstance(m, dict) else m.role) == "assistant" for m in messages)
    return ToolCall("", "bash", {"command": COMMANDS[done]})
'''
    )

    folder.run(
        "mini -y --exit-immediately -m openai/{model} -t {instruction}",
        "--agent_args",
        "env.MSWEA_CONFIGURED=true,env.MSWEA_COST_TRACKING=ignore_errors,env.LITELLM_LOCAL_MODEL_COST_MAP=True",
        model="bash_model.py:generate",
    )

    details = folder.answer()["output"]["details"]
    assert details["exit_code"] == 0, details
    assert details["turns"] == 2
    assert details["files"]["made.txt"] == "hello\n"
    prompt, _ = folder.exchanges()[-1]
    assert "Do 0; $HOME 'x'" in plain_turns(prompt)[1][1]
