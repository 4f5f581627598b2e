// A tenant of the site that all tests share (test/support/site.mjs), from a test's side.

import { inject } from 'vitest'
import type { SiteAnswer, SiteRequest } from '../support/site.d.mts'

const CONTROL = { 'x-site-control': 'yes' }

export interface Tenant {
  /** `<site>/<tenant>`, without a slash at its end. */
  url: string
  /** Its first path segment, which nobody else has. */
  name: string
  /** Sets what a path below `url` answers; one with `name` in it is below the site, as for `/.well-known/…/<name>`. */
  set(path: string, answer: SiteAnswer): Promise<void>
  /** Takes back what was set for a path. */
  unset(path: string): Promise<void>
  /** What it was asked so far, by anybody but the test; only requests with `part` in their path, if that is given. */
  requests(part?: string): Promise<SiteRequest[]>
}

export function createTenant(): Tenant {
  const site = inject('siteUrl')
  const name = `t-${crypto.randomUUID()}`
  const url = `${site}/${name}`
  const control = async (method: string, path: string, answer?: SiteAnswer): Promise<Response> => {
    const target = path.includes(name) ? `${site}${path}` : `${url}${path}`
    const response = await fetch(target, { method, headers: CONTROL, ...(answer && { body: JSON.stringify(answer) }) })
    if (!response.ok) throw new Error(`the site does not take ${method} ${path}: ${await response.text()}`)
    return response
  }
  return {
    url,
    name,
    async set(path, answer) {
      await (await control('PUT', path, answer)).text()
    },
    async unset(path) {
      await (await control('DELETE', path)).text()
    },
    async requests(part = '') {
      const log = (await (await control('GET', '/')).json()) as SiteRequest[]
      return log.filter(({ path }) => path.includes(part))
    },
  }
}

/** An answer that is JSON. */
export function json(value: unknown, status = 200): SiteAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}
