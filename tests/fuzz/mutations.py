"""Ways to damage what is sound: bytes, texts and JSON."""

import copy

from hypothesis import strategies as st

#: What stands at the edge of something, or beyond it.
NUMBERS = [
    *(0, 1, -1, 2, 2**31, 2**63, -(2**63), 2**64, 10**20, 10**400),
    *(0.5, -0.5, 1e-308, 5e-324, 1e12, 1e308, -1e308, float("inf"), float("nan")),
]
TEXTS = [
    *("", " ", "0", "a", "A" * 300, "$x_$", "$\\frac{$", "\x00", "\x1b[2J\x1b]0;x\x07", "\ufeff"),
    *("\ud800", "\udcff", "正", "\u202e", "a,b", 'a"b', "a\nb", "'", "{", "}}", "NaN", "../x"),
    *("label", "id", "p0", "p1", "mass", "%s", "{0}", "[red]x[/]", "\\", "<b>", "=1+1", "1e400"),
]
VALUES = [*NUMBERS, *TEXTS, None, True, False, [], {}, [[]], [[[1]]], {"a": {"b": []}}]
TOKENS = [
    *(b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b'"', b",", b",,", b"{", b"}", b"["),
    *(b"nan", b"inf", b"-1", b"1e400", b"9" * 400, b"null", b"p0", b"label", b"\x1f\x8b", b"PK"),
    *(b"a" * 5000, b"0x1", b"1_0", b" ", b";", b"\t", b"#", b"[[", b"=", b"'", b"{{", b"{%"),
]

numbers = st.one_of(st.sampled_from(NUMBERS), st.integers(), st.floats())
texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=20))
values = st.one_of(st.sampled_from(VALUES), numbers, texts)


@st.composite
def damaged(draw, content):
    """Bytes that were sound until some of them were changed, cut, doubled or put in."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        span = slice(start, start + draw(st.sampled_from([0, 1, 1, 2, 5, 20, 10**9])))
        way = draw(st.sampled_from(["flip", "put", "put", "cut", "twice", "any"]))
        if way == "flip" and start < len(content):
            content[start] ^= 1 << draw(st.integers(0, 7))
        elif way == "put":
            content[span] = draw(st.sampled_from(TOKENS))
        elif way == "cut":
            del content[span]
        elif way == "twice":
            content[start:start] = content[span]
        else:
            content[span] = draw(st.binary(max_size=6))
    return bytes(content)


@st.composite
def damaged_json(draw, content, most=3):
    """A value of JSON that was sound until keys or values somewhere in it were changed."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, most))):
        holder, key = None, None
        value = content
        while isinstance(value, dict | list) and value and (holder is None or draw(st.booleans())):
            holder = value
            keys = sorted(value) if isinstance(value, dict) else list(range(len(value)))
            key = draw(st.sampled_from(keys))
            value = value[key]
        if holder is None:
            return draw(values)
        way = draw(st.sampled_from(["value", "value", "value", "drop", "rename", "twice"]))
        if way == "value":
            holder[key] = draw(values)
        elif way == "drop":
            del holder[key]
        elif way == "rename" and isinstance(holder, dict):
            holder[draw(texts)] = holder.pop(key)
        elif isinstance(holder, list):
            holder.insert(key, copy.deepcopy(value))
    return content
