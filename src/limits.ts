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
  /** Unread bytes of one stream before a session's waits for its reader, and any other counts the reader as gone. */
  streamBacklogBytes: 1024 * 1024,
  /** How long a reader with that much before it may read nothing. */
  streamStallMs: 30_000,
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
  /** How long a session id is valid: it cannot be renewed, and clients do not start over by themselves. */
  sessionTtlMs: 30 * 24 * 60 * 60 * 1000,
  /** How long what a session stores outlives its last use. The id stays valid. */
  sessionIdleMs: 24 * 60 * 60 * 1000,
  /** A sealed session id, which travels as a header. */
  sessionIdChars: 512,
  /** Events one session keeps for replay. Over it, the oldest finished streams go first. */
  sessionEvents: 2_000,
  /** Bytes of events one session keeps for replay. */
  sessionEventBytes: 8 * 1024 * 1024,
  /** One stored event; a row may have 2 MB. A larger one is still delivered to who is connected. */
  eventBytes: 1_900_000,
  /** How often a call whose object died is entered again, so that one that kills its object ends in an error. */
  callAttempts: 3,
  /** Calls of one session that may run, or wait for an answer, at once. */
  sessionCalls: 32,
  /** Streams of one session that may wait for tasks. Their clients may have left without being seen to. */
  sessionWaits: 32,
  /** Asks of one session that may be open at once. */
  sessionAsks: 32,
  /** Resources one session may subscribe to. */
  sessionSubscriptions: 500,
  /** How long a finished stream can still be replayed. */
  streamGraceMs: 5 * 60 * 1000,
  /** How long a call of a session may work without asking. Nobody may be there to see that it never ends. */
  callMs: 60 * 60 * 1000,
  /** How soon a call that lost its handler is noticed. */
  leaseMs: 30_000,
  /** How long one connection of a stream is held before it ends gracefully and the client asks again. */
  streamMaxAgeMs: 30 * 60 * 1000,
  /** Comments on a stream on which nothing happens; silent responses have been cut at the edge after minutes. */
  idleKeepAliveMs: 25_000,
  /** What a client is told to wait before it reconnects a stream the server closed. */
  retryMs: 1_000,
  /** Newer standalone streams that replace an older one within ten seconds before both are kept open. */
  streamReplacements: 3,
  /** Connections of one stream that are then kept open. */
  streamConnections: 4,
  /** How long a task of an identified principal may be kept, unless its definition says more. */
  taskTtlMs: 30 * 24 * 60 * 60 * 1000,
  /** The same for anonymous callers: whoever learns the id of such a task can read it. */
  anonymousTaskTtlMs: 2 * 24 * 60 * 60 * 1000,
  /** How long a task is kept when nobody says. Its client may only come back tomorrow. */
  defaultTaskTtlMs: 24 * 60 * 60 * 1000,
  /** The shortest life of a task; a shorter one would be over before its client has asked once. */
  minTaskTtlMs: 1_000,
  /** How often clients are told to ask for news of a task. */
  taskPollMs: 2_000,
  /** Tasks of one identified principal that may be open at once. */
  principalTasks: 100,
  /** Tasks on one page of `tasks/list`: each is asked for its state. */
  tasksPage: 20,
  /** Asks of one task that may be open at once. */
  taskAsks: 32,
  /** Steps and sleeps one task may remember: every entry of its handler loads them. */
  taskSteps: 10_000,
  /** Bytes of the results of a task's steps, and as many of answers: every entry of its handler loads them. */
  taskStepBytes: 16 * 1024 * 1024,
  /** Bytes of what a task came to. More is refused, and says so. */
  taskResultBytes: 16 * 1024 * 1024,
  /** Entries in a row of a task's handler that get nowhere before the task fails: one that kills its object each time. */
  taskAttempts: 5,
  /** URIs one `subscriptions/listen` may name. As many as a session may subscribe to. */
  listenResources: 500,
  /** Tasks one `subscriptions/listen` may name. Each is asked for its state. */
  listenTasks: 100,
  /** The id of a `subscriptions/listen`: it is held, and marks every message. */
  listenIdChars: 1_024,
  /** Streams of `subscriptions/listen` one identified principal may hold: a few hosts, with a few streams each. */
  principalListeners: 50,
  /** The same for all anonymous callers from one address, which may be that of a hosted client with many users. */
  addressListeners: 1_000,
  /** Listeners of one shard. The platform allows 32,768 sockets an object. */
  hubListeners: 30_000,
  /** What the listeners of one owner may name together on it, so that nobody takes the room of all others. */
  ownerTopics: 20_000,
  /** What all listeners of one shard may name together: each takes some memory of the one object. */
  hubTopics: 200_000,
  /** Things that changed which a shard remembers, for listeners that come back. Of one that changes again the newest counts. */
  hubChanges: 10_000,
  /** For how long. Longer than a stream lives. */
  hubReplayMs: 60 * 60 * 1000,
  /** What changes within this time of the last delivery is delivered together, each thing once. */
  hubWindowMs: 200,
  /** Sessions a shard tells at once. */
  hubSessions: 50,
  /** How long a change is brought to hubs that cannot be reached. The platform lets a request go on for 30 s. */
  publishMs: 20_000,
  /** How long an answer waits until the changes its call made are stored. */
  publishWaitMs: 1_000,
  /** Attempts to find a stream's hub again before the stream ends. They take more than a minute. */
  listenAttempts: 8,
  /** The longest time over which listeners come back to a shard that restarted: an object takes about 1,000 a second. */
  reattachMs: 30_000,
  /** How long sealing keys live before the next is minted. Nothing sealed outlives one such period. */
  keyRotationMs: 30 * 24 * 60 * 60 * 1000,
  /** An access token. Some providers put a hundred groups in theirs. */
  tokenChars: 16 * 1024,
  /** What an issuer calls a user or a program. OpenID Connect allows no more. */
  subjectChars: 255,
  /** One answer of an issuer: it must not hold up requests for longer. */
  issuerFetchMs: 5_000,
  /** How long keys and metadata of an issuer are used before they are fetched again: how long a removed key still works. */
  issuerFreshMs: 5 * 60 * 1000,
  /** The same while the issuer cannot be reached. */
  issuerStaleMs: 15 * 60 * 1000,
  /** How long an issuer that could not be reached is not asked again. */
  issuerBackoffMs: 5_000,
  /** How often in a row keys are fetched again because a token names an unknown one. */
  issuerRefreshes: 10,
  /** How soon after that once more. */
  issuerRefreshMs: 6_000,
  /** Tokens that an introspection or a service has said something of, kept in one isolate. */
  knownTokens: 5_000,
  /** Freshness of lists that never change while a deployment lives. */
  listTtlMs: 5 * 60 * 1000,
}

/** Microtasks a handler without I/O may take before the `quietMs` timer is worth its cost. Cost only: nobody sees it. */
export const IMMEDIATE_TURNS = 40
