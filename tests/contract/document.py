"""openapi.yaml, as the tests of the contract ask it: what it promises, and whether a value is as it has it."""
import pathlib
import re

import jsonschema
import yaml

PATH = pathlib.Path(__file__).resolve().parents[2] / "openapi.yaml"
# The keywords of JSON Schema that openapi.yaml uses. A word that is none of them would check nothing.
KEYWORDS = set("""$ref type enum const allOf anyOf oneOf minimum maximum minLength maxLength minItems maxItems pattern
    uniqueItems items required properties additionalProperties title description format default""".split())


def unique(pairs):
    """An object of its members; none may be there twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"a member twice: {[name for name, _ in pairs]}")
    return members


class Loader(yaml.CSafeLoader):  # pylint: disable=too-many-ancestors
    """Plain words mean what the core schema of YAML 1.2 says, and no key is there twice."""
    yaml_implicit_resolvers = {}

    def construct_mapping(self, node, deep=False):
        return unique([(self.construct_object(key, deep), self.construct_object(value, True))
                       for key, value in node.value])


for kind, pattern in (("null", r"^(?:null|~|)$"), ("bool", r"^(?:true|false)$"), ("int", r"^-?(?:0|[1-9][0-9]*)$"),
                      ("float", r"^-?[0-9]+\.[0-9]+$")):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), None)
Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_mapping)


def refuse_pattern(_validator, pattern, value, _schema):
    """Like that of the library, but `$` is the end alone, and not before a last newline as well."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


TYPES = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda _checker, value: isinstance(value, int) and not isinstance(value, bool))  # 1.0 is none
Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": refuse_pattern},
                                         type_checker=TYPES)


class Operation:
    """One operation of a path."""

    def __init__(self, method, path, shared, node):
        self.id, self.method, self.path, self.node = node["operationId"], method.upper(), path, node
        self.parameters = [DOCUMENT.resolve(parameter) for parameter in shared + node.get("parameters", [])]
        self.responses = {int(status): DOCUMENT.resolve(response) for status, response in node["responses"].items()}
        self.on_request = node.get("x-content-on-request", {})
        self.body = node.get("requestBody", {}).get("content", {}).get("application/json")

    def carrier(self, status, media_type):
        """What the document says of a reply of this status and media type; None: nothing."""
        asked = self.on_request.get(media_type, {})
        return self.responses[status].get("content", {}).get(media_type) or \
            asked.get(str(status) if status < 400 else "refusal")

    def codes(self, status):
        content = self.responses[status].get("content", {}).get("application/problem+json")
        return DOCUMENT.codes(content["schema"]) if content else {}

    def has_code(self, code):
        return any(code in self.codes(status) for status in self.responses)

    def parameter(self, place, name):
        return next((one for one in self.parameters if one["in"] == place and one["name"] == name), None)

    def promises(self):
        """A tuple of id, status, media type and code for each reply that the document promises."""
        for status, response in self.responses.items():
            for media_type in response.get("content", {"": None}):
                for code in (self.codes(status) if media_type == "application/problem+json" else {"": 0}):
                    yield self.id, status, media_type, code
        for media_type, statuses in self.on_request.items():
            for status in statuses:
                for answered in ([int(status)] if status != "refusal" else
                                 [one for one in self.responses if one >= 400]):
                    yield self.id, answered, media_type, ""


class Document:
    """The whole of it."""

    def __init__(self):
        self.text = PATH.read_bytes()
        self.root = yaml.load(self.text, Loader)
        self.plains, self.validators, self.checked = {}, {}, set()  # by the identity of a part of the document

    def operations(self):
        for path, item in self.root["paths"].items():
            for method in item:
                if method not in ("parameters", "head"):
                    yield Operation(method, path, item.get("parameters", []), item[method])

    def resolve(self, node):
        """What a $ref leads to, or the node itself."""
        while isinstance(node, dict) and "$ref" in node:
            target = self.root
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            node = target
        return node

    def codes(self, schema):
        """Every code that a problem of this schema may have, and its status."""
        schema, found = self.resolve(schema), {}
        properties = schema.get("properties", {})
        code = properties.get("code", {})
        for word in code.get("enum", [code["const"]] if "const" in code else []):
            found[word] = properties.get("status", {}).get("const")
        for branch in schema.get("allOf", []) + schema.get("oneOf", []) + schema.get("anyOf", []):
            found |= self.codes(branch)
        return found

    def carriers(self, node=None, where="openapi.yaml"):
        """Whatever has a schema: a parameter, a header, a body; with the way to it."""
        node = self.root if node is None else node
        if isinstance(node, dict):
            if "schema" in node:
                yield where, node
            for name, inner in node.items():
                if name not in ("example", "examples", "default"):
                    yield from self.carriers(inner, f"{where} > {name}")
        elif isinstance(node, list):
            for inner in node:
                yield from self.carriers(inner, where)

    def plain(self, node):
        """The same with what each $ref leads to in its place, so that the library looks nothing up."""
        if isinstance(node, list):
            return [self.plain(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        if id(node) not in self.plains:
            inner = {name: self.plain(value) for name, value in node.items() if name != "$ref"}
            target = self.plain(self.resolve(node)) if "$ref" in node else {}
            self.plains[id(node)] = {"allOf": [target], **inner} if target and inner else target or inner
        return self.plains[id(node)]

    def validator(self, schema):
        """Schemas are parts of the document, so they last."""
        if id(schema) not in self.validators:
            self.validators[id(schema)] = Validator(self.plain(schema))
        return self.validators[id(schema)]

    def accepts(self, schema, value):
        return self.validator(schema).is_valid(value)

    def check_schema(self, schema, seen=()):
        """Raises an error where the schema, or one inside it, does not check all that it seems to."""
        assert not any(schema is one for one in seen), f"it contains itself: {schema}"
        if isinstance(schema, bool) or id(schema) in self.checked:
            return
        unknown = set(schema) - KEYWORDS
        assert not unknown, f"unknown keywords: {unknown}"
        Validator.check_schema(schema)
        pattern = schema.get("pattern", "")
        assert not re.search(r"\\|\(\?|\[:", pattern), f"not read alike everywhere: {pattern}"
        inner = [*schema.get("properties", {}).values(), *(schema[word] for word in ("items", "additionalProperties")
                                                           if word in schema)]
        for word in ("allOf", "anyOf", "oneOf"):
            inner += schema.get(word, [])
        for one in inner + ([self.resolve(schema)] if "$ref" in schema else []):
            self.check_schema(one, (*seen, schema))
        self.checked.add(id(schema))

    def check(self, carrier, value):
        """Raises an error where the schema does not allow the value, or does not name every member of its objects:
        replies may grow, but not in secret."""
        schema = carrier["schema"]
        self.check_schema(schema)
        self.validator(schema).validate(value)
        self.check_names(schema, value)

    def check_names(self, schema, value):
        if isinstance(schema, bool):
            return
        if isinstance(value, dict):
            for name, inner in value.items():
                named = self.schema_of(schema, value, name)
                assert named is not None, f"the schema does not name {name}: {value}"
                self.check_names(named, inner)
        elif isinstance(value, list):
            for inner in value:
                self.check_names(self.resolve(schema).get("items", {}), inner)

    def schema_of(self, schema, value, name):
        """The schema of a member of the value; of alternatives, only those count that take the value."""
        if name in schema.get("properties", {}):
            return schema["properties"][name]
        branches = ([self.resolve(schema)] if "$ref" in schema else []) + schema.get("allOf", [])
        branches += [one for one in schema.get("anyOf", []) + schema.get("oneOf", []) if self.accepts(one, value)]
        for branch in branches:
            if (found := self.schema_of(branch, value, name)) is not None:
                return found
        return schema.get("additionalProperties")


def examples(carrier):
    found = {name: one["value"] for name, one in carrier.get("examples", {}).items()}
    return found | ({"example": carrier["example"]} if "example" in carrier else {})


DOCUMENT = Document()
OPERATIONS = {operation.id: operation for operation in DOCUMENT.operations()}
