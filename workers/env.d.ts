// The server's own bindings and variables, as types. Those of the app are in src/app/env.d.ts.

declare namespace Cloudflare {
  interface Env {
    KEY_RING: DurableObjectNamespace<import('../durable-objects/key-ring.ts').KeyRingObject>
    SESSION: DurableObjectNamespace<
      InstanceType<ReturnType<typeof import('../durable-objects/session.ts').createSessionObject>>
    >
    TASK: DurableObjectNamespace<InstanceType<ReturnType<typeof import('../durable-objects/task.ts').createTaskObject>>>
    PRINCIPAL: DurableObjectNamespace<import('../durable-objects/principal.ts').PrincipalObject>
    LISTEN_HUB: DurableObjectNamespace<
      InstanceType<ReturnType<typeof import('../durable-objects/listen-hub.ts').createListenHubObject>>
    >
    QUOTA_OBJECT: DurableObjectNamespace
    CALLS?: RateLimit
    AUTH?: string
    AUTH_ISSUERS?: unknown
    SCOPES_SUPPORTED?: string
    LEGACY_AUTH_METADATA?: string
    RATE_LIMIT?: string
    QUOTA?: string
    PUBLIC_URL?: string
    ALLOWED_ORIGINS?: string
    STATE_KEYS?: string
    SESSIONS?: string
    SSE_PRIMING?: string
    DEAD_SESSION_GET?: string
    LISTEN_SHARDS?: string
    RESUMABLE_LISTEN?: string
    LOG?: string
  }
}
