"""A real batond takes the requests that openapi.yaml has."""
import json
import unittest
from urllib.parse import quote

from document import DOCUMENT, OPERATIONS, examples
from replies_test import fill
from service import ONE, Batond, Client, Redis

# Not among the examples of a query: a hold by connection, whose reply has no end, the fence of a break, which no hold
# has, and the end of a hold, which needs a token.
NOT_SENT = ("hold", "fence", "until")


def query_of(operation, in_ms=False):
    """The examples of all parameters at once, each duration in one of its spellings."""
    found = {one["name"]: one["example"] for one in operation.parameters
             if one["in"] == "query" and one["name"] not in NOT_SENT}
    chosen = {name: value for name, value in found.items() if not (
        {name.removesuffix("_ms"), name.removesuffix("_ms") + "_ms"} <= set(found) and name.endswith("_ms") != in_ms)}
    words = [f"{name}={quote(value if isinstance(value, str) else json.dumps(value), safe='')}"
             for name, value in chosen.items()]
    return "?" + "&".join(words) if words else ""


def path_of(operation, name):
    return operation.path.replace("{name}", name)


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.batond = Batond(f"unix://{cls.redis.socket}", "--max-waiters=1")
        cls.client = Client(cls.batond)

    @classmethod
    def tearDownClass(cls):
        cls.batond.__exit__()
        cls.redis.stop()

    def release(self, example):
        """What the example has taken must not be in the way of the next."""
        for name in (example.get("names") if isinstance(example, dict) else None) or ():
            self.client.arrange(f"DELETE /locks/{quote(name)}?force=true")

    def test_the_document_itself_is_served(self):
        self.assertEqual(self.client.ask("GET /openapi.yaml").body, DOCUMENT.text)

    def test_head_is_answered_like_get(self):
        for operation in OPERATIONS.values():
            if operation.method != "GET":
                continue
            path, same = path_of(operation, "head"), ["Content-Type", "ETag"]
            same += ["Content-Length"] if path == "/openapi.yaml" else []  # other lengths change with the time
            get, head = self.client.ask(f"GET {path}"), self.client.ask(f"HEAD {path}")
            self.assertEqual((get.status, head.status, head.body), (200, 200, b""), path)
            self.assertEqual([get.headers[name] for name in same], [head.headers[name] for name in same], path)
        head = self.client.ask("HEAD /nothing")
        self.assertEqual((head.status, head.body), (404, b""))

    def each_body(self):
        for operation in OPERATIONS.values():
            for name, example in examples(operation.body or {}).items():
                yield operation, name, example

    def test_examples_of_bodies_are_taken(self):
        for operation, name, example in self.each_body():
            path = path_of(operation, f"{operation.id}-{name}")
            if operation.method != "POST" and "token" in example:  # it needs the hold that it is about
                names = json.dumps({"names": example["names"]}) if "names" in example else ""
                reply = self.client.call("POST", path, {"Lock-Token": example["token"]}, names)
                self.assertEqual(reply.status, 201, path)
            self.client.arrange(f"{operation.method} {path} {json.dumps(example)}")
            self.release(example)

    def test_examples_of_queries_are_taken(self):
        for operation in OPERATIONS.values():
            for in_ms in (False, True):
                query, renews = query_of(operation, in_ms), operation.method == "PUT"
                _, path, *rest = fill(operation, operation.id, " @one" if renews else "").split(" ", 2)
                # A token of its own, or names, would be refused beside force=true.
                rest = rest if operation.method != "DELETE" else []
                if query and renews:
                    self.client.arrange(" ".join(["POST", path, *rest]))
                if query:
                    self.client.arrange(" ".join([operation.method, path + query, *rest]))
                self.release({"names": [operation.id] if query and path == "/locks" and rest else []})

    def takes_null(self, operation, lock, field, example):
        """Whether batond takes null for this field in an example, there or with its value elsewhere."""
        def takes(query, headers):
            reply = self.client.call(operation.method, path_of(operation, lock) + query, headers, json.dumps(example))
            return reply.status != 400 or reply.json.get("parameter") != field
        taken = takes("", {}) or field != "names" and takes("?reason=example", {"Lock-Token": ONE})
        self.release(example)
        return taken

    def test_null_is_taken_where_the_document_says_so(self):
        for operation in OPERATIONS.values():
            if not operation.body:
                continue
            schema = operation.body["schema"]
            reply = self.client.call(operation.method, path_of(operation, operation.id) + query_of(operation),
                                     {"Lock-Token": ONE} if operation.method == "PUT" else {}, "null")
            self.assertEqual(reply.status != 400, DOCUMENT.accepts(schema, None), operation.id)
            for field in DOCUMENT.resolve(schema)["properties"]:
                changed = {name: example | {field: None} for name, example in examples(operation.body).items()}
                self.assertEqual(
                    any([self.takes_null(operation, f"{operation.id}-{field}-{name}", field, example)
                         for name, example in changed.items()]),
                    any(DOCUMENT.accepts(schema, example) for example in changed.values()), (operation.id, field))
