// The authorization server Worker: its routes, and what other Workers may call through a service binding.

import { WorkerEntrypoint } from 'cloudflare:workers'
import { createAuthorizationApp } from '../src/authorization/app.ts'
import { isConnected, makeLink, type ConnectLink } from '../src/authorization/connect.ts'
import type { AuthorizationEnv } from '../src/authorization/env.ts'
import { siteOf } from '../src/authorization/site.ts'
import { validateToken, type ValidToken } from '../src/authorization/validate.ts'

export default createAuthorizationApp()

/** For `[[services]]` with `entrypoint = "TokenValidator"`. Nothing of it can be reached from the network. */
export class TokenValidator extends WorkerEntrypoint<AuthorizationEnv> {
  /** What a token says that is valid for `resource`; null for every other token, and for a resource of nobody. */
  validateToken(resource: string, token: string): Promise<ValidToken | null> {
    return validateToken(siteOf(this.env), resource, token)
  }

  /** A link for one person, valid for minutes: send them `url`, keep `handle`. (`connect` is the platform's name.) */
  connectLink(link: ConnectLink): Promise<{ url: string; handle: string }> {
    return makeLink(link, siteOf(this.env))
  }

  /** True once that person, signed in as `subject`, has confirmed the link. */
  connected(handle: string, subject: string): Promise<boolean> {
    return isConnected(handle, subject, siteOf(this.env))
  }
}
