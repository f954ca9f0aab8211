"""Tiny random models of several architectures, with a tokenizer made here, and prompts for them.

Import it after ``pytest.importorskip("transformers")``.
"""

import json

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from dnip.llm.prompting.prompt import PromptBuilder

CORPUS = [
    "Read the news article and name its topic: World, Sports, Business or Technology.",
    "Article: the market fell again.\nTopic: Business",
    "Article: a team won the cup in the last minute.\nTopic: Sports",
    "Article: new phones and new chips.\nTopic: Technology",
    "Article: talks between the two countries went on.\nTopic: World",
] * 3

#: More letters than these, the tokenizer splits into bytes.
VOCABULARY = 380


def save_tokenizer(folder, *, begin=False, end=False):
    """Write a byte-level BPE tokenizer; it may add special tokens at the begin or end."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    if begin or end:
        single = ["<s>"] * begin + ["$A"] + ["</s>"] * end
        tokenizer.post_processor = processors.TemplateProcessing(
            single=" ".join(single), special_tokens=[("<s>", 0), ("</s>", 1)]
        )
    special = {"bos_token": "<s>", "eos_token": "</s>"}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    made.save_pretrained(folder)


_SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
_ROTARY = {
    **{**_SIZES, "vocab_size": 400, "intermediate_size": 64, "num_key_value_heads": 2},
    **{"max_position_embeddings": 1024, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None},
}
#: A window far shorter than the prompts, and layers of both kinds.
_WINDOW = {**_ROTARY, "head_dim": 8, "sliding_window": 24, "query_pre_attn_scalar": 8}
_SIGHTS = ("sliding", "full", "sliding")
_MAMBA = {"hidden_size": 32, "state_size": 8, "num_hidden_layers": 2, "pad_token_id": 0}
_CONFIGS = {
    "llama": ("Llama", _ROTARY),
    "gpt2": ("GPT2", {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 1024}),
    "gemma2": ("Gemma2", _WINDOW),
    "gemma3": ("Gemma3Text", _WINDOW | {"layer_types": [f"{w}_attention" for w in _SIGHTS]}),
    "bloom": ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "mamba": ("Mamba", _MAMBA),
}


def _config(kind):
    name, settings = _CONFIGS[kind]
    return getattr(transformers, f"{name}Config")(**{"vocab_size": 400, **settings})


def save_model(folder, kind, *, begin=False):
    """Write a model with large random weights, so that its answers differ from row to row."""
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(_config(kind))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.25)
    model.save_pretrained(folder)
    save_tokenizer(folder, begin=begin)
    return folder


_GGUF_NAMES = {
    **{"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"},
    **{f"self_attn.{one}_proj": f"attn_{one}" for one in "qkv"},
    **{"self_attn.o_proj": "attn_output"},
    **{f"mlp.{one}_proj": f"ffn_{one}" for one in ("gate", "up", "down")},
}


def save_gguf(folder, file, *, architecture="llama", **changes):
    """Write a tiny Llama model as a GGUF file, in float32; `changes` are lies of its header."""
    import gguf

    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    by_id = {number: token for token, number in vocabulary["model"]["vocab"].items()}
    config = model.config
    sizes = {
        **{"context_length": config.max_position_embeddings, "vocab_size": config.vocab_size},
        **{"embedding_length": config.hidden_size, "block_count": config.num_hidden_layers},
        **{"feed_forward_length": config.intermediate_size},
        **{"head_count": config.num_attention_heads, "head_count_kv": config.num_key_value_heads},
        **{"rope_dimension_count": config.head_dim, "layer_norm_rms_eps": config.rms_norm_eps},
    }
    writer = gguf.GGUFWriter(file, architecture)
    for name, value in {**sizes, **changes}.items():
        getattr(writer, f"add_{name}")(value)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([by_id.get(i, f"<unused {i}>") for i in range(config.vocab_size)])
    writer.add_token_types([1] * config.vocab_size)
    writer.add_token_merges([" ".join(pair) for pair in vocabulary["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    weights = model.state_dict()
    for name, weight in weights.items():
        parts = name.removesuffix(".weight").split(".", 3)
        if parts[:2] == ["model", "layers"]:
            there = f"blk.{parts[2]}.{_GGUF_NAMES[parts[3]]}.weight"
            heads = {"attn_q": sizes["head_count"], "attn_k": sizes["head_count_kv"]}
            if n := heads.get(_GGUF_NAMES[parts[3]]):  # there, neighbours turn together
                halves = weight.reshape(n, 2, -1, weight.shape[1])
                weights[name] = halves.swapaxes(1, 2).reshape_as(weight)
        else:
            others = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
            there = f"{others[parts[-1]]}.weight"
        writer.add_tensor(there, weights[name].contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


#: A chat template, as many models have it.
TURNS = (
    "{% for m in messages %}{{ '<s>' + m.role + '\\n' + m.content + '</s>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}"
)


def add_chat_template(folder, template):
    """Give a saved tokenizer a chat template."""
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "chat_template": template}))


_WORDS = ["the", "market", "fell", "team", "won", "cup", "new phones", "chips", "talks", "went é"]


def captured(engine, prompts, task, scoring=None):
    """What an engine gives to each label after each prompt, each of them once."""
    engine.scoring = engine.scoring if scoring is None else scoring
    rows = sorted(engine.score(prompts, task), key=lambda row: row.row)
    assert [row.row for row in rows] == list(range(len(prompts)))
    return np.array([row.captured for row in rows])


def random_prompts(task, shots, number, *, seed=0, chain_of_thought=False):
    """Prompts of a task of one field, with so many demonstrations."""
    rng = np.random.default_rng(seed)

    def row():
        return {"text": " ".join(rng.choice(_WORDS, rng.integers(1, 30)))}

    shown = [(row(), int(rng.integers(task.n_classes))) for _ in range(shots)]
    builder = PromptBuilder(task, shown, chain_of_thought)
    return [builder.prompt(row()) for _ in range(number)]
