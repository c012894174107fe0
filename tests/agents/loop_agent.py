"""An agent of the standard library only: asks for a command, runs it, and ends when the model calls no tool.

    python loop_agent.py chat|responses|messages [--stream] INSTRUCTION

It leaves the conversation as it saw it in `seen.json`: the texts of every turn.
"""

import json
import os
import subprocess
import sys
import urllib.request

BASH = {"type": "object", "properties": {"command": {"type": "string"}}}


def post(path, body):
    is_anthropic = path == "messages"
    base = (
        os.environ["ANTHROPIC_BASE_URL"] + "/v1"
        if is_anthropic
        else os.environ["OPENAI_BASE_URL"]
    )
    key = os.environ["ANTHROPIC_API_KEY"]
    headers = {"x-api-key": key} if is_anthropic else {"authorization": f"Bearer {key}"}
    headers["content-type"] = "application/json"
    request = urllib.request.Request(
        f"{base}/{path}", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request) as reply:
        return reply.read().decode()


def events(text):
    for line in text.split("\n"):
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


def run(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    return done.stdout


def chat(instruction, stream):
    tools = [{"type": "function", "function": {"name": "bash", "parameters": BASH}}]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": instruction},
    ]
    while True:
        body = {"model": "any", "messages": messages, "tools": tools, "stream": stream}
        text = post("chat/completions", body)
        if stream:
            message = {"role": "assistant", "content": ""}
            for chunk in events(text):
                delta = chunk["choices"][0]["delta"]
                message["content"] += delta.get("content") or ""
                if delta.get("tool_calls"):
                    message["tool_calls"] = delta["tool_calls"]
        else:
            message = json.loads(text)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"], [message.get("content") for message in messages]
        for call in message["tool_calls"]:
            output = run(json.loads(call["function"]["arguments"])["command"])
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": output}
            )


def messages(instruction, stream):
    tools = [{"name": "bash", "input_schema": BASH}]
    turns = [{"role": "user", "content": instruction}]
    while True:
        body = {
            "model": "any",
            "max_tokens": 99,
            "system": "Be brief.",
            "messages": turns,
            "tools": tools,
        }
        text = post("messages", {**body, "stream": stream})
        content = streamed_blocks(text) if stream else json.loads(text)["content"]
        turns.append({"role": "assistant", "content": content})
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            return content[0]["text"], None
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": run(call["input"]["command"]),
            }
            for call in calls
        ]
        turns.append({"role": "user", "content": results})


def streamed_blocks(text):
    blocks = []
    for event in events(text):
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "json": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks[-1]["json"] += delta.get("partial_json", "")
            if "text" in delta:
                blocks[-1]["text"] += delta["text"]
        elif event["type"] == "content_block_stop":
            text = blocks[-1].pop("json")
            if text:
                blocks[-1]["input"] = json.loads(text)
    return blocks


def responses(instruction, stream):
    tools = [{"type": "function", "name": "bash", "parameters": BASH}]
    items = [{"role": "user", "content": instruction}]
    while True:
        body = {
            "model": "any",
            "input": items,
            "instructions": "Be brief.",
            "tools": tools,
        }
        text = post("responses", {**body, "stream": stream})
        if stream:
            [output] = [
                event["response"]["output"]
                for event in events(text)
                if event["type"] == "response.completed"
            ]
        else:
            output = json.loads(text)["output"]
        items += output
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            return output[0]["content"][0]["text"], None
        for call in calls:
            result = run(json.loads(call["arguments"])["command"])
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": call["call_id"],
                    "output": result,
                }
            )


if __name__ == "__main__":
    api, *flags, instruction = sys.argv[1:]
    answer, seen = {"chat": chat, "messages": messages, "responses": responses}[api](
        instruction, "--stream" in flags
    )
    if seen is not None:
        with open("seen.json", "w") as file:
            json.dump(seen, file)
    print(answer)
