#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual page libaisbx(3) from the public header, so that the two cannot differ.

Usage: man/libaisbx.py aisbx.h VERSION > libaisbx.3
"""

import re
import sys

COMMENT = re.compile(r"/\*\s?(.*?)\*/", re.S)


def plain(comment):
    """The text of a comment, a line a line, without its frame."""
    return [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().splitlines()]


def escape(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


def prose(lines):
    """Paragraphs; what is indented by a tab is code."""
    out, code = [], False
    for line in lines:
        is_code = line.startswith("\t") or (code and not line)
        if is_code != code:
            out.append(".PP\n.nf\n.RS" if is_code else ".RE\n.fi\n.PP")
        code = is_code
        out.append(escape(line.replace("\t", "    ")) if line or code else ".PP")
    return "\n".join(out + ([".RE\n.fi"] if code else []))


def prototype(text):
    words = re.sub(r"\bAISBX_API ", "", " ".join(text.split()))
    words = re.sub(r"\s*/\*.*?\*/", "", words)
    return f'.BI "{escape(words)}"'


def enumeration(text):
    """Each value of an enum with its remark."""
    out = []
    for name, remark in re.findall(r"(AISBX_\w+)[^/\n]*(?:/\*\s*(.*?)\s*\*/)?", text):
        out.append(f".TP\n.B {name}\n{escape(remark) or 'No error.'}")
    return "\n".join(out)


def entries(header):
    """(text of the comment, declarations behind it), in order."""
    body = header[header.index('extern "C"'):header.rindex("#ifdef __cplusplus")]
    at = body.index("#endif") + len("#endif")
    for match in re.compile(r"^/\*(.*?)\*/\n((?:(?!/\*|\n)[^\n]*\n)*)", re.M | re.S).finditer(body, at):
        yield plain(match[1]), match[2].strip()


def main():
    header = open(sys.argv[1], encoding="utf-8").read()
    intro = plain(COMMENT.match(header)[1])
    name, _, summary = intro[0].partition(": ")
    print(f'.\\" Made from the header aisbx.h.\n.TH LIBAISBX 3 "" "aisbx {sys.argv[2]}" "Library calls"')
    print(f".SH NAME\n{name} \\- {escape(summary.rstrip('.'))}")
    print(".SH SYNOPSIS\n.B #include <aisbx.h>\n.PP\nLink with\n.IR \\-laisbx .")
    print(".SH DESCRIPTION\n" + prose(intro[2:]))
    print(".SH CALLS")
    for text, code in entries(header):
        if code.startswith("enum"):
            title = code.split("{")[0].strip()
            print(f".SS {title}\n" + prose(text) + "\n" + enumeration(code))
        elif code.startswith("AISBX_API"):
            print(".PP\n.nf\n" + "\n".join(prototype(part) for part in re.findall(r"AISBX_API .*?;", code, re.S)) +
                  "\n.fi\n.RS 4\n" + prose(text) + "\n.RE")
        else:
            print(".PP\n" + prose(text) + (f"\n.PP\n.B {escape(code)}" if code else ""))
    print(".SH SEE ALSO\n.BR aisbx (1),\n.BR aisbx\\-profile (5)")


main()
