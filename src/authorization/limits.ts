// Every cap of the authorization server, with its reason. They are not in src/limits.ts, since this Worker shares no code
// with the MCP server. How often strangers may ask is in wrangler.authorization.toml.

export const authorizationLimits = {
  /** A form or a token request. The largest honest one carries the URL of an authorization request in a hidden field. */
  bodyBytes: 65_536,
  /** The name of a key in KV; a longer one makes KV throw, and it names nothing anyway. */
  kvKeyBytes: 512,
  /** A user id stands in keys of KV beside 100 bytes of other things. */
  userIdBytes: 300,
  /** What is kept of a person's name and e-mail address: they travel in a cookie, and browsers drop one over 4 KB. */
  claimCharacters: 200,
  /** How long a browser stays signed in: a working day, so that a lost machine is signed out the next. */
  sessionSeconds: 8 * 3_600,
  /** How long a link of `connect` can be used: time for a sign-in at another provider, no more. */
  connectSeconds: 600,
  /** What `connect` may say that it is for: it must fit into a sentence. */
  purposeCharacters: 200,
  /** A name that a client gives itself is shown no longer than this. */
  shownCharacters: 80,
  /** What strangers send is logged no longer than this: scopes somebody forgot to list fit. */
  loggedCharacters: 300,
  /** One request to the upstream provider: somebody is waiting in front of a browser. */
  upstreamTimeoutMs: 10_000,
  /** How long what the upstream provider says about itself is believed. */
  upstreamMetadataMs: 600_000,
} as const
