#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference_filter.py HEADER: the header as Doxygen wants to read it. Our comments are plain `//`; this makes each block
of them documentation of what follows, as text that is shown as it is, because pictures and columns are part of it. A
head comment becomes the description of the file."""
import re
import sys

lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
out, block, head = [], [], True


def flush(follows):
    global block, head
    if not block:
        return
    indent = re.match(r"\s*", block[0]).group()
    text = [re.sub(r"^\s*// ?", "", line) for line in block]
    text = [line for line in text if not line.startswith("SPDX-License-Identifier")]
    if re.match(r"^-{4,}|^-+ .* -+$", text[0] if text else "") or not text:  # a ruler between parts
        out.extend(block)
    elif head or follows.strip():
        out.append(f"{indent}/**{' @file' if head else ''}")
        out.append(f"{indent}@verbatim")
        out.extend(line.replace("*/", "* /") for line in text)
        out.append(f"{indent}@endverbatim */")
        # Doxygen counts lines; keep them close to those of the file.
    head = False
    block = []


def escaped(text):
    return re.sub(r"([<>@\\#%&])", r"\\\1", text)


beside = None  # the column of a comment after code, which the next line may go on with
body = None  # the indentation of the function whose body this is; comments in it are no documentation
for line in lines:
    if body is not None:
        out.append(line)
        if line.startswith(body + "}"):
            body = None
        continue
    if re.match(r"^\s*//(?!/)", line):
        if beside is not None and line.index("//") == beside:
            out.append(f"{' ' * beside}///< {escaped(line[beside + 3:])}")
        else:
            block.append(line)
        continue
    beside = None
    flush(line)
    if re.search(r"[)\]>](?: const)?(?: noexcept(?:\(.*\))?)?(?: -> .*)?(?: requires .*)? ?\{$|= \{$", line) and not re.match(
            r"\s*(?:class|struct|namespace|enum|extern)\b", line):
        body = re.match(r"\s*", line).group()
        out.append(line)
        continue
    # A comment after code on the same line belongs to that code.
    match = re.match(r'^([^"]*?[;,{}])\s+// (.*)$', line)
    if match:
        beside = match.start(2) - len("// ")
        out.append(f"{match.group(1)}  ///< {escaped(match.group(2))}")
    else:
        out.append(line)
flush("")
print("\n".join(out))
