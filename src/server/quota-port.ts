// What passes between a request and the object that counts its caller's tool calls.

/** How many tool calls a caller may make in a time. */
export interface Quota {
  calls: number
  /** It begins with the first call. */
  windowMs: number
}

/** Where tool calls are counted. */
export interface QuotaPort {
  /**
   * Takes `count` calls from what is left of a caller's quota, all of them or none.
   * @param key names the caller; of any length
   * @throws {ProtocolError} TooManyRequests, which says when the window ends, or Unavailable
   */
  take(env: Cloudflare.Env, key: string, quota: Quota, count: number): Promise<void>
}
