"""openapi.yaml by itself, and against the tables that batond is made of: routes, problems, fields."""
import unittest

from document import DOCUMENT, OPERATIONS, examples

TABLES = {}  # of test_contract.c
# What the document has to say of a field: its type in a body and in the query (None: it is never there), and the
# keywords of its range.
KINDS = {"duration": ("string", "string"), "integer": ("integer", "integer", "minimum", "maximum"),
         "mode": ("string", "string"), "text": ("string", "string", "minLength", "maxLength"),
         "token": ("string", None, "minLength", "maxLength"), "object": ("object", "string"),
         "flag": ("boolean", "boolean"), "choice": ("string", "string"), "replicas": ("string", "string"),
         "list": ("array", None, "minItems", "maxItems")}


class Document(unittest.TestCase):
    def test_schemas_check_all_that_they_seem_to(self):
        for where, carrier in DOCUMENT.carriers():
            with self.subTest(where):
                DOCUMENT.check_schema(carrier["schema"])
        for name, schema in DOCUMENT.root["components"]["schemas"].items():
            with self.subTest(name):
                DOCUMENT.check_schema(schema)

    def test_examples_fit_their_schemas(self):
        for where, carrier in DOCUMENT.carriers():
            self.assertTrue(examples(carrier), f"{where} has no example")
            for name, example in examples(carrier).items():
                with self.subTest(where, name=name):
                    DOCUMENT.check(carrier, example)

    def test_defaults_fit_their_schemas(self):
        def check(node):
            if isinstance(node, dict) and "default" in node:
                self.assertTrue(DOCUMENT.accepts(node, node["default"]), node)
            inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
            return (isinstance(node, dict) and "default" in node) + sum(check(one) for one in inner)
        self.assertGreater(check(DOCUMENT.root), 0)

    def test_operations_are_the_routes(self):
        self.assertEqual({(one.id, one.method, one.path) for one in OPERATIONS.values()},
                         {(one["id"], one["method"], one["path"]) for one in TABLES["routes"]})

    def test_refusals_of_a_caller_are_where_the_route_needs_a_right(self):
        for route in TABLES["routes"]:
            operation = OPERATIONS[route["id"]]
            for code, needed in (("unauthorized", route["needs"] != "none"), ("rate_limited", route["needs"] != "none"),
                                 ("forbidden", route["needs"] not in ("none", "any")),
                                 ("untrusted_origin", route["needs"] != "none")):
                self.assertEqual(operation.has_code(code), needed, (operation.id, code))
            if "wait" in route["fields"]:
                self.assertTrue(operation.has_code("too_many_waiters"), operation.id)

    def test_head_is_described_where_get_is(self):
        for path, item in DOCUMENT.root["paths"].items():
            self.assertEqual("get" in item, "head" in item, path)
            if "get" not in item:
                continue
            get, head = item["get"], item["head"]
            self.assertEqual(head["operationId"], get["operationId"] + "Head")
            for same in ("parameters", "security", "tags"):
                self.assertEqual(get.get(same), head.get(same), (path, same))
            for status, response in get["responses"].items():
                response, of_head = DOCUMENT.resolve(response), DOCUMENT.resolve(head["responses"][status])
                self.assertNotIn("content", of_head, (path, status))
                for name, header in response.get("headers", {}).items():
                    self.assertEqual(of_head["headers"][name], header, (path, status, name))

    def test_problems_are_those_of_the_table(self):
        seen = set()
        for operation in OPERATIONS.values():
            for status, response in operation.responses.items():
                codes = operation.codes(status)
                if "application/problem+json" in response.get("content", {}):
                    self.assertTrue(codes, (operation.id, status))
                for code, of_document in codes.items():
                    self.assertEqual((of_document, status), (TABLES["problems"][code]["status"],) * 2, code)
                seen |= set(codes)
        self.assertEqual(seen, set(TABLES["problems"]))

    def test_examples_of_problems_have_their_titles(self):
        for where, carrier in DOCUMENT.carriers():
            for example in examples(carrier).values():
                code = example.get("code") if isinstance(example, dict) else None
                if code in TABLES["problems"]:
                    self.assertEqual(example["title"], TABLES["problems"][code]["title"], where)

    def check_field(self, where, schema, field, in_ms, in_query):
        schema = DOCUMENT.resolve(schema)
        in_body, as_query, *bounds = KINDS["integer" if in_ms else field["kind"]]
        self.assertEqual(schema["type"], as_query if in_query else in_body, where)
        if field["kind"] == "choice":
            self.assertEqual(schema["const"], field["expected"], where)
        for keyword, bound in zip(bounds, (field["lowest"], field["highest"])):
            self.assertEqual(schema.get(keyword, 0 if keyword == "minLength" else None), bound, (where, keyword))

    def check_fields(self, route, schemas, in_query):
        """The schemas, by name, are those of the route's fields."""
        fields = {}
        for name, field in route["fields"].items():
            if not in_query or KINDS[field["kind"]][1]:
                fields |= {word: field for word in (name, field["in_ms"]) if word}
        self.assertEqual(set(schemas), set(fields), (route["id"], in_query))
        for name, field in fields.items():
            self.check_field((route["id"], name), schemas[name], field, name == field["in_ms"], in_query)

    def test_parameters_are_the_fields(self):
        for route in TABLES["routes"]:
            operation = OPERATIONS[route["id"]]
            self.check_fields(route, {one["name"]: one["schema"] for one in operation.parameters
                                      if one["in"] == "query"}, True)
            if route["fields"] and route["method"] != "GET":
                properties = DOCUMENT.resolve(operation.body["schema"])["properties"]
                self.check_fields(route, {name: schema["oneOf"][0] if "oneOf" in schema else schema
                                          for name, schema in properties.items()}, False)
            self.assertEqual(bool(operation.parameter("header", "Lock-Token")), "token" in route["fields"])
