"""The public names of C++ headers: what a program that uses them can write.

It reads declarations, no types: namespaces, classes and their public members, enumerators, functions, constants, aliases
and macros. Headers of this repository need no more of C++ than that.
"""
import re

TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\.\.\.|[0-9][\w.']*|\S")
OPEN = {"(": ")", "[": "]", "{": "}"}


def tokens_of(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*', lambda m: " " if m[0].startswith("//") else "0", text)
    text = re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text)
    text = re.sub(r"\[\[.*?\]\]", "", text)
    return TOKEN.findall(text)


class Reader:
    """Of the tokens of one header."""

    def __init__(self, text):
        self.tokens, self.at = tokens_of(text), 0
        self.names = {"macro " + name for name in re.findall(r"(?m)^ *# *define +(\w+)", text) if not name.endswith("_H_")}

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def skip_pair(self):
        """Skips a bracketed part; its opening bracket is next."""
        closing = [OPEN[self.take()]]
        while closing:
            token = self.take()
            if token in OPEN:
                closing.append(OPEN[token])
            elif token == closing[-1]:
                closing.pop()

    def skip_angles(self):
        depth = 0
        while True:
            if self.peek() in OPEN:
                self.skip_pair()
                continue
            depth += {"<": 1, ">": -1}.get(self.take(), 0)
            if depth == 0:
                return

    def skip_statement(self):
        """After the next ; or block."""
        while self.peek() not in (";", "{"):
            if self.peek() in OPEN:
                self.skip_pair()
            else:
                self.take()
        self.skip_block_or_semicolon()

    def skip_block_or_semicolon(self):
        if self.peek() == "{":
            self.skip_pair()
            if self.peek() == ";":
                self.take()
        else:
            self.take()

    def scope(self, prefix, public=True):
        """Up to the } of the scope, or the end."""
        while self.peek() not in ("}", ""):
            if self.peek() in ("public", "private", "protected") and self.peek(1) == ":":
                public = self.take() == "public"
                self.take()
            elif self.peek() == ";":
                self.take()
            else:
                self.statement(prefix, public)

    def statement(self, prefix, public):
        first = self.peek()
        if first == "template":
            self.take()
            self.skip_angles()
            self.statement(prefix, public)
        elif first == "namespace":
            self.namespace(prefix)
        elif first in ("friend", "static_assert", "extern"):
            self.skip_statement()
        elif first == "using":
            self.alias(prefix, public)
        elif first == "enum":
            self.enumeration(prefix, public)
        elif first in ("class", "struct", "union") and self.is_definition():
            self.class_of(prefix, public)
        else:
            self.declaration(prefix, public)

    def is_definition(self):
        """Whether a class has its body here, or is declared only."""
        ahead = 1
        while self.peek(ahead) not in (";", "{", "("):
            ahead += 1
        return self.peek(ahead) == "{" or self.peek(ahead - 1) == self.peek(1)

    def add(self, prefix, name, public):
        if public:
            self.names.add(prefix + name)

    def namespace(self, prefix):
        self.take()
        name = ""
        while self.peek() != "{":
            name += self.take()
        self.take()
        self.scope(prefix + name + "::")
        self.take()

    def alias(self, prefix, public):
        if self.peek(2) == "=":
            self.add(prefix, self.peek(1), public)
        self.skip_statement()

    def enumeration(self, prefix, public):
        self.take()
        is_scoped = self.peek() in ("class", "struct")
        if is_scoped:
            self.take()
        name = self.take()
        self.add(prefix, name, public)
        while self.peek() not in ("{", ";"):
            self.take()
        if self.take() == ";":
            return
        while self.peek() != "}":
            self.add(prefix, (name + "::" if is_scoped else "") + self.take(), public)
            while self.peek() not in (",", "}"):
                if self.peek() in OPEN:
                    self.skip_pair()
                else:
                    self.take()
            if self.peek() == ",":
                self.take()
        self.take()

    def class_of(self, prefix, public):
        kind, name = self.take(), self.take()
        if self.peek() == ";":
            return
        self.add(prefix, name, public)
        while self.take() != "{":
            pass
        before = set(self.names)
        self.scope(prefix + name + "::", kind != "class")
        if not public:
            self.names = before
        self.take()
        if self.peek() != ";":
            self.declaration(prefix, public)

    def declaration(self, prefix, public):
        """Functions, and one or more variables."""
        last = ""
        while True:
            token = self.peek()
            if token == "operator":
                self.function(prefix, self.operator(), public)
                return
            if token == "<":
                self.skip_angles()
            elif token == "(" and self.peek(1) == "*":
                self.add(prefix, self.peek(2), public)
                self.skip_statement()
                return
            elif token == "(" and last not in ("alignas", "decltype", "noexcept"):
                self.function(prefix, last, public)
                return
            elif token in ("=", "{", ";", ",", ":"):
                self.add(prefix, last, public)
                if not self.next_variable():
                    return
            elif token in OPEN:
                self.skip_pair()
            else:
                last = self.take() if token != "~" else self.take() + self.take()

    def next_variable(self):
        """After the , before the next one, or after the ; of the last."""
        while self.peek() not in (",", ";"):
            if self.peek() in OPEN:
                self.skip_pair()
            elif self.peek() == "<" and self.peek(-1).isidentifier():
                self.skip_angles()
            else:
                self.take()
        return self.take() == ","

    def operator(self):
        name = self.take()
        if self.peek() == "(":
            return name + self.take() + self.take()
        while self.peek() != "(":
            name += (" " if self.peek().isidentifier() else "") + self.take()
        return name

    def function(self, prefix, name, public):
        self.add(prefix, name, public)
        self.skip_pair()
        while self.peek() not in (";", "{", ":"):
            if self.peek() in OPEN:
                self.skip_pair()
            else:
                self.take()
        if self.peek() == ":":  # initializers of a constructor: name(value) or name{value}
            while self.take() in (":", ","):
                while self.peek() not in ("(", "{"):
                    self.take()
                self.skip_pair()
            self.at -= 1
        self.skip_block_or_semicolon()


def names_of(text):
    reader = Reader(text)
    reader.scope("")
    if reader.peek():
        raise ValueError(f"declarations end at {' '.join(reader.tokens[reader.at - 8 : reader.at + 1])}")
    return {name.removeprefix("onnxflops::") for name in reader.names}
