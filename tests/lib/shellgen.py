# SPDX-License-Identifier: Apache-2.0
"""Shell texts made at random from a grammar, with a command put wherever a shell would run it.

The environment sets SECRET, and RUN to a command; x lies in a directory named ~, and in one named $HOME.
"""
import shlex


def _backticks(text):
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"


WORDS = ("a", '"a b"', "'x'", "a.csv", '"$x"', "*.csv", "~", "a#b", "{a,b}", "$?",
         # Variables of the environment, with and without operators.
         "$SECRET", '"${SECRET}"', "${SECRET:-a}", '"${SECRET-a}"', "${SECRET:=a}", "${SECRET#a}", "${SECRET:0}", "${SECRET/a/b}",
         "${HOME:+~/.ssh/id_rsa}", "${HOME%%/zz}/.ssh/id_rsa", "${a-$SECRET}", "/$HOME/.ssh/id_rsa",
         # Words that a shell makes into others, or would if they were not quoted.
         "~/.ss{h..h}/id_rsa", "~/.ssh/id_rs{a..a}", "{~/.ssh/id_rs,x}{a,y}", "{{~/.ssh/id_rs,x}a,y}",
         "'{a,b}'", "~+/../home/.ssh/id_rsa",
         "'~/x'", '"~"/x', "\\~/x", "'~/'*", "'$HOME/x'", "a=~/x")
# %s is a command, %w a word, %q a command as one quoted word.
IN_WORDS = ("$(%s)", '"$(%s)"', "${x:-$(%s)}", '"${x:-$(%s)}"', "<(%s)", "$(( $(%s; echo 1) + 1 ))", "${x:=$(%s)}", "a$(%s)b",
            '"${y[$(%s; echo 0)]}"', "`")
COMMANDS = (
    "echo %w", "echo %w %w", "cat %w", "%s; %s", "%s && %s", "%s || %s", "%s | %s", "(%s)", "{ %s; }", "! %s", "time %s",
    "if %s; then %s; else %s; fi", "for i in %w %w; do %s; done", "while %s; do %s; break; done", "case %w in *) %s;; esac",
    "bash -c %q", "sh -c %q", "env bash -c %q", "timeout 5 bash -c %q", "eval %q", "%s > /dev/null 2>&1", "%s & wait",
    "cat <<E\n$(%s)\nE\n", "cat <<-E\n\t`%s`\n\tE\n", "cat <<'E'\n$(%s)\nE\n%s", "cat <<< %w", "sh <<E\n%s\nE\n",
    "[[ 'y[$(%s)]' -eq 0 ]]", "[ -n %w ] && %s", "test -v 'y[$(%s)]'", "printf -v 'y[$(%s)]' a", "(( y[$(%s; echo 0)] ))",
    "%s # %s", "echo a#b; %s", "f() { %s; }; f", "trap %q EXIT", "echo %q | bash", ". /dev/stdin <<< %q", "e'c'ho %w", "l\\s; %s",
    "echo a\\\n %w", "%s\n%s", "x=%w; echo $x", "x=%q; $x", "xargs -I% sh -c %q <<< a", "find . -maxdepth 0 -exec sh -c %q \\;",
    "cd src && %s", "exec 3< <(%s); cat <&3", "sort %w", "cat a.csv %w 2>/dev/null | head -1",
    # Names by which a shell looks up programs and files.
    "for PATH in .; do ls; done", "for PATH in src .; do ls; %s; done", "for HOME in ~/.ssh; do cat ~/id_rsa; done",
    "select PATH in .; do ls; break; done <<< 1", "read PATH <<< .; ls", "printf -v PATH .; ls", "mapfile -t PATH <<< .; ls",
    "for i in %w; do cat $i; done", 'for i in %w; do cat "$i"; done', "${RUN:-ls}", "${RUN-ls} a", "${SECRET:+$RUN}",
    "cat < %w", "cat <<E\n%w\nE\n", "tr a b <<< %w", "case %w in *canary*) echo canary-4711;; esac",
    # What a shell does itself, where it is not a shell that does it.
    "env cd %w", "timeout 5 exit", "nice -n 1 wait", "env type a", "env time %s", "nice command ls", "sh -c 'time ls'",
    "sh -c 'builtin ls'", "\\time ls", "timeout 5 env : a")


def word(chance, depth, leaves):
    form = chance.choice(WORDS + IN_WORDS) if depth > 0 else chance.choice(WORDS)
    if form == "`":
        return _backticks(command(chance, depth - 1, leaves))
    return fill(form, chance, depth, leaves)


def fill(form, chance, depth, leaves):
    out, rest = "", form
    while "%" in rest:
        before, _, rest = rest.partition("%")
        kind = rest[:1]
        out += before
        if kind == "w":
            out += word(chance, depth - 1, leaves)
        elif kind == "s":
            out += command(chance, depth - 1, leaves)
        elif kind == "q":
            out += shlex.quote(command(chance, depth - 1, leaves))
        else:
            out += "%"
            continue
        rest = rest[1:]
    return out + rest


def command(chance, depth, leaves):
    """A text in which one of LEAVES stands wherever nothing else does."""
    return fill(chance.choice(COMMANDS), chance, depth, leaves) if depth > 0 else chance.choice(leaves)
