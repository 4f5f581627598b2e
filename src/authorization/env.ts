// What the platform binds to this Worker. Not in config.ts, which also runs where there is no platform.

/** Bindings of the authorization server; variables are checked by `parseAuthorizationConfig`. */
export interface AuthorizationEnv {
  OAUTH_KV: KVNamespace
  /** Counts what strangers ask for. */
  REQUESTS?: RateLimit
}
