// What batond's refusals mean for a person at the page. Their own details speak to programs, of
// headers and parameters.

const RIGHTS = { read: "look at", break: "break", acquire: "take" };

const SENTENCES = {
  unauthorized: () => (credentials.token ? "this API key is unknown; it may have been replaced, or cut when it was copied"
    : "this batond needs an API key"),
  forbidden: ({ verb, prefix }) => "you have no right to " + (RIGHTS[verb] ?? verb ?? "see") + " locks"
    + (prefix ? " that begin with " + plain(prefix) : " here") + "; ask the operator of batond for it",
  untrusted_origin: () => "batond does not know the name in the address of this page; open it as localhost or by its IP address, "
    + "or let the proxy in front of batond pass on Host unchanged",
  not_found: () => "the proxy in front of batond does not pass this on",
  method_not_allowed: () => "the proxy in front of batond does not pass this on",
  rate_limited: () => "you have sent too many requests in this second",
  too_many_connections: () => "your address has too many connections open",
  request_timeout: () => "the request took too long to arrive",
  unsupported: () => "a quorum of Redis cannot list its locks",
  store_unavailable: () => "Redis is not available",
  unconfirmed: () => "too few replicas of Redis have confirmed",
  draining: () => "this batond is stopping",
  stuck: () => "a worker of this batond is stuck: restart batond",
};

// An answer of a proxy in front of batond.
function sentenceOfStatus(status) {
  return [502, 503, 504].includes(status) ? "batond does not answer the proxy in front of it (" + status + ")"
    : "the answer was " + status + ", which does not come from batond";
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
