"""The copy model of tests/lab/copy_model.py as a checkpoint folder that vLLM loads.

Same weights, under the names of Qwen2's checkpoints, and a tokenizer with four tokens more: what a
model writes around its reasoning and its calls. The model copies, so its chat template writes into
the prompt what it is to say: some reasoning and the marker, or a call of the function it is given.
Parsing that, whole or streamed, and counting it, is vLLM's own work.
"""

import json
from pathlib import Path

import numpy as np

from tests.lab import copy_model
from tests.lab.copy_model import Array

SIGNS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
# What follows "<think>" once is what follows at the prompt's end. The JSON repeats no three tokens,
# and nothing of the question is kept that shares three letters with the answer. As in Qwen's own
# template the prompt ends in "<think>": by it vLLM knows that what comes is reasoning.
CHAT_TEMPLATE = """\
{%- set asked = messages[-1]['content'] -%}
{%- if tools -%}
The call is<think>Use it.</think><tool_call>
{"name":"{{ tools[0]['function']['name'] }}","arguments":{"city": "\
{{- asked.split(' in ')[1].split('?')[0] }}"}}
</tool_call><|end|>The call is<think>
{%- elif ' is ' in asked -%}
It is<think>Quote.</think>{{ asked.split(' is ')[1].split('.')[0] }}<|end|>It is<think>
{%- else -%}
{{ asked }}
{%- endif -%}"""
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write(folder: Path) -> None:
    """Write weights, configuration and tokenizer; the same bytes each time, in under a second."""
    tokens, merges = copy_model.vocabulary()
    tokens = [*tokens, *SIGNS]
    end = tokens.index(copy_model.END)
    texts = {
        "config.json": {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "hidden_size": copy_model.HIDDEN,
            "intermediate_size": copy_model.FEED_FORWARD,
            "num_hidden_layers": 2,
            "num_attention_heads": copy_model.HEADS,
            "num_key_value_heads": 1,
            "max_position_embeddings": copy_model.CONTEXT,
            "rms_norm_eps": 1e-6,
            "rope_theta": copy_model.ROPE_BASE,
            "vocab_size": len(tokens),
            "tie_word_embeddings": False,
            "torch_dtype": "float32",
            "hidden_act": "silu",
            "eos_token_id": end,
        },
        "generation_config.json": {"eos_token_id": end, "temperature": 0.6, "top_p": 0.95},
        "tokenizer.json": _tokenizer(tokens, merges),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": copy_model.END,
            "pad_token": copy_model.PAD,
            "model_max_length": copy_model.CONTEXT,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(json.dumps(text, indent=1))
    tensors = {_name(name): tensor for name, tensor in copy_model.tensors(len(tokens)).items()}
    _write_safetensors(folder / "model.safetensors", tensors)


def _tokenizer(tokens: list[str], merges: list[str]) -> dict[str, object]:
    """Word the byte-level BPE as the tokenizers library reads it."""
    special = {copy_model.PAD: True, copy_model.END: True, **dict.fromkeys(SIGNS, False)}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": tokens.index(token), "content": token, "special": hidden, **plain}
        for token, hidden in special.items()
    ]
    bytewise = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": merges,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added, key=lambda token: str(token["id"]).zfill(9)),
        "normalizer": None,
        "pre_tokenizer": {**bytewise, "use_regex": True},
        "post_processor": None,
        "decoder": {**bytewise, "use_regex": True},
        "model": model,
    }


def _name(name: str) -> str:
    """Turn a tensor's name in a GGUF file into its name in a checkpoint."""
    *block, plain, kind = name.split(".")
    layer = f"model.layers.{block[1]}." if block else ""
    return f"{layer}{_NAMES[plain]}.{kind}"


def _write_safetensors(path: Path, tensors: dict[str, Array]) -> None:
    """Write the format by hand: length of a JSON header, the header, the numbers."""
    entries, at = {}, 0
    for name, tensor in tensors.items():
        offsets = [at, at + tensor.size * 4]
        entries[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        at = offsets[1]
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor, np.float32).tobytes())
