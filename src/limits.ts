// Every cap this server enforces, with the reason. Each is tested by going one over it.

export const limits = {
  /** A request body. Large enough for a pasted document, small enough that a hundred at once fit one isolate. */
  bodyBytes: 4 * 1024 * 1024,
  /** Nesting of arrays and objects in a body, so that nothing recursive can run out of stack. */
  jsonDepth: 64,
  /** Messages in one 2025-03-26 batch. */
  batchMessages: 50,
  /** How long a handler may stay quiet before its answer becomes a stream. Short enough to show life to a host. */
  quietMs: 500,
  /** Comments while a handler runs: without writes nobody can see a client leave, and it must be seen within 2 s. */
  runningKeepAliveMs: 750,
  /** Unread bytes of one stream before the reader counts as gone. */
  streamBacklogBytes: 1024 * 1024,
  /** How long a cancelled handler is kept alive for its clean-up. The platform allows 30 s after the client left. */
  cancelGraceMs: 10_000,
  /** Log messages one request may send to its client; the specification asks for a rate limit. */
  logMessages: 1_000,
  /** A sealed `requestState`: it travels both ways in every round. */
  requestStateBytes: 64 * 1024,
  /** How long an unanswered ask stays answerable. People go to lunch; minutes would be too short. */
  askTtlMs: 60 * 60 * 1000,
  /** How often one ask is repeated after answers that do not fit. */
  askAttempts: 3,
  /** Rounds of one call, so that keys which differ on every entry end in an error instead of a loop. */
  askRounds: 50,
  /** Nesting of a JSON schema an author declares. */
  schemaDepth: 32,
  /** Subschemas of a JSON schema an author declares: composition keywords multiply the work of a validation. */
  schemaNodes: 2_000,
  /** Items of a list whose raw schema says `uniqueItems`: each is compared with each other one. */
  uniqueItems: 1_000,
  /** Values of one completion answer. The specification allows no more. */
  completionValues: 100,
  /** A resource URI. Longer than any real one, short enough to match against every template. */
  uriChars: 2_048,
  /** Bad fields named in one answer; a model corrects a handful, not a thousand. */
  issues: 20,
  /** How long sealing keys live before the next is minted. Nothing sealed outlives one such period. */
  keyRotationMs: 30 * 24 * 60 * 60 * 1000,
  /** Freshness of lists that never change while a deployment lives. */
  listTtlMs: 5 * 60 * 1000,
}
