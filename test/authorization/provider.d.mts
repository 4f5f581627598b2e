// The types of provider.mjs, which says what it does.

export interface Provider {
  issuer: string
  /** Whom it signs in. */
  user: { sub: string; name?: string; email?: string }
  /** What goes wrong at the next sign-in. */
  next: {
    error?: string
    nonce?: string
    issuer?: string
    audience?: string
    subject?: string
    expires?: string
    key?: boolean
    tokenless?: boolean
  }
  /** What its metadata call it, if not `issuer`. */
  issuerClaimed?: string
  /** The parameters of every sign-in, oldest first. */
  requests: Record<string, string>[]
  stop(): Promise<void>
}

export function startProvider(client: { clientId: string; clientSecret: string }): Promise<Provider>
