"""Write a small Llama model with a byte-level BPE tokenizer as a GGUF file, for llama.cpp.

    python tools/convert_to_gguf.py models/small small.gguf

Takes what this project trains and nothing else: LlamaForCausalLM with plain rotary positions and no
biases, and a tokenizer that splits words as GPT-2 does. Anything else is refused, for a file that
loads and computes something else would be worse than none.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Names of the weights of one layer, here and there.
LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def convert(folder: Path, out: Path) -> None:
    """Write the model and tokenizer of a folder as one GGUF file, weights in float32."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    check(model.config, tokenizer)
    writer = gguf.GGUFWriter(out, "llama")
    add_settings(writer, model.config)
    add_tokenizer(writer, tokenizer, model.config)
    for name, weight in weights(model):
        writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check(config: LlamaConfig, tokenizer: dict[str, Any]) -> None:
    """Refuse what would be computed in another way by llama.cpp than here."""
    splitting = tokenizer["pre_tokenizer"] or {}
    wrong = {
        "biases": config.attention_bias or config.mlp_bias,
        "scaled rotary positions": rope(config).get("rope_type", "default") != "default",
        "an activation other than silu": config.hidden_act != "silu",
        "a tokenizer that is not BPE": tokenizer["model"]["type"] != "BPE",
        "a tokenizer that changes the text first": tokenizer["normalizer"] is not None,
        "words split in another way than GPT-2's": splitting.get("type") != "ByteLevel"
        or splitting["add_prefix_space"]
        or not splitting["use_regex"],
        "words looked up whole": tokenizer["model"].get("ignore_merges", False),
    }
    if any(wrong.values()):
        raise SystemExit(
            f"not supported: {', '.join(key for key, value in wrong.items() if value)}"
        )


def rope(config: LlamaConfig) -> dict[str, Any]:
    """Return the settings of the rotary positions."""
    return dict(config.rope_parameters or {})


def add_settings(writer: gguf.GGUFWriter, config: LlamaConfig) -> None:
    """Write the sizes of the model."""
    writer.add_name("small")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(head_size(config))
    writer.add_rope_freq_base(rope(config).get("rope_theta", 10_000.0))
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: dict[str, Any], config: LlamaConfig) -> None:
    """Write vocabulary and merges."""
    vocabulary = tokenizer["model"]["vocab"]
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    by_id = {number: token for token, number in (vocabulary | special).items()}
    tokens = [by_id.get(number, f"<unused {number}>") for number in range(config.vocab_size)]
    types = [
        gguf.TokenType.CONTROL
        if token in special
        else gguf.TokenType.NORMAL
        if number in by_id
        else gguf.TokenType.UNUSED
        for number, token in enumerate(tokens)
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair(merge)) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    if config.pad_token_id is not None:
        writer.add_pad_token_id(config.pad_token_id)
    writer.add_add_bos_token(begins_with(tokenizer, config.bos_token_id))
    writer.add_add_eos_token(False)


def pair(merge: str | Sequence[str]) -> Sequence[str]:
    """Return the two halves of a merge, which newer files hold apart."""
    return merge.split(" ") if isinstance(merge, str) else merge


def begins_with(tokenizer: dict[str, Any], token_id: int) -> bool:
    """Tell whether the tokenizer puts a token before every text."""
    processor = tokenizer["post_processor"] or {}
    for step in processor.get("processors", [processor]):
        if step.get("type") == "TemplateProcessing":
            first = step["single"][0].get("SpecialToken", {}).get("id")
            return first is not None and step["special_tokens"][first]["ids"] == [token_id]
    return False


def weights(model: LlamaForCausalLM) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the weights under llama.cpp's names and in its order."""
    config = model.config
    state = {name: weight.numpy() for name, weight in model.state_dict().items()}
    yield "token_embd.weight", state["model.embed_tokens.weight"]
    yield "output_norm.weight", state["model.norm.weight"]
    if not config.tie_word_embeddings:
        yield "output.weight", state["lm_head.weight"]
    for layer in range(config.num_hidden_layers):
        for here, there in LAYER.items():
            weight = state[f"model.layers.{layer}.{here}.weight"]
            if there == "attn_q":
                weight = interleave(weight, config.num_attention_heads)
            elif there == "attn_k":
                weight = interleave(weight, config.num_key_value_heads)
            yield f"blk.{layer}.{there}.weight", weight


def interleave(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """Reorder a head's rows: llama.cpp turns neighbouring pairs, transformers turns halves."""
    rows, columns = weight.shape
    halves = weight.reshape(n_heads, 2, rows // n_heads // 2, columns)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, columns))


def head_size(config: LlamaConfig) -> int:
    """Return the number of features of a head."""
    return int(config.head_dim or config.hidden_size // config.num_attention_heads)


def main() -> None:
    """Convert the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder with config, weights and tokenizer.json")
    parser.add_argument("out", type=Path, help="GGUF file to write")
    arguments = parser.parse_args()
    convert(arguments.model, arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
