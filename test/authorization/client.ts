// A client of the authorization server for tests: PKCE, authorization URLs, and the token endpoint.

const REDIRECT_URI = 'http://127.0.0.1:3333/callback'

/** A verifier, with its S256 challenge. */
export async function newPkce(): Promise<{ verifier: string; challenge: string }> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return { verifier, challenge: base64url(new Uint8Array(digest)) }
}

/** What the token endpoint answers. */
export interface TokenAnswer {
  status: number
  headers: Headers
  body: Record<string, string>
}

/** One client at one authorization server. */
export class TestClient {
  readonly auth: string
  readonly id: string
  readonly resource: string

  constructor(auth: string, id: string, resource: string) {
    this.auth = auth
    this.id = id
    this.resource = resource
  }

  /** An authorization URL; undefined leaves a parameter out. */
  url(challenge: string, changes: Record<string, string | undefined> = {}): string {
    const parameters = {
      response_type: 'code',
      client_id: this.id,
      redirect_uri: REDIRECT_URI,
      state: 'state-1',
      scope: 'files:read',
      resource: this.resource,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...changes,
    }
    const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return `${this.auth}/authorize?${new URLSearchParams(given)}`
  }

  /** A request to the token endpoint. */
  async post(fields: Record<string, string>): Promise<TokenAnswer> {
    const response = await fetch(`${this.auth}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
  }

  exchange(back: URL, verifier: string | undefined): Promise<TokenAnswer> {
    return this.post({
      grant_type: 'authorization_code',
      client_id: this.id,
      code: back.searchParams.get('code') ?? '',
      redirect_uri: REDIRECT_URI,
      resource: this.resource,
      ...(verifier === undefined ? {} : { code_verifier: verifier }),
    })
  }

  refresh(token: string): Promise<TokenAnswer> {
    return this.post({ grant_type: 'refresh_token', client_id: this.id, refresh_token: token })
  }
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
