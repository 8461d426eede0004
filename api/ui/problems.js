// What batond's refusals mean for whoever looks at the page. Their own details speak to programs, of
// headers and parameters.

const RIGHTS = { read: "look at", break: "break", acquire: "take" };

const SENTENCES = {
  invalid_name: () => "no browser can name this lock in a URL: use curl --path-as-is",
  unauthorized: () => (credentials.token ? "nobody here has this token; it may have been replaced, or cut when it was copied"
    : "this batond wants to know who asks"),
  forbidden: ({ verb, prefix }) => "you have no right to " + (RIGHTS[verb] ?? verb ?? "see") + " locks"
    + (prefix ? " that begin with " + plain(prefix) : " here") + "; whoever runs batond can grant it",
  untrusted_origin: () => "this page was opened by a name that batond does not take for its own; open it as localhost, by its address, "
    + "or have the proxy in front pass on Host as it is",
  not_found: () => "the proxy in front of batond does not pass this on",
  method_not_allowed: () => "the proxy in front of batond does not pass this on",
  rate_limited: () => "you have asked more often than you may in a second",
  too_many_connections: () => "batond has as many connections as it may",
  request_timeout: () => "the request took too long to arrive",
  unsupported: () => "a quorum of Redis cannot list its locks",
  store_unavailable: () => "batond cannot use its Redis",
  unconfirmed: () => "too few replicas of Redis have confirmed it",
  draining: () => "this batond is stopping",
  stuck: () => "a part of this batond is stuck: restart it",
};

// What is answered by whatever stands in front of batond.
function sentenceOfStatus(status) {
  return [502, 503, 504].includes(status) ? "batond does not answer the proxy in front of it (" + status + ")"
    : "the answer was " + status + ", which is not what batond says";
}

// Without a capital and a full stop, to be put behind what could not be done.
function sentenceOf(status, problem) {
  if (Object.hasOwn(SENTENCES, problem.code ?? "")) return SENTENCES[problem.code](problem);
  return problem.title ? problem.title.charAt(0).toLowerCase() + problem.title.slice(1) : sentenceOfStatus(status);
}

// An answer other than success: `status`, the problem's `code`, `message` for people. Of /readyz it
// has `checks`.
class Refusal extends Error {
  constructor(status, problem) {
    super(sentenceOf(status, problem));
    this.status = status;
    this.code = problem.code ?? "";
    this.checks = problem.checks ?? null;
    this.version = problem.version ?? "";
  }
}
