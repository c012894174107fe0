"""A Triton kernel for the attention of one new token in every slot; imported on CUDA only."""

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def attend(  # type: ignore[no-untyped-def]
    query,
    key,
    value,
    keys,
    values,
    positions,
    lengths,
    out,
    query_head,
    query_slot,
    key_head,
    key_slot,
    value_head,
    value_slot,
    cache_slot,
    cache_token,
    cache_head,
    out_slot,
    out_head,
    scale,
    window,
    GROUPS: tl.constexpr,
    ROWS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
):
    slot = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    position = tl.load(positions + slot)
    last = tl.load(lengths + slot) - 1
    size = tl.arange(0, SIZE)
    group = tl.arange(0, ROWS)
    rows = (head * GROUPS + group)[:, None]
    is_row = (group < GROUPS)[:, None]
    query_cells = rows * query_head + slot * query_slot + size[None]
    line = tl.load(query + query_cells, is_row, 0.0)
    new_key = tl.load(key + head * key_head + slot * key_slot + size)
    new_value = tl.load(value + head * value_head + slot * value_slot + size)
    base = slot * cache_slot + head * cache_head
    cell = base + position * cache_token + size
    tl.store(keys + cell, new_key)
    tl.store(values + cell, new_value)
    # The token attends to itself first, then to earlier tokens in blocks.
    product = line.to(tl.float32) * new_key.to(tl.float32)[None]
    top = tl.sum(product, 1) * scale
    total = tl.full([ROWS], 1.0, tl.float32)
    output = tl.zeros([ROWS, SIZE], tl.float32) + new_value.to(tl.float32)[None]
    first = 0
    if HAS_WINDOW:
        first = tl.maximum(0, last - window + 1)
    for start in range(first, last, BLOCK):
        tokens = start + tl.arange(0, BLOCK)
        is_seen = tokens < last
        cells = base + tokens[:, None] * cache_token + size[None]
        block = tl.load(keys + cells, is_seen[:, None], 0.0)
        scores = tl.dot(line, tl.trans(block)) * scale
        scores = tl.where(is_seen[None], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        fade = tl.exp(top - higher)
        weights = tl.exp(scores - higher[:, None])
        total = total * fade + tl.sum(weights, 1)
        block = tl.load(values + cells, is_seen[:, None], 0.0)
        output = output * fade[:, None] + tl.dot(weights.to(block.dtype), block)
        top = higher
    output = output / total[:, None]
    out_cells = slot * out_slot + rows * out_head + size[None]
    tl.store(out + out_cells, output.to(new_value.dtype), is_row)
