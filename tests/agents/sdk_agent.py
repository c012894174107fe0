"""Agents written with the official SDKs: ask for a command, run it, and end when the model calls no tool.

    python sdk_agent.py chat|responses|messages [--stream] INSTRUCTION

Each leaves the turns that it sent last in `seen.json`, as role, text, calls and results.
"""

import json
import subprocess
import sys

BASH = {"type": "object", "properties": {"command": {"type": "string"}}}
SYSTEM = "Be brief."


def run(arguments):
    command = arguments["command"]
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True
    ).stdout


def chat(instruction, stream):
    import openai

    client = openai.OpenAI()
    function = {"name": "bash", "parameters": BASH}
    tools = [{"type": "function", "function": function}]
    turns = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": instruction},
    ]
    while True:
        settings = {"model": "any", "messages": turns, "tools": tools}
        if stream:
            with client.chat.completions.stream(**settings) as events:
                reply = events.get_final_completion()
        else:
            reply = client.chat.completions.create(**settings)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content, plain_chat(turns)
        turns.append(message.model_dump(include={"role", "content", "tool_calls"}))
        for call in message.tool_calls:
            text = run(json.loads(call.function.arguments))
            turns.append({"role": "tool", "tool_call_id": call.id, "content": text})


def plain_chat(turns):
    plain = []
    for turn in turns:
        calls = [
            [
                call["id"],
                call["function"]["name"],
                json.loads(call["function"]["arguments"]),
            ]
            for call in turn.get("tool_calls") or ()
        ]
        plain.append([turn["role"], turn["content"] or "", calls])
    return plain


def responses(instruction, stream):
    import openai

    client = openai.OpenAI()
    tools = [{"type": "function", "name": "bash", "parameters": BASH, "strict": False}]
    items = [{"role": "user", "content": instruction}]
    plain = [["system", SYSTEM, []], ["user", instruction, []]]
    while True:
        settings = {
            "model": "any",
            "input": items,
            "instructions": SYSTEM,
            "tools": tools,
        }
        if stream:
            with client.responses.stream(**settings) as events:
                for _ in events:
                    pass
                reply = events.get_final_response()
        else:
            reply = client.responses.create(**settings)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text, plain
        names = [
            [call.call_id, call.name, json.loads(call.arguments)] for call in calls
        ]
        plain.append(["assistant", reply.output_text, names])
        for call in calls:
            text = run(json.loads(call.arguments))
            items.append(
                {
                    "type": "function_call",
                    "call_id": call.call_id,
                    "name": call.name,
                    "arguments": call.arguments,
                }
            )
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": text,
                }
            )
            plain.append(["tool", text, []])


def messages(instruction, stream):
    import anthropic

    client = anthropic.Anthropic()
    tools = [{"name": "bash", "input_schema": BASH}]
    turns = [{"role": "user", "content": instruction}]
    plain = [["system", SYSTEM, []], ["user", instruction, []]]
    while True:
        settings = {
            "model": "any",
            "max_tokens": 99,
            "system": SYSTEM,
            "messages": turns,
            "tools": tools,
        }
        if stream:
            with client.messages.stream(**settings) as events:
                reply = events.get_final_message()
        else:
            reply = client.messages.create(**settings)
        calls = [block for block in reply.content if block.type == "tool_use"]
        text = "".join(block.text for block in reply.content if block.type == "text")
        if not calls:
            return text, plain
        names = [[call.id, call.name, call.input] for call in calls]
        plain.append(["assistant", text, names])
        turns.append({"role": "assistant", "content": reply.content})
        results = []
        for call in calls:
            output = run(call.input)
            plain.append(["tool", output, []])
            results.append(
                {"type": "tool_result", "tool_use_id": call.id, "content": output}
            )
        turns.append({"role": "user", "content": results})


if __name__ == "__main__":
    api, *flags, instruction = sys.argv[1:]
    loops = {"chat": chat, "responses": responses, "messages": messages}
    answer, seen = loops[api](instruction, "--stream" in flags)
    with open("seen.json", "w") as file:
        json.dump(seen, file)
    print(answer)
