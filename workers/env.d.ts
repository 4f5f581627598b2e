// The bindings and variables of wrangler.toml, as types.

declare namespace Cloudflare {
  interface Env {
    KEY_RING: DurableObjectNamespace<import('../durable-objects/key-ring.ts').KeyRingObject>
    SESSION: DurableObjectNamespace<
      InstanceType<ReturnType<typeof import('../durable-objects/session.ts').createSessionObject>>
    >
    NOTES: DurableObjectNamespace<import('../src/app/notes/notes-object.ts').NotesObject>
    PUBLIC_URL?: string
    ALLOWED_ORIGINS?: string
    STATE_KEYS?: string
    SESSIONS?: string
    SSE_PRIMING?: string
    DEAD_SESSION_GET?: string
    LOG?: string
  }
}
