"""A model that copies: built by hand, not trained, so that a real engine can pass a real request.

Qwen2 of two layers. Layer 0 looks exactly one, two and three tokens back: its queries and keys
are constants, and RoPE turns them into distance. Layer 1 finds an earlier place that was preceded
by the same three tokens and says what followed there. So a prompt that ends in "The secret marker
is" is answered with the marker that an earlier "The secret marker is" introduced. With another
--rope-freq-base, distance is not what layer 0 was built for: the engine is healthy and wrong.

The tokens are bytes, and whole words for the few words in WORDS: prompts must be ASCII, and the
sentence before a marker is best made of WORDS, so that three tokens are three words.
"""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

CONTEXT = 262_144
ROPE_BASE = 1e12
HIDDEN, HEADS, HEAD = 1024, 4, 256
CODE = 128  # every token is a random vector of so many signs
FEED_FORWARD = 64  # all zero: the model has nothing to think about
LOOKBACK = 3
# Where in the residual stream what lies: this token, the three before it, the answer.
HERE, BACK, ANSWER = 0, 128, 512
NORM_0 = np.sqrt(HIDDEN / CODE)  # gain of RMSNorm with one code in the stream
NORM_1 = np.sqrt(HIDDEN / ((1 + LOOKBACK) * CODE))  # ... with four codes
SHARPNESS = 60.0  # of layer 0's attention to one distance
MATCH = 2.0  # of layer 1's attention to the same three tokens

WORDS = (
    *("a", "all", "and", "are", "code", "end", "for", "from", "he", "in", "is", "it", "marker"),
    *("model", "not", "of", "on", "or", "quote", "secret", "that", "the", "this", "to", "was"),
    *("what", "with", "word", "The", "Quote", "Remember", "What", "Answer"),
)
PAD, END = "<|pad|>", "<|end|>"
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def write(path: Path) -> None:
    """Write the model as one GGUF file; the same bytes each time, in under a second."""
    tokens, merges = vocabulary()
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_name("copy")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(2)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [
            gguf.TokenType.CONTROL if token in (PAD, END) else gguf.TokenType.NORMAL
            for token in tokens
        ]
    )
    writer.add_token_merges(merges)
    writer.add_pad_token_id(tokens.index(PAD))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, tensor in tensors(len(tokens)).items():
        writer.add_tensor(name, np.ascontiguousarray(tensor, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def vocabulary() -> tuple[list[str], list[str]]:
    """Return the tokens and the merges of a byte-level BPE that knows WORDS.

    Every merge adds one byte to a beginning of a word, so that no merge of one word disturbs
    another: the rest of an unknown word stays bytes.
    """
    byte = _byte_names()
    grown: dict[str, str] = {}
    for word in WORDS:
        spelled = [byte[ord(" ")], *(byte[ord(letter)] for letter in word)]
        for length in range(1, len(spelled)):
            start = "".join(spelled[:length])
            grown.setdefault(start + spelled[length], f"{start} {spelled[length]}")
    return [PAD, END, *byte.values(), *grown], list(grown.values())


def _byte_names() -> dict[int, str]:
    """Return GPT-2's printable name of each byte: itself, or a letter from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names = {value: chr(value) for value in printable}
    for value in range(256):
        names.setdefault(value, chr(256 + len(names) - len(printable)))
    return names


def tensors(tokens: int) -> dict[str, Array]:
    """Return the weights by their GGUF names, for so many tokens."""
    random = np.random.default_rng(7)
    codes = random.choice([-1.0, 1.0], size=(tokens, CODE)).astype(np.float32)
    embedding, head = _zeros(tokens, HIDDEN), _zeros(tokens, HIDDEN)
    embedding[:, HERE : HERE + CODE] = codes
    head[:, ANSWER : ANSWER + CODE] = codes * 0.25
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": np.ones(HIDDEN, np.float32),
        "output.weight": head,
        **_block(0, _look_back()),
        **_block(1, _match(random)),
    }


def _look_back() -> dict[str, Array]:
    """Layer 0: head n copies the code of the token n + 1 places back."""
    # Turned far enough to tell neighbours apart, and by another base so differently that one token
    # back becomes none: then the model repeats itself instead of copying.
    fast = np.arange(6, 22)
    angle = ROPE_BASE ** (-fast / (HEAD // 2))
    query, key = _zeros(HEADS * HEAD), _zeros(HEAD)
    value, out = _zeros(HEAD, HIDDEN), _zeros(HIDDEN, HEADS * HEAD)
    key[fast] = SHARPNESS
    place = np.arange(CODE)
    value[place, HERE + place] = 1.0 / NORM_0
    for head in range(LOOKBACK):
        back = (head + 1) * angle
        query[head * HEAD + fast] = SHARPNESS * np.cos(back)
        query[head * HEAD + HEAD // 2 + fast] = -SHARPNESS * np.sin(back)
        out[BACK + head * CODE + place, head * HEAD + place] = 1.0
    return {
        "attn_q.bias": query,
        "attn_k.bias": key,
        "attn_v.weight": value,
        "attn_output.weight": out,
    }


def _match(random: np.random.Generator) -> dict[str, Array]:
    """Layer 1: the last three tokens here against the three before each earlier place."""
    half = HEAD // 2
    slow = np.concatenate([np.arange(64, half), half + np.arange(64, half)])  # RoPE barely moves it
    place = np.arange(CODE)
    query, key = _zeros(HEADS * HEAD, HIDDEN), _zeros(HEAD, HIDDEN)
    value, out = _zeros(HEAD, HIDDEN), _zeros(HIDDEN, HEADS * HEAD)
    for back in range(LOOKBACK):
        turn = np.linalg.qr(random.standard_normal((CODE, CODE)))[0] * MATCH / NORM_1
        mine = HERE if back == 0 else BACK + (back - 1) * CODE
        query[slow[:, None], mine + place] = turn
        key[slow[:, None], BACK + back * CODE + place] = turn
    value[place, HERE + place] = 1.0 / NORM_1
    out[ANSWER + place, place] = 1.0
    return {
        "attn_q.weight": query,
        "attn_k.weight": key,
        "attn_v.weight": value,
        "attn_output.weight": out,
    }


def _block(number: int, given: dict[str, Array]) -> dict[str, Array]:
    """Complete a layer: what it was not given is zero, and norms are one."""
    whole = {
        "attn_norm.weight": np.ones(HIDDEN, np.float32),
        "ffn_norm.weight": np.ones(HIDDEN, np.float32),
        "attn_q.weight": _zeros(HEADS * HEAD, HIDDEN),
        "attn_q.bias": _zeros(HEADS * HEAD),
        "attn_k.weight": _zeros(HEAD, HIDDEN),
        "attn_k.bias": _zeros(HEAD),
        "attn_v.bias": _zeros(HEAD),
        "ffn_gate.weight": _zeros(FEED_FORWARD, HIDDEN),
        "ffn_up.weight": _zeros(FEED_FORWARD, HIDDEN),
        "ffn_down.weight": _zeros(HIDDEN, FEED_FORWARD),
        **given,
    }
    return {f"blk.{number}.{name}": tensor for name, tensor in whole.items()}


def _zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)
