// What the cases of this folder share: the servers that local.node.test.ts starts, and a client signed in at them.

import { Browser } from '../browser.ts'
import { newPkce, type TestClient, type TokenAnswer } from '../client.ts'
import type { Documents, StartedAuth } from '../start.mjs'

/** Filled in before the first test. */
export interface Local {
  site: StartedAuth
  documents: Documents
  /** A client with a document at `/client`. */
  client: TestClient
}

/** The secret of the introspection client `mcp: one`, for the MCP endpoint. */
export const SECRET = 'a secret of the resource server, long enough'

/** Another resource, with an introspection client `other`. */
export const OTHER = 'https://other.example.com/mcp'

/** Signs in, allows, and exchanges the code. */
export async function tokensFor(
  { site, client }: Local,
  user: string,
  changes: Record<string, string | undefined> = {},
): Promise<TokenAnswer> {
  const { verifier, challenge } = await newPkce()
  return client.exchange(await new Browser(site.auth).authorize(client.url(challenge, changes), { user }), verifier)
}
