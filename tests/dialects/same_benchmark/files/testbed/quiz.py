from testbed.data import register_dataset_retriever, register_postprocess

KINDS = {"word": "one word", "number": "a number"}


@register_dataset_retriever("quiz")
def retriever(item, is_last: bool):
    text = {
        "type": "text",
        "text": f"{item['question']} Answer with {KINDS[item['kind']]}.",
    }
    has_image = item.get("image") is not None
    conversation = [
        {"role": "user", "content": [{"type": "image"}, text] if has_image else [text]},
        {"role": "assistant"}
        if is_last
        else {"role": "assistant", "content": item["answer"]},
    ]
    return (conversation, item["image"]) if has_image else conversation


@register_postprocess("quiz")
def postprocess(text):
    return text.strip()
