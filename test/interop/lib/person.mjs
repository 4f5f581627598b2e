// Somebody in front of a browser, and what an SDK's client keeps for them: the OAuth provider both SDKs take.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Browser } from '../../authorization/browser.ts'
import { clientMetadata, redirectUrl } from './authorized.mjs'

/**
 * A person who signs in as `user` and allows whatever a client asks for.
 * @param documentUrl of the client's metadata; without, the client registers itself
 */
export function createPerson({ issuer }, user, documentUrl) {
  const browser = new Browser(issuer)
  /** The URLs they were sent to, and where from there. */
  const asked = []
  const kept = {}
  const provider = {
    redirectUrl,
    clientMetadata,
    ...(documentUrl && { clientMetadataUrl: documentUrl }),
    state: () => (kept.state = randomUUID()),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens, endsAt: Date.now() + tokens.expires_in * 1_000 }),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (discovery) => void (kept.discovery = discovery),
    async redirectToAuthorization(url) {
      asked.push({ url, back: await browser.authorize(url.href, { user }) })
    },
  }
  return {
    provider,
    asked,
    kept,
    /** Opens a URL that a client printed, and what the browser is sent to from there: a listener of the client. */
    async visit(url) {
      await fetch(await browser.authorize(url, { user }))
    },
    /** What came back from the last visit, for the client; the state is the one it sent. */
    answer() {
      const { back } = asked.at(-1)
      if (back.searchParams.get('state') !== kept.state) throw new Error(`not the state that was sent: ${back.href}`)
      return back.searchParams
    },
    /** Resolves once the access token has ended. */
    tokenEnds: () => sleep(Math.max(0, kept.endsAt - Date.now() + 500)),
    /** The access token is no longer one. */
    spoilToken: () => void (kept.tokens = { ...kept.tokens, access_token: 'no-longer-a-token' }),
  }
}
